#!/usr/bin/env bash
# Verifies the commits up to HEAD that the branch TARGET of the remote does not have. The signers file is the one of TARGET,
# and the receipts are those that the remote has. Runs in a clone of the target repository and executes nothing of the change.
set -euo pipefail

: "${COUNTERSIGN:=countersign}" "${TARGET:?names the target branch}" "${SOURCE:?names the ref with the commits}"
: "${HEAD:?names the last commit}"
notes=refs/notes/countersign

# A shallow clone does not have all the commits to verify.
depth=()
if [ "$(git rev-parse --is-shallow-repository)" = true ]; then depth=(--unshallow); fi
git fetch --quiet --no-tags "${depth[@]}" origin "refs/heads/$TARGET"
target=$(git rev-parse --verify FETCH_HEAD)
git fetch --quiet --no-tags origin "$SOURCE"
if [ -n "$(git ls-remote origin "$notes")" ]; then
    git fetch --quiet --no-tags origin "+$notes:$notes"
else
    echo "the remote has no receipts ($notes)"
fi

signers=$(mktemp)
trap 'rm -f "$signers"' EXIT
if ! git cat-file blob "$target:.countersign/signers.toml" >"$signers"; then
    echo "::error::$TARGET has no .countersign/signers.toml; countersign key show prints its keys"
    exit 2
fi
"$COUNTERSIGN" verify --signers "$signers" "$target..$HEAD"
