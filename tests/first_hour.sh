#!/usr/bin/env bash
# Plays the first hour of a new user with an empty home folder and writes the record, as Markdown, to stdout: each command,
# what it printed, and how long it took. `cargo xtask first-hour` runs it.
#
# Usage: first_hour.sh [PROGRAM]   with PROGRAM, it neither clones nor builds
set -uo pipefail

program=${1:+$(realpath "$1")}
source_folder=$(cd "$(dirname "$0")/.." && pwd)
real_home=$HOME
tries=$(mktemp -d)
export HOME=$tries/home
mkdir -p "$HOME/.claude"
# Cargo's own folders are those of the user: a new user downloads the packages as well.
export CARGO_HOME=${CARGO_HOME:-$real_home/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$real_home/.rustup}
export COUNTERSIGN_SERVER_LISTEN=127.0.0.1:0 NO_COLOR=1 CARGO_TERM_PROGRESS_WHEN=never
unset CARGO_TARGET_DIR RUSTUP_TOOLCHAIN COUNTERSIGN_TOKEN COUNTERSIGN_NAME
trap 'countersign stop >/dev/null 2>&1; rm -rf "$tries"' EXIT
cd "$HOME" || exit 1

failed=0
total=0
# step TITLE EXIT-CODE COMMAND: runs the command in this shell's folder.
step() {
  local title=$1 expected=$2 line=$3 out code began ended
  out=$tries/out
  began=$(date +%s%N)
  bash -c "$line" >"$out" 2>&1 </dev/null
  code=$?
  ended=$(((($(date +%s%N) - began)) / 1000000))
  total=$((total + ended))
  printf '\n### %s (%d.%d s)\n\n```\n$ %s\n' "$title" $((ended / 1000)) $((ended % 1000 / 100)) "${line//$source_folder/countersign.git}"
  sed -e "s#$HOME#~#g" -e "s#$source_folder#countersign.git#g" -e "s#$tries#/tmp#g" "$out"
  [ "$code" -eq 0 ] || printf '(exit code %d)\n' "$code"
  printf '```\n'
  if [ "$code" -ne "$expected" ]; then
    echo "first_hour.sh: $title: exit code $code instead of $expected" >&2
    failed=1
  fi
}

# agent TOOL ARGUMENTS: one call of a scripted agent that reviews, over MCP.
cat >"$tries/agent" <<'AGENT'
#!/usr/bin/env bash
url=$(countersign status --json | sed -n 's/.*"url": "\(.*\)\/".*/\1/p')
answer=$(curl -sS "$url/mcp/reviewer" -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \
  -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}")
case $answer in *'"isError":true'* | *'"error"'*) echo "$answer"; exit 1 ;; esac
echo "$answer" | head -c 240
echo …
AGENT
chmod +x "$tries/agent"
export PATH=$tries:$PATH

echo "# The first hour"
echo
echo "A record of \`cargo xtask first-hour\`: a new user with an empty home folder, from the clone to the first landed change."
echo "Every command is run as printed; the agent that reviews is a script that calls the tools over MCP."
echo
echo "Version $(git -C "$source_folder" describe --always), $(uname -sm), $(nproc) cores, load average $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)."
echo
echo "## Clone and build"
if [ -n "$program" ]; then
  printf '\nLeft out: the program was given.\n'
  mkdir -p "$HOME/countersign/target/release"
  ln -s "$program" "$HOME/countersign/target/release/countersign"
else
  step "Clone" 0 "git clone --quiet $source_folder countersign"
  step "Build" 0 'cd countersign && TIMEFORMAT="%R s, of which on a CPU: %U s and %S s in the system"; time cargo build --release 2>&1 | tail -1; ls -l target/release/countersign | cut -d" " -f5'
fi
export PATH=$HOME/countersign/target/release:$PATH

echo
echo "## Start and look around"
git init --quiet --initial-branch=main shop && cd shop || exit 1
git config user.name grace
git config user.email grace@example.org
printf 'pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}\n' >price.rs
git add price.rs && git commit --quiet -m "Add prices"
(countersign serve >"$tries/serve.log" 2>&1 &)
step "Start" 0 'until countersign status >/dev/null || [ $((tries += 1)) -gt 300 ]; do sleep 0.1; done; countersign status'
step "Demo" 0 'countersign demo'
step "Open the page" 0 'curl -sS -H "accept: text/html" -o /dev/null -w "%{http_code} %{content_type} %{size_download} bytes\n" "$(countersign open --print)"'
step "Connect the agent and git" 0 'countersign init --yes --git-hooks >changes.diff && wc -l changes.diff && rm changes.diff'

echo
echo "## A first review"
printf 'pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}\n\npub fn discounted(total: u32, percent: u32) -> u32 {\n    total * (100 - percent) / 100\n}\n' >price.rs
git add price.rs
step "The gate refuses" 1 'countersign gate'
step "So does git" 1 'git commit -m "Take a discount off the total"'
step "Propose" 0 'countersign request --staged -m "Take a discount off the total"'
step "The agent looks for work" 0 "agent list_reviews '{\"status\":\"pending\",\"caller_id\":\"ada\"}'"
step "The agent claims it" 0 "agent claim_review '{\"review_id\":\"R-1\",\"reviewer_id\":\"ada\"}'"
step "The agent asks for a change" 0 "agent submit_verdict '{\"review_id\":\"R-1\",\"reviewer_id\":\"ada\",\"claim_generation\":1,\"verdict\":\"changes_requested\",\"reason\":\"More than 100 percent panics.\",\"issues\":[{\"severity\":\"high\",\"title\":\"A discount over 100 % panics\",\"file\":\"price.rs\",\"line\":6}]}'"
step "The author reads it" 10 'countersign wait R-1'
step "The author corrects it" 0 "sed -i.old 's/100 - percent)/100 - percent.min(100))/' price.rs && rm price.rs.old && git add price.rs && countersign resubmit R-1 --staged -m 'at most 100 percent'"
step "The agent checks the correction" 0 "agent claim_review '{\"review_id\":\"R-1\",\"reviewer_id\":\"ada\"}' && agent update_issue '{\"review_id\":\"R-1\",\"issue_id\":\"I-1\",\"status\":\"fixed\",\"caller_id\":\"ada\"}'"
generation=$(countersign show R-1 --json | sed -n 's/.*"claim_generation": \([0-9]*\).*/\1/p' | head -1)
step "The agent approves" 0 "agent submit_verdict '{\"review_id\":\"R-1\",\"reviewer_id\":\"ada\",\"claim_generation\":$generation,\"verdict\":\"approved\",\"reason\":\"Right.\"}'"
step "The gate agrees" 0 'countersign gate'
step "Commit" 0 'git commit -m "Take a discount off the total"'
step "Close" 0 'countersign close R-1 --landed-as HEAD'
step "Is every commit approved?" 0 'countersign verify HEAD'
step "Look back" 0 'countersign timeline R-1'

echo
echo "## Remove"
step "Disconnect" 0 'countersign init --remove --yes >changes.diff && rm changes.diff; git status --short'
step "Stop" 0 'countersign stop'
printf '\nAll steps together: %d s.\n' $((total / 1000))
exit "$failed"
