//! Signed receipts: what `verify` says in a clone without a database, and what a server accepts by them.

use crate::support::{
    approvals::{approve, approve_staged, git, install, propose, stage, vote},
    broker::TestBroker,
    command::{CommandOutput, command_in},
    reviews::verdict,
};
use serde_json::{Value, json};
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

const NOTES: &str = "refs/notes/countersign";

/// A repository with a signers file, its broker, and a clone on a machine without a database.
struct Team {
    broker: TestBroker,
    machine: tempfile::TempDir,
    clone: PathBuf,
    /// The commit with the signers file.
    start: String,
}

impl Team {
    async fn new(policy: &str) -> Self {
        Self::of(TestBroker::start().await, policy).await
    }

    async fn of(broker: TestBroker, policy: &str) -> Self {
        let repo = broker.repo();
        repo.git(&["config", "user.name", "Test"]);
        repo.git(&["config", "user.email", "test@example.invalid"]);
        let keys = broker.command(&["key", "show"]).stdout().await;
        repo.write(".countersign/signers.toml", format!("project = \"project\"\n{policy}\n{keys}"));
        let start = repo.commit("who signs");
        let machine = tempfile::tempdir().unwrap();
        let clone = machine.path().join("clone");
        git(machine.path(), &["clone", "--quiet", repo.path().to_str().unwrap(), "clone"]);
        Self { broker, machine, clone, start }
    }

    fn git(&self, args: &[&str]) -> String {
        self.broker.repo().git(args)
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    fn commit_staged(&self, message: &str) -> String {
        self.git(&["commit", "--quiet", "--message", message]);
        self.head()
    }

    /// Commits a change that `ada` approved, without a receipt.
    async fn commit_approved(&self, word: &str) -> String {
        stage(&self.broker, word);
        approve_staged(&self.broker, &[]).await;
        self.commit_staged(word)
    }

    /// Commits a change that `ada` approved, with a receipt.
    async fn land(&self, word: &str) -> String {
        let commit = self.commit_approved(word).await;
        self.sign("HEAD").await;
        commit
    }

    async fn sign(&self, commits: &str) -> String {
        self.broker.command(&["receipt", commits]).stdout().await
    }

    /// Signs with a key of another broker that approves the same changes.
    async fn sign_as_stranger(&self, commit: &str) {
        let data = self.machine.path().join("stranger");
        if !data.exists() {
            std::fs::create_dir(&data).unwrap();
            for file in std::fs::read_dir(self.broker.data_dir()).unwrap().flatten() {
                let is_key = file.file_name() == "signing_keys.json";
                if file.file_type().unwrap().is_file() && !is_key {
                    std::fs::copy(file.path(), data.join(file.file_name())).unwrap();
                }
            }
        }
        let line = ["receipt", commit, "--data-dir", data.to_str().unwrap()];
        command_in(self.machine.path(), &self.broker.repo().path(), &line).stdout().await;
    }

    fn note(&self, commit: &str) -> Value {
        serde_json::from_str(&self.git(&["notes", "--ref=countersign", "show", commit])).unwrap()
    }

    fn set_note(&self, commit: &str, envelope: &Value) {
        self.git(&["notes", "--ref=countersign", "add", "--force", "--message", &envelope.to_string(), commit]);
    }

    /// Replaces the signed text and keeps the signature.
    fn rewrite_note(&self, commit: &str, change: impl FnOnce(&mut Value)) {
        let mut envelope = self.note(commit);
        let mut statement: Value = serde_json::from_slice(&base64(&["--decode"], payload(&envelope))).unwrap();
        change(&mut statement);
        let text = base64(&["--wrap=0"], statement.to_string().as_bytes());
        envelope["payload"] = String::from_utf8(text).unwrap().into();
        self.set_note(commit, &envelope);
    }

    fn fetch(&self) {
        let refs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/notes/*:refs/notes/*"];
        git(&self.clone, &["fetch", "--quiet", "origin", refs[0], refs[1]]);
    }

    /// Runs a command in the clone.
    async fn elsewhere(&self, line: &[&str]) -> CommandOutput {
        self.fetch();
        command_in(self.machine.path(), &self.clone, line).finish().await
    }

    /// The answer of `verify` in the clone about everything after the signers file.
    async fn verify_elsewhere(&self, options: &[&str]) -> (i32, Value) {
        let range = format!("{}..{}", self.start, self.head());
        let ended = self.elsewhere(&[&["verify", &range, "--json"], options].concat()).await;
        let answer: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}{}", ended.out, ended.err));
        (ended.code, answer["commits"].clone())
    }

    /// `verify` in the clone says yes, with these standings.
    #[track_caller]
    fn proves(&self, standings: &[&str]) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let (code, commits) = self.verify_elsewhere(&[]).await;
            assert_eq!(code, 0, "at {place}: {commits}");
            assert_eq!(crate::support::reviews::column(&commits, "standing"), standings, "at {place}");
        }
    }

    /// `verify` in the clone says no about the last commit, for this reason.
    #[track_caller]
    fn refutes(&self, standing: &str, why: &str) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let (code, commits) = self.verify_elsewhere(&[]).await;
            let last = commits.as_array().unwrap().last().unwrap();
            assert_eq!((code, last["standing"].as_str().unwrap()), (1, standing), "at {place}: {commits}");
            assert!(last["why"].as_str().unwrap().contains(why), "at {place}: {last}");
        }
    }
}

fn payload(envelope: &Value) -> &[u8] {
    envelope["payload"].as_str().unwrap().as_bytes()
}

/// Runs the program `base64`.
fn base64(options: &[&str], input: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("input"), input).unwrap();
    #[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while it runs")]
    let mut command = std::process::Command::new("base64");
    command.args(options).arg("input").current_dir(folder.path()).output().unwrap().stdout
}

#[tokio::test]
async fn landed_work_is_proven_without_a_database() {
    let team = Team::new("").await;
    team.land("zwei").await;
    team.broker.repo().git(&["commit", "--quiet", "--allow-empty", "--message", "empty"]);
    team.proves(&["proven", "clear"]).await;
    // Two commits that one review approved together have one receipt.
    let base = team.head();
    for file in ["a", "b"] {
        team.broker.repo().write(file, "text\n");
        team.broker.repo().commit(file);
    }
    approve(&team.broker, json!({ "target": { "range": format!("{base}..HEAD") } })).await;
    let printed = team.sign(&format!("{base}..HEAD")).await;
    assert!(
        printed.contains("signed a receipt for R-2 at ") && printed.contains("the receipt for R-2 is at "),
        "{printed}"
    );
    team.proves(&["proven", "clear", "proven", "proven"]).await;
    let half = team.elsewhere(&["verify", &format!("{}..{}~1", team.start, team.head())]).await;
    assert_eq!(half.code, 1, "a part of the series is not approved: {}", half.out);
    // The change of a branch keeps its receipt when the branch is merged cleanly.
    team.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    team.broker.repo().write("side.txt", "side\n");
    team.git(&["add", "--all"]);
    approve_staged(&team.broker, &[]).await;
    team.commit_staged("side");
    team.sign("HEAD").await;
    team.git(&["checkout", "--quiet", "main"]);
    team.git(&["merge", "--quiet", "--no-edit", "side"]);
    let (code, commits) = team.verify_elsewhere(&[]).await;
    assert_eq!(code, 0, "{commits}");
    let text = team.elsewhere(&["verify", &format!("{}..origin/main", team.start)]).await;
    assert!(text.out.contains("6 of 6 approved, or nothing to approve"), "{}", text.out);
}

#[tokio::test]
async fn a_receipt_says_what_the_database_says() {
    let team = Team::new("").await;
    stage(&team.broker, "zwei");
    let review = propose(&team.broker, json!({ "diff": team.git(&["diff", "--cached"]) + "\n" })).await;
    vote(&team.broker, &review, "changes_requested").await;
    team.broker
        .client()
        .call(
            "create_review",
            json!({ "review_id": review, "diff": team.git(&["diff", "--cached"]) + "\n", "change_note": "again" }),
        )
        .await;
    vote(&team.broker, &review, "approved").await;
    team.commit_staged("zwei");
    team.sign("HEAD").await;
    let shown = team.broker.command(&["receipt", "--show", "--json"]).json().await;
    let statement = &shown["receipts"][0]["statement"];
    let id = |what: &str| json!(team.git(&["rev-parse", what]));
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], id("HEAD"));
    assert_eq!(statement["subject"][1]["digest"]["gitTree"], id("HEAD^{tree}"));
    let (predicate, status) = (&statement["predicate"], team.broker.client().status(&review).await);
    assert_eq!(predicate["parent"], id("HEAD~1"));
    let signed = &predicate["review"];
    assert_eq!(
        (&signed["number"], &signed["rounds"], &signed["project"]),
        (&json!("R-1"), &json!(2), &json!("project"))
    );
    assert_eq!((&signed["id"], &signed["contentHash"]), (&status["review_id"], &status["content_hash"]));
    assert_eq!(signed["proposer"], "gsd-executor");
    assert_eq!(signed["policy"], json!({ "rule": "require_all", "seats": 1, "needed": 1, "required": [] }));
    assert_eq!(signed["votes"].as_array().unwrap().len(), 1);
    assert_eq!((&signed["votes"][0]["reviewer"], &signed["votes"][0]["verdict"]), (&json!("ada"), &json!("approved")));
    let before = team.note("HEAD");
    team.sign("HEAD").await;
    assert_eq!(team.note("HEAD"), before, "the receipt in the database is used again");
    let text = team.broker.command(&["receipt", "--show"]).stdout().await;
    assert!(text.contains("receipt for R-1 of project project") && text.contains("ada (general) approved"), "{text}");
}

#[tokio::test]
async fn a_change_of_one_byte_or_a_commit_without_a_signature_is_refused() {
    let team = Team::new("").await;
    team.land("zwei").await;
    let note = team.note("HEAD");
    // One byte more, with the receipt of the approved commit.
    stage(&team.broker, "zweii");
    team.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    team.refutes("none", "no signed receipt").await;
    team.set_note("HEAD", &note);
    team.refutes("unproven", "the receipt is of commit").await;
    team.git(&["reset", "--quiet", "--hard", &team.start]);
    team.commit_approved("drei").await;
    team.refutes("none", "it has no signed receipt").await;
    team.broker.command(&["receipt", "--trailer"]).stdout().await;
    team.refutes("unproven", "it names R-2, but it has no signed receipt").await;
    let text = team.elsewhere(&["verify", &format!("{}..origin/main", team.start)]).await;
    assert!(text.out.contains("1 of 1 without an approval") && text.out.contains("unproven"), "{}", text.out);
    team.sign("HEAD").await;
    team.proves(&["proven"]).await;
}

#[tokio::test]
async fn a_receipt_counts_only_for_its_commit() {
    let team = Team::new("").await;
    let first = team.land("zwei").await;
    team.land("drei").await;
    team.proves(&["proven", "proven"]).await;
    team.git(&["notes", "--ref=countersign", "copy", "--force", &first, "HEAD"]);
    team.refutes("unproven", &format!("the receipt is of commit {first}")).await;
    // The same tree and message on another parent.
    team.git(&["reset", "--quiet", "--hard", &team.start]);
    team.git(&["commit", "--quiet", "--allow-empty", "--message", "empty"]);
    team.git(&["cherry-pick", &first]);
    team.git(&["notes", "--ref=countersign", "copy", &first, "HEAD"]);
    team.refutes("unproven", "the receipt is of commit").await;
    team.rewrite_note("HEAD", |statement| statement["subject"][0]["digest"]["gitCommit"] = json!(team.head()));
    team.refutes("unproven", "does not fit the receipt").await;
    team.git(&["notes", "--ref=countersign", "remove", "HEAD"]);
    team.sign("HEAD").await;
    team.proves(&["clear", "proven"]).await;
}

#[tokio::test]
async fn a_changed_or_forged_receipt_is_refused() {
    let team = Team::new("approvals = 2").await;
    stage(&team.broker, "zwei");
    let diff = team.git(&["diff", "--cached"]) + "\n";
    let review = propose(&team.broker, json!({ "diff": diff, "personas": ["general", "security"] })).await;
    for name in ["ada", "bob"] {
        team.broker.client().claim(&review, name).await;
        team.broker.client().call("submit_verdict", verdict(&review, name, "approved")).await;
    }
    let commit = team.commit_staged("zwei");
    team.sign("HEAD").await;
    let good = team.note("HEAD");
    team.proves(&["proven"]).await;
    let votes = |statement: &mut Value| drop(statement["predicate"]["review"]["votes"].as_array_mut().unwrap().pop());
    team.rewrite_note("HEAD", votes);
    team.refutes("unproven", "does not fit the receipt").await;
    let forge = |change: &dyn Fn(&mut Value)| {
        let mut forged = good.clone();
        change(&mut forged);
        team.set_note(&commit, &forged);
    };
    let other = "A".repeat(86) + "==";
    forge(&|forged| forged["signatures"][0]["sig"] = json!(other));
    team.refutes("unproven", "does not fit the receipt").await;
    forge(&|forged| forged["signatures"][0]["keyid"] = json!("0123456789abcdef"));
    team.refutes("unproven", "which the signers file does not name").await;
    forge(&|forged| forged["signatures"] = json!([]));
    team.refutes("unproven", "has no signature").await;
    forge(&|forged| forged["payloadType"] = json!("text/plain"));
    team.refutes("unproven", "does not fit the receipt").await;
    forge(&|forged| *forged = json!({ "review": "R-1", "tree": "00" }));
    team.refutes("unproven", "cannot be read").await;
    team.set_note(&commit, &good);
    team.proves(&["proven"]).await;
    team.git(&["notes", "--ref=countersign", "remove", "HEAD"]);
    team.sign_as_stranger("HEAD").await;
    team.refutes("unproven", "which the signers file does not name").await;
    // The stranger's line does not harm the broker's.
    team.sign("HEAD").await;
    team.proves(&["proven"]).await;
}

#[tokio::test]
async fn a_rotated_key_stays_valid_and_a_revoked_or_expired_one_does_not() {
    let team = Team::new("").await;
    let old = team.broker.command(&["key", "show", "--json"]).json().await["keys"][0].clone();
    team.land("zwei").await;
    team.broker.command(&["key", "rotate"]).stdout().await;
    team.land("drei").await;
    team.refutes("unproven", "which the signers file does not name").await;
    let verify_with = async |keys: &str| {
        let file = team.machine.path().join("signers.toml");
        std::fs::write(&file, format!("project = \"project\"\n{keys}")).unwrap();
        team.verify_elsewhere(&["--signers", file.to_str().unwrap()]).await
    };
    let keys = team.broker.command(&["key", "show"]).stdout().await;
    assert!(keys.contains("active") && keys.contains("ended") && keys.contains("until = "), "{keys}");
    let (code, commits) = verify_with(&keys).await;
    assert_eq!(code, 0, "the old receipt counts: {commits}");
    // A receipt that the old key signed after its end.
    let expired = format!("[[keys]]\nkey = {}\nuntil = \"2026-01-01T00:00:00Z\"\n", old["key"]);
    let (code, commits) = verify_with(&expired).await;
    assert_eq!(code, 1);
    assert!(commits[0]["why"].as_str().unwrap().contains("after its key ended at 2026-01-01"), "{commits}");
    team.broker.command(&["key", "revoke", old["id"].as_str().unwrap()]).stdout().await;
    let keys = team.broker.command(&["key", "show"]).stdout().await;
    let (code, commits) = verify_with(&keys).await;
    assert_eq!((code, &commits[0]["standing"], &commits[1]["standing"]), (1, &json!("unproven"), &json!("proven")));
    assert!(commits[0]["why"].as_str().unwrap().contains("which is revoked"), "{commits}");
    // The database still has the approval, so the broker can sign it again.
    team.sign("HEAD~1").await;
    assert_eq!(verify_with(&keys).await.0, 0);
    let unknown = team.broker.command(&["key", "revoke", "0123456789abcdef"]).finish().await;
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("no key \"0123456789abcdef\""), "{}", unknown.err);
    let active = team.broker.command(&["key", "show", "--json"]).json().await["keys"][0]["id"].clone();
    let after = team.broker.command(&["key", "revoke", active.as_str().unwrap(), "--json"]).json().await;
    let states: Vec<_> = after["keys"].as_array().unwrap().iter().map(|key| key["status"].clone()).collect();
    assert_eq!(states, ["active", "revoked", "revoked"]);
}

#[tokio::test]
async fn the_keys_are_private_and_made_once() {
    let broker = TestBroker::start().await;
    let path = broker.data_dir().join("signing_keys.json");
    assert!(!path.exists(), "no key before the first need");
    let show = async || broker.command(&["key", "show"]).stdout().await;
    let (one, other) = tokio::join!(show(), show());
    assert_eq!(one, other, "two commands at once make one key");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&path, "{}").unwrap();
    let ended = broker.command(&["key", "show"]).finish().await;
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("signing_keys.json"), "{}", ended.err);
}

#[tokio::test]
async fn a_policy_weakened_in_the_same_change_has_no_effect() {
    let team = Team::new("approvals = 2\npersonas = [\"security\"]").await;
    team.land("zwei").await;
    team.refutes("unproven", "has 1 of 2 approvals").await;
    let file = team.broker.repo().path().join(".countersign/signers.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    team.broker
        .repo()
        .write(".countersign/signers.toml", text.replace("approvals = 2\npersonas = [\"security\"]\n", ""));
    team.land("weaker").await;
    team.refutes("unproven", "has 1 of 2 approvals").await;
    let (_, commits) = team.verify_elsewhere(&[]).await;
    assert_eq!(commits[0]["standing"], "unproven", "nor on commits before and after it");
    let later = team.elsewhere(&["verify", &format!("{}~1..{0}", team.head())]).await;
    assert_eq!(later.code, 1, "the start of the range decides: {}", later.out);
}

#[tokio::test]
async fn signers_changed_in_the_same_change_have_no_effect() {
    let team = Team::new("").await;
    team.commit_approved("stranger").await;
    team.sign_as_stranger("HEAD").await;
    let stranger = team.machine.path().join("stranger");
    let line = ["key", "show", "--data-dir", stranger.to_str().unwrap()];
    let key = command_in(team.machine.path(), &team.clone, &line).stdout().await;
    team.git(&["reset", "--quiet", "--hard", &team.start]);
    std::fs::remove_dir_all(&stranger).unwrap();
    team.broker.repo().write(".countersign/signers.toml", format!("project = \"project\"\n{key}"));
    team.commit_approved("evil").await;
    team.sign_as_stranger("HEAD").await;
    team.refutes("unproven", "which the signers file does not name").await;
    // Without a file at the start of the range nothing is trusted.
    let whole = team.elsewhere(&["verify", "origin/main"]).await;
    assert_eq!(whole.code, 2, "{}", whole.out);
    assert!(whole.err.contains("pass --signers FILE"), "{}", whole.err);
    let before = team.elsewhere(&["verify", &format!("{}~1..origin/main", team.start)]).await;
    assert_eq!(before.code, 2, "{}", before.out);
}

#[tokio::test]
async fn a_required_persona_must_have_approved() {
    let team = Team::new("personas = [\"security\"]").await;
    team.land("zwei").await;
    team.refutes("unproven", "persona \"security\" has not approved").await;
    team.git(&["reset", "--quiet", "--hard", &team.start]);
    stage(&team.broker, "drei");
    let diff = team.git(&["diff", "--cached"]) + "\n";
    approve(&team.broker, json!({ "diff": diff, "personas": ["security"] })).await;
    team.commit_staged("drei");
    team.sign("HEAD").await;
    team.proves(&["proven"]).await;
}

#[tokio::test]
async fn a_file_that_was_exempt_for_the_signer_must_be_exempt_here() {
    let team = Team::of(TestBroker::with_settings("[gate]\nexempt = [\"*.md\"]\n").await, "").await;
    let config = team.broker.home().join("config.toml");
    stage(&team.broker, "zwei");
    approve_staged(&team.broker, &[]).await;
    team.broker.repo().write("notes.md", "not reviewed\n");
    team.git(&["add", "--all"]);
    team.commit_staged("zwei");
    let config = config.to_str().unwrap();
    team.broker.command(&["receipt", "--config", config]).stdout().await;
    team.refutes("unproven", "the review did not approve \"notes.md\"").await;
    let (code, commits) = team.verify_elsewhere(&["--config", config]).await;
    assert_eq!(code, 0, "{commits}");
}

#[tokio::test]
async fn a_series_that_ends_with_an_empty_commit_is_proven() {
    let team = Team::new("").await;
    for file in ["a", "b"] {
        team.broker.repo().write(file, "text\n");
        team.broker.repo().commit(file);
    }
    approve(&team.broker, json!({ "target": { "range": format!("{}..HEAD", team.start) } })).await;
    team.broker.repo().commit("empty");
    team.sign(&format!("{}..HEAD", team.start)).await;
    team.proves(&["proven", "proven", "clear"]).await;
}

#[tokio::test]
async fn a_receipt_of_another_project_is_refused() {
    let other = tempfile::tempdir().unwrap();
    git(other.path(), &["init", "--quiet", "--initial-branch=main"]);
    let settings = format!("[projects.lax]\npath = {:?}\n", other.path());
    let team = Team::of(TestBroker::with_settings(&settings).await, "").await;
    let repo = team.broker.repo().path();
    git(other.path(), &["pull", "--quiet", repo.to_str().unwrap(), "main"]);
    git(other.path(), &["config", "user.name", "Test"]);
    git(other.path(), &["config", "user.email", "test@example.invalid"]);
    std::fs::write(other.path().join("evil"), "evil\n").unwrap();
    git(other.path(), &["add", "--all"]);
    git(other.path(), &["commit", "--quiet", "--message", "evil"]);
    approve(&team.broker, json!({ "target": { "commit": "HEAD" }, "project": "lax" })).await;
    let data = team.broker.data_dir();
    let line = ["receipt", "HEAD", "--data-dir", data.to_str().unwrap()];
    command_in(team.broker.home(), other.path(), &line).stdout().await;
    // The very commit and its receipt, in the project that did not approve it.
    team.git(&["pull", "--quiet", other.path().to_str().unwrap(), "main"]);
    team.git(&["fetch", "--quiet", other.path().to_str().unwrap(), &format!("+{NOTES}:{NOTES}")]);
    team.refutes("unproven", "the receipt is of project \"lax\"").await;
}

#[tokio::test]
async fn a_bad_signers_file_is_no_answer() {
    let team = Team::new("").await;
    team.land("zwei").await;
    let file = team.machine.path().join("signers.toml");
    for (text, why) in [
        ("", "missing field `project`"),
        ("project = \"project\"\napprovals = 0\n", "at least 1"),
        ("project = \"project\"\napproval = 1\n", "unknown field `approval`"),
        ("project = \"project\"\n[[keys]]\nkey = \"x\"\n", "is not a public key"),
    ] {
        std::fs::write(&file, text).unwrap();
        let ended = team.elsewhere(&["verify", "HEAD", "--signers", file.to_str().unwrap()]).await;
        assert_eq!(ended.code, 2, "{text}: {}", ended.out);
        assert!(ended.err.contains(why), "{text}: {}", ended.err);
    }
    let gate =
        async |line: &[&str]| team.elsewhere(&[&["gate", "--signers", file.to_str().unwrap()], line].concat()).await;
    let ended = gate(&["--range", "HEAD..origin/main"]).await;
    assert_eq!(ended.code, 2, "{}", ended.out);
    std::fs::copy(team.broker.repo().path().join(".countersign/signers.toml"), &file).unwrap();
    let yes = gate(&["--range", "HEAD..origin/main"]).await;
    assert_eq!(yes.code, 0, "{}{}", yes.out, yes.err);
    assert!(yes.out.contains("was approved in R-1 (ada (general)"), "{}", yes.out);
    let staged = gate(&[]).await;
    assert_eq!(staged.code, 2);
    assert!(staged.err.contains("staged changes have no receipt"), "{}", staged.err);
}

/// A server that decides from receipts.
struct Server {
    team: Team,
    folder: tempfile::TempDir,
}

impl Server {
    async fn new() -> Self {
        let team = Team::new("").await;
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet", "--bare", "--initial-branch=main"]);
        git(folder.path(), &["config", "receive.denyDeletes", "false"]);
        team.git(&["remote", "add", "server", folder.path().to_str().unwrap()]);
        team.git(&["push", "--quiet", "server", "main"]);
        let signers = folder.path().join("signers.toml");
        std::fs::copy(team.broker.repo().path().join(".countersign/signers.toml"), &signers).unwrap();
        let hook = folder.path().join("hooks/pre-receive");
        let (binary, home) = (env!("CARGO_BIN_EXE_countersign"), team.machine.path().display());
        let line =
            format!("#!/bin/sh\nHOME='{home}' exec '{binary}' hook pre-receive --signers '{}'\n", signers.display());
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, line).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { team, folder }
    }

    fn push(&self, refs: &[&str]) -> CommandOutput {
        git(&self.team.broker.repo().path(), &[&["push", "--quiet", "server"], refs].concat())
    }

    #[track_caller]
    fn accepts(&self, refs: &[&str]) {
        let ended = self.push(refs);
        assert_eq!(ended.code, 0, "{}", ended.err);
    }

    #[track_caller]
    fn refuses(&self, refs: &[&str], why: &str) {
        let before = self.refs();
        let ended = self.push(refs);
        assert_eq!(ended.code, 1, "{}", ended.err);
        assert!(ended.err.contains(why), "{}", ended.err);
        assert_eq!(self.refs(), before);
    }

    fn refs(&self) -> String {
        git(self.folder.path(), &["for-each-ref", "--format=%(refname) %(objectname)"]).out
    }
}

#[tokio::test]
async fn a_server_accepts_a_push_with_its_receipts() {
    let server = Server::new().await;
    server.team.land("zwei").await;
    server.refuses(&["main"], "it has no signed receipt");
    server.accepts(&["main", NOTES]);
    // The receipts may also come first.
    server.team.land("drei").await;
    server.accepts(&[NOTES]);
    server.accepts(&["main"]);
    stage(&server.team.broker, "boese");
    server.team.commit_staged("unapproved");
    server.refuses(&["main", NOTES], "is not approved");
    server.team.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    server.team.git(&["notes", "--ref=countersign", "remove", "HEAD"]);
    server.team.commit_approved("stranger").await;
    server.team.sign_as_stranger("HEAD").await;
    server.refuses(&["main", &format!("+{NOTES}:{NOTES}")], "would remove receipts");
    server.team.git(&["fetch", "--quiet", "server", &format!("+{NOTES}:{NOTES}")]);
    server.team.sign_as_stranger("HEAD").await;
    server.refuses(&["main", NOTES], "which the signers file does not name");
}

#[tokio::test]
async fn the_ref_of_receipts_opens_no_way_around_the_server() {
    let server = Server::new().await;
    let team = &server.team;
    team.land("zwei").await;
    server.accepts(&["main", NOTES]);
    // A commit with files is not a receipt, wherever it is pushed.
    stage(&team.broker, "boese");
    let evil = team.commit_staged("evil");
    server.refuses(&[&format!("+HEAD:{NOTES}")], "nothing but receipts");
    team.git(&["tag", "-a", "t", "-m", "t", NOTES]);
    server.refuses(&[&format!("+refs/tags/t:{NOTES}")], "nothing but receipts");
    server.refuses(&[&format!(":{NOTES}")], "would remove receipts");
    server.refuses(&[&format!("+HEAD:{NOTES}"), "main"], "nothing but receipts");
    // A commit that the ref of receipts brings in its history is not known as landed.
    let notes = team.git(&["rev-parse", NOTES]);
    let tree = team.git(&["rev-parse", &format!("{NOTES}^{{tree}}")]);
    let joined = team.git(&["commit-tree", &tree, "-p", &notes, "-p", &evil, "-m", "notes"]);
    server.accepts(&[&format!("{joined}:{NOTES}")]);
    server.refuses(&[&format!("{evil}:refs/heads/main")], "is not approved");
    server.refuses(&[&format!("{joined}:refs/heads/other")], "is not approved");
    server.refuses(&[&format!("{notes}:refs/heads/other")], "is not approved");
}

/// Anyone who can push receipts can put anything into their notes. It must not keep later receipts away.
#[tokio::test]
async fn junk_in_a_note_blocks_no_receipt() {
    let server = Server::new().await;
    let team = &server.team;
    let write = |name: &str, content: &[u8]| {
        let file = team.machine.path().join(name);
        std::fs::write(&file, content).unwrap();
        file.display().to_string()
    };
    let long = write("long", &b"junk\n".repeat(300_000));
    let not_text = write("not_text", b"\xff\xfe\n\xc3\x28\n");
    let broad = write("broad", &b"x".repeat(3 << 20));
    for (word, junk) in [("zwei", long), ("drei", not_text), ("vier", broad)] {
        let commit = team.commit_approved(word).await;
        team.git(&["notes", "--ref=countersign", "add", "--file", &junk, &commit]);
        server.accepts(&[NOTES]);
        server.refuses(&["main"], "is not approved");
        team.sign("HEAD").await;
        server.accepts(&[NOTES]);
        server.accepts(&["main"]);
        // A receipt stays, and what is not a receipt may go.
        let receipts = team.git(&["notes", "--ref=countersign", "show", &commit]);
        let receipts: Vec<_> = receipts.lines().filter(|line| line.starts_with('{')).collect();
        let [receipt] = receipts.as_slice() else { panic!("one receipt, not {}", receipts.len()) };
        team.git(&["notes", "--ref=countersign", "add", "--force", "--message", "no receipt", &commit]);
        server.refuses(&[NOTES], "would remove receipts");
        team.git(&["notes", "--ref=countersign", "add", "--force", "--message", receipt, &commit]);
        server.accepts(&[NOTES]);
    }
    // A receipt that no key of the server signed is junk too.
    let commit = team.commit_approved("stranger").await;
    team.sign_as_stranger("HEAD").await;
    server.accepts(&[NOTES]);
    team.git(&["notes", "--ref=countersign", "remove", &commit]);
    team.sign("HEAD").await;
    server.accepts(&["main", NOTES]);
    let endless = write("endless", &b"junk\n".repeat(14 << 20));
    team.git(&["notes", "--ref=countersign", "add", "--force", "--file", &endless, &commit]);
    server.refuses(&[NOTES], "nothing but receipts");
}

#[tokio::test]
async fn the_hooks_of_a_clone_let_receipts_through() {
    let server = Server::new().await;
    let team = &server.team;
    install(&team.broker, "pre-push", "");
    team.land("zwei").await;
    let denied = async |command: &str| {
        let input = json!({
            "session_id": "s", "cwd": team.broker.repo().path(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": command },
        });
        let answer = team.broker.command(&["hook", "pre-tool-use"]).stdin(&input.to_string()).json().await;
        answer != json!({})
    };
    assert!(!denied(&format!("git push server main {NOTES}")).await);
    stage(&team.broker, "boese");
    team.commit_staged("evil");
    assert!(denied(&format!("git push server HEAD:{NOTES}")).await);
    server.refuses(&[&format!("HEAD:{NOTES}")], "nothing but receipts");
    server.accepts(&["HEAD~1:refs/heads/main", NOTES]);
    // The notes that the remote has are not a landed commit.
    let hook = server.folder.path().join("hooks/pre-receive");
    std::fs::remove_file(hook).unwrap();
    server.refuses(&[&format!("{NOTES}:refs/heads/notes")], "is not approved");
}

#[tokio::test]
async fn a_part_of_a_series_cannot_become_the_end_of_a_branch() {
    let server = Server::new().await;
    let team = &server.team;
    for file in ["a", "b"] {
        team.broker.repo().write(file, "text\n");
        team.broker.repo().commit(file);
    }
    approve(&team.broker, json!({ "target": { "range": format!("{}..HEAD", team.start) } })).await;
    team.sign(&format!("{}..HEAD", team.start)).await;
    server.refuses(&["HEAD~1:refs/heads/main", NOTES], "is not approved");
    server.accepts(&["main", NOTES]);
    server.refuses(&["HEAD~1:refs/heads/half"], "only together with later commits");
    server.accepts(&["HEAD:refs/heads/whole"]);
}

#[tokio::test]
async fn receipts_pass_a_server_that_has_the_database() {
    let server = Server::new().await;
    let hook = server.folder.path().join("hooks/pre-receive");
    let data = server.team.broker.data_dir();
    let line = format!(
        "#!/bin/sh\nexec '{}' hook pre-receive --project project --data-dir '{}'\n",
        env!("CARGO_BIN_EXE_countersign"),
        data.display()
    );
    std::fs::write(&hook, line).unwrap();
    server.team.land("zwei").await;
    server.accepts(&["main", NOTES]);
    server.refuses(&[&format!("+HEAD:{NOTES}")], "nothing but receipts");
    let path: &Path = server.folder.path();
    assert_eq!(git(path, &["notes", "--ref=countersign", "show", "main"]).code, 0);
}

#[tokio::test]
async fn the_action_for_github_verifies_with_the_signers_of_the_target_branch() {
    let team = Team::new("").await;
    let run = |head: &str| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/integrations/github/verify.sh");
        let mut command = testkit::git_command(&team.clone);
        let variables = [("TARGET", "main"), ("SOURCE", "refs/pull/7/head"), ("HEAD", head)];
        command.args(["-c", &format!("alias.verify-action=!{script}"), "verify-action"]).envs(variables);
        let output =
            command.env("COUNTERSIGN", env!("CARGO_BIN_EXE_countersign")).env("HOME", team.machine.path()).output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code().unwrap(), text)
    };
    team.git(&["checkout", "--quiet", "-b", "topic"]);
    let commit = team.commit_approved("zwei").await;
    team.git(&["update-ref", "refs/pull/7/head", &commit]);
    let (code, text) = run(&commit);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("the remote has no receipts") && text.contains("no signed receipt"), "{text}");
    team.sign("HEAD").await;
    let (code, text) = run(&commit);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("1 of 1 approved"), "{text}");
    // The pull request brings its own signer.
    let stranger = team.machine.path().join("stranger");
    let line = ["key", "show", "--data-dir", stranger.to_str().unwrap()];
    let key = command_in(team.machine.path(), &team.clone, &line).stdout().await;
    std::fs::remove_dir_all(&stranger).unwrap();
    team.broker.repo().write(".countersign/signers.toml", format!("project = \"project\"\n{key}"));
    let evil = team.commit_approved("evil").await;
    team.sign_as_stranger("HEAD").await;
    team.git(&["update-ref", "refs/pull/7/head", &evil]);
    let (code, text) = run(&evil);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("which the signers file does not name"), "{text}");
    team.git(&["update-ref", "refs/heads/main", &format!("{}~1", team.start)]);
    let (code, text) = run(&evil);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("main has no .countersign/signers.toml"), "{text}");
}
