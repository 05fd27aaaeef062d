//! Votes that people sign with their SSH keys: what `respond --sign` makes, and which votes `verify --signers` counts.

use crate::support::{
    approvals::{approve_staged, git, propose, stage, staged},
    broker::TestBroker,
    command::{CommandOutput, command_in},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Runs a program of the system. A missing one is a failure of the test with its name.
#[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while it runs")]
fn run(dir: &Path, program: &str, args: &[&str]) -> String {
    let output = std::process::Command::new(program).args(args).current_dir(dir).output();
    let output = output.unwrap_or_else(|error| panic!("these tests need {program} in PATH: {error}"));
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A broker whose reviewers have SSH keys, and a clone without its database.
struct Scene {
    broker: TestBroker,
    machine: tempfile::TempDir,
    start: String,
}

impl Scene {
    async fn new() -> Self {
        let broker = TestBroker::start().await;
        let repo = broker.repo();
        repo.git(&["config", "user.name", "Test"]);
        repo.git(&["config", "user.email", "test@example.invalid"]);
        let scene = Self { start: repo.commit("start"), broker, machine: tempfile::tempdir().unwrap() };
        for name in ["ada", "eve"] {
            let kind = if name == "ada" { "ed25519" } else { "ecdsa" };
            let key = scene.key(name);
            run(
                scene.machine.path(),
                "ssh-keygen",
                &["-q", "-t", kind, "-N", "", "-C", name, "-f", key.to_str().unwrap()],
            );
        }
        git(scene.machine.path(), &["clone", "--quiet", scene.broker.repo().path().to_str().unwrap(), "clone"]);
        scene
    }

    fn key(&self, name: &str) -> PathBuf {
        self.machine.path().join(name)
    }

    fn public_key(&self, name: &str) -> String {
        std::fs::read_to_string(self.key(name).with_extension("pub")).unwrap().trim().to_owned()
    }

    /// Writes a signers file in which these people must sign with these keys.
    async fn signers(&self, people: &[(&str, &str)], policy: &str) -> PathBuf {
        let keys = self.broker.command(&["key", "show"]).stdout().await;
        let mut text = format!("project = \"project\"\n{policy}\n{keys}\n");
        for (name, key) in people {
            text.push_str(&format!("[[people]]\nname = \"{name}\"\nssh_keys = [\"{key}\"]\n"));
        }
        let (_, file) = tempfile::NamedTempFile::new_in(self.machine.path()).unwrap().keep().unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    async fn respond(&self, review: &str, name: &str, more: &[&str]) -> CommandOutput {
        self.broker.command(&[&["respond", review, "--approve", "--as", name], more].concat()).finish().await
    }

    fn sign_with(&self, name: &str) -> String {
        format!("--sign={}", self.key(name).display())
    }

    /// Proposes what is staged and lets these people approve it, each with these options.
    async fn approved(&self, word: &str, people: &[(&str, &[&str])]) {
        stage(&self.broker, word);
        let personas: Vec<_> = ["general", "security"].into_iter().take(people.len()).collect();
        let review = propose(&self.broker, json!({ "diff": staged(&self.broker, &[]), "personas": personas })).await;
        for (name, options) in people {
            let ended = self.respond(&review, name, options).await;
            assert_eq!(ended.code, 0, "{name}: {}", ended.err);
        }
    }

    async fn land(&self, word: &str) {
        self.broker.repo().git(&["commit", "--quiet", "--message", word]);
        self.broker.command(&["receipt", "HEAD"]).stdout().await;
    }

    /// `verify` of everything since the start, in the clone: its exit code, and what it says about the last commit.
    async fn verify(&self, signers: &Path) -> (i32, String) {
        let clone = self.machine.path().join("clone");
        git(
            &clone,
            &["fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/notes/*:refs/notes/*"],
        );
        let range = format!("{}..origin/main", self.start);
        let line = ["verify", &range, "--json", "--signers", signers.to_str().unwrap()];
        let ended = command_in(self.machine.path(), &clone, &line).finish().await;
        let answer: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}{}", ended.out, ended.err));
        let last = answer["commits"].as_array().unwrap().last().unwrap().clone();
        (ended.code, last["why"].as_str().unwrap_or_default().to_owned())
    }

    #[track_caller]
    fn refutes(&self, signers: &Path, why: &str) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let (code, said) = self.verify(signers).await;
            assert!(code == 1 && said.contains(why), "at {place}: {code} {said}");
        }
    }

    #[track_caller]
    fn proves(&self, signers: &Path) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let (code, said) = self.verify(signers).await;
            assert_eq!(code, 0, "at {place}: {said}");
        }
    }

    /// A line of a note with this statement, signed with the broker's key.
    fn sign_as_broker(&self, statement: &Value) -> String {
        const TYPE: &str = "application/vnd.in-toto+json";
        let keys: Value =
            serde_json::from_slice(&std::fs::read(self.broker.data_dir().join("signing_keys.json")).unwrap()).unwrap();
        let seed = BASE64_STANDARD.decode(keys["seed"].as_str().unwrap()).unwrap();
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let payload = statement.to_string();
        let signed = format!("DSSEv1 {} {TYPE} {} {payload}", TYPE.len(), payload.len());
        let hash = Sha256::digest(pair.public_key().as_ref());
        let id: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let sig = BASE64_STANDARD.encode(pair.sign(signed.as_bytes()));
        let payload = BASE64_STANDARD.encode(payload);
        json!({ "payloadType": TYPE, "payload": payload, "signatures": [{ "keyid": id, "sig": sig }] }).to_string()
    }

    async fn receipt(&self) -> Value {
        let shown = self.broker.command(&["receipt", "--show", "--json"]).json().await;
        shown["receipts"][0].clone()
    }
}

#[tokio::test]
async fn a_vote_of_a_person_with_a_key_counts_only_with_a_signature() {
    let scene = Scene::new().await;
    let ada = scene.public_key("ada");
    let anyone = scene.signers(&[], "").await;
    scene.approved("zwei", &[("ada", &[])]).await;
    scene.land("zwei").await;
    scene.proves(&anyone).await;
    let needed = scene.signers(&[("Ada", &ada)], "").await;
    scene.refutes(&needed, "the approval of \"ada\" is not signed").await;
    // The same vote with a signature.
    scene.broker.repo().git(&["reset", "--quiet", "--hard", &scene.start]);
    scene.broker.repo().git(&["update-ref", "-d", "refs/notes/countersign"]);
    scene.approved("drei", &[("ada", &[&scene.sign_with("ada")])]).await;
    scene.land("drei").await;
    scene.proves(&needed).await;
    let vote = scene.receipt().await["statement"]["predicate"]["review"]["votes"][0].clone();
    assert!(vote["signature"]["ssh"].as_str().unwrap().starts_with("-----BEGIN SSH SIGNATURE-----"), "{vote}");
    let shown = scene.broker.command(&["receipt", "--show"]).stdout().await;
    assert!(shown.contains("ada (general) approved") && shown.contains("signed by the reviewer"), "{shown}");
    // Another key of the same person, and a person without a vote.
    let eve = scene.public_key("eve");
    scene.refutes(&scene.signers(&[("ada", &eve)], "").await, "the signature of \"ada\" does not fit").await;
    let both = format!("{eve}\", \"{ada}");
    scene.proves(&scene.signers(&[("ada", &both), ("bob", &eve)], "").await).await;
}

#[tokio::test]
async fn votes_of_people_without_a_key_count_beside_signed_ones() {
    let scene = Scene::new().await;
    let people = [("ada", scene.public_key("ada")), ("eve", scene.public_key("eve"))];
    let people: Vec<_> = people.iter().map(|(name, key)| (*name, key.as_str())).collect();
    scene.approved("zwei", &[("ada", &[&scene.sign_with("ada")]), ("eve", &[])]).await;
    scene.land("zwei").await;
    scene.proves(&scene.signers(&people[..1], "approvals = 2").await).await;
    // The review itself needs both of its seats.
    scene.refutes(&scene.signers(&people, "approvals = 1").await, "the approval of \"eve\" is not signed").await;
    scene.refutes(&scene.signers(&people, "personas = [\"security\"]").await, "the approval of \"eve\"").await;
}

#[tokio::test]
async fn a_signature_counts_for_its_own_vote_only() {
    let scene = Scene::new().await;
    let needed = scene.signers(&[("ada", &scene.public_key("ada"))], "").await;
    let client = scene.broker.client();
    stage(&scene.broker, "zwei");
    scene.broker.repo().git(&["commit", "--quiet", "--message", "zwei"]);
    let target = json!({ "target": { "commit": "HEAD" } });
    let vote = async |signature: Value| {
        let review = propose(&scene.broker, target.clone()).await;
        let claim = client.call("claim_review", json!({ "review_id": review, "reviewer_id": "ada" })).await;
        let status = client.status(&review).await;
        let signature = match signature.as_str() {
            Some(kind) => {
                let at = "2026-11-19T12:00:00Z";
                let content = claim["content_hash"].as_str().unwrap();
                let (verdict, persona, namespace) = match kind {
                    "verdict" => ("changes_requested", "general", "countersign-vote"),
                    "persona" => ("approved", "security", "countersign-vote"),
                    "namespace" => ("approved", "general", "git"),
                    _ => ("approved", "general", "countersign-vote"),
                };
                let statement = format!(
                    "{{\"_type\":\"tag:countersign,2026:vote/v1\",\"review\":{},\"round\":1,\"contentHash\":\"{content}\",\
                     \"persona\":\"{persona}\",\"reviewer\":\"ada\",\"verdict\":\"{verdict}\",\"at\":\"{at}\"}}\n",
                    status["review_id"]
                );
                let file = scene.machine.path().join("statement");
                std::fs::write(&file, statement).unwrap();
                let _ = std::fs::remove_file(file.with_extension("sig"));
                let (key, file) = (scene.key("ada"), file.to_str().unwrap());
                let args = ["-q", "-Y", "sign", "-n", namespace, "-f", key.to_str().unwrap(), file];
                run(scene.machine.path(), "ssh-keygen", &args);
                let ssh = std::fs::read_to_string(format!("{file}.sig")).unwrap();
                json!({ "round": 1, "at": at, "ssh": ssh })
            }
            None => signature,
        };
        let request = json!({
            "review_id": review, "reviewer_id": "ada", "verdict": "approved", "content_hash": claim["content_hash"],
            "claim_generation": claim["claim_generation"], "signature": signature,
        });
        client.call("submit_verdict", request).await;
        scene.broker.repo().git(&["update-ref", "-d", "refs/notes/countersign"]);
        scene.broker.command(&["receipt", "HEAD"]).stdout().await;
        signature
    };
    // The documented format, made by hand.
    let good = vote(json!("good")).await;
    scene.proves(&needed).await;
    for kind in ["verdict", "persona", "namespace"] {
        vote(json!(kind)).await;
        scene.refutes(&needed, "the signature of \"ada\" does not fit").await;
    }
    // The good signature, on another review of the same content, in another round, or at another time.
    vote(good.clone()).await;
    scene.refutes(&needed, "the signature of \"ada\" does not fit").await;
    for (field, value) in [("round", json!(2)), ("at", json!("2026-11-19T12:00:01Z"))] {
        let mut other = good.clone();
        other[field] = value;
        vote(other).await;
        scene.refutes(&needed, "the signature of \"ada\" does not fit").await;
    }
    // The form is checked at once.
    for (signature, why) in [
        (json!({ "round": 1, "at": "2026-11-19T12:00:00Z", "ssh": "yes" }), "is not an SSH signature"),
        (json!({ "round": 1, "at": "2026-11-19T12:00:00Z", "ssh": "x".repeat(20_000) }), "is not an SSH signature"),
    ] {
        let review = propose(&scene.broker, target.clone()).await;
        client.claim(&review, "ada").await;
        let request =
            json!({ "review_id": review, "reviewer_id": "ada", "verdict": "approved", "signature": signature });
        let refused = client.refused("invalid_argument", "submit_verdict", request).await;
        assert!(refused["error"].as_str().unwrap().contains(why), "{refused}");
    }
}

/// Someone with the broker's key and database, but without the person's key, claims that a signed content is another
/// commit.
#[tokio::test]
async fn a_signed_vote_proves_the_commit_and_not_only_its_review() {
    let scene = Scene::new().await;
    let needed = scene.signers(&[("ada", &scene.public_key("ada"))], "").await;
    scene.approved("zwei", &[("ada", &[&scene.sign_with("ada")])]).await;
    scene.land("zwei").await;
    scene.proves(&needed).await;
    // The approved change lands on another parent: the signature still proves it.
    let repo = scene.broker.repo();
    repo.git(&["reset", "--quiet", "--hard", &scene.start]);
    repo.git(&["update-ref", "-d", "refs/notes/countersign"]);
    repo.write("other.txt", "other\n");
    repo.git(&["add", "--all"]);
    approve_staged(&scene.broker, &[]).await;
    scene.land("other").await;
    let landed = scene.broker.command(&["land", "R-1", "--keep-open"]).finish().await;
    assert_eq!(landed.code, 0, "{}{}", landed.out, landed.err);
    repo.git(&["reset", "--quiet", "--hard", "HEAD"]);
    let (_, why) = scene.verify(&needed).await;
    assert!(!why.contains("signed"), "the landed commit is proven: {why}");
    // The broker's key says that the signed review is an evil commit, with the same parent.
    let statement = scene.receipt().await["statement"].clone();
    assert_eq!(statement["predicate"]["review"]["number"], "R-1");
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    stage(&scene.broker, "evil");
    repo.git(&["commit", "--quiet", "--message", "evil"]);
    let forge = |change: &dyn Fn(&mut Value)| {
        let mut forged = statement.clone();
        forged["subject"][0]["digest"]["gitCommit"] = json!(repo.git(&["rev-parse", "HEAD"]));
        forged["subject"][1]["digest"]["gitTree"] = json!(repo.git(&["rev-parse", "HEAD^{tree}"]));
        change(&mut forged);
        let note = scene.sign_as_broker(&forged);
        repo.git(&["notes", "--ref=countersign", "add", "--force", "--message", &note, "HEAD"]);
    };
    forge(&|_| {});
    scene.proves(&scene.signers(&[], "").await).await;
    scene.refutes(&needed, "the content that \"ada\" signed does not lead to this commit").await;
    let evil = repo.git(&["diff", "HEAD~1", "HEAD"]) + "\n";
    forge(&|forged| forged["predicate"]["review"]["content"]["diff"] = json!(evil));
    scene.refutes(&needed, "the content that \"ada\" signed does not lead to this commit").await;
    forge(&|forged| forged["predicate"]["review"]["content"] = Value::Null);
    scene.refutes(&needed, "the content that \"ada\" signed does not lead to this commit").await;
    forge(&|forged| forged["predicate"]["exempt"] = json!(["greeting.txt"]));
    scene.refutes(&needed, "which was exempt where the receipt was signed").await;
    let votes = |forged: &mut Value| forged["predicate"]["review"]["votes"][0]["reviewer"] = json!("bob");
    forge(&votes);
    // Bob is not among the people.
    let (_, said) = scene.verify(&needed).await;
    assert!(said.contains("was approved in R-1 (bob"), "{said}");
    scene.refutes(&scene.signers(&[("bob", &scene.public_key("eve"))], "").await, "the signature of \"bob\"").await;
}

#[tokio::test]
async fn respond_signs_with_the_key_of_git_or_says_what_is_missing() {
    let scene = Scene::new().await;
    stage(&scene.broker, "zwei");
    let review = propose(&scene.broker, json!({ "diff": staged(&scene.broker, &[]) })).await;
    let status = async || scene.broker.client().status(&review).await["status"].clone();
    let no_key = scene.respond(&review, "ada", &["--sign"]).await;
    assert_eq!(no_key.code, 2, "{}", no_key.err);
    assert!(no_key.err.contains("--sign=FILE") && no_key.err.contains("user.signingkey"), "{}", no_key.err);
    let bad_key = scene.respond(&review, "ada", &["--sign=/nowhere/key"]).await;
    assert!(bad_key.code != 0 && bad_key.err.contains("the vote was not signed"), "{}", bad_key.err);
    assert_eq!(status().await, "pending", "the seat is free again");
    let missing = scene.broker.command(&["respond", &review, "--approve", "--as", "ada", &scene.sign_with("ada")]);
    let missing = missing.var("PATH", "/nowhere").finish().await;
    assert!(missing.code != 0 && missing.err.contains("needs ssh-keygen"), "{}", missing.err);
    assert_eq!(status().await, "pending");
    let repo = scene.broker.repo();
    repo.git(&["config", "gpg.format", "ssh"]);
    repo.git(&["config", "user.signingkey", scene.key("ada").to_str().unwrap()]);
    // A program of the repository never signs.
    repo.git(&["config", "gpg.ssh.program", "/bin/false"]);
    let settings = scene.broker.home().join("signing.toml");
    std::fs::write(&settings, "gate.sign_votes = true\n").unwrap();
    let signed = scene.respond(&review, "ada", &["--config", settings.to_str().unwrap()]).await;
    assert_eq!(signed.code, 0, "{}", signed.err);
    scene.land("zwei").await;
    let needed = scene.signers(&[("ada", &scene.public_key("ada"))], "").await;
    scene.proves(&needed).await;
    // Without ssh-keygen there is no answer.
    let clone = scene.machine.path().join("clone");
    let git_only = scene.machine.path().join("bin");
    std::fs::create_dir(&git_only).unwrap();
    let git_program = run(scene.machine.path(), "sh", &["-c", "command -v git"]);
    std::os::unix::fs::symlink(git_program, git_only.join("git")).unwrap();
    let range = format!("{}..origin/main", scene.start);
    let verify = command_in(scene.machine.path(), &clone, &["verify", &range, "--signers", needed.to_str().unwrap()]);
    let ended = verify.var("PATH", git_only.to_str().unwrap()).finish().await;
    assert!(ended.code == 2 && ended.err.contains("ssh-keygen is not in PATH"), "{}{}", ended.out, ended.err);
}

#[tokio::test]
async fn a_signers_file_with_unusable_people_is_no_answer() {
    let scene = Scene::new().await;
    let ada = scene.public_key("ada");
    for (people, why) in [
        (
            format!(
                "[[people]]\nname = \"ada\"\nssh_keys = [\"{ada}\"]\n[[people]]\nname = \"ADA\"\nssh_keys = [\"{ada}\"]\n"
            ),
            "is there twice",
        ),
        ("[[people]]\nname = \"ada\"\nssh_keys = []\n".to_owned(), "has no ssh_keys"),
        (
            "[[people]]\nname = \"ada\"\nssh_keys = [\"cert-authority ssh-ed25519 AAAA\"]\n".to_owned(),
            "is not a public SSH key",
        ),
        (format!("[[people]]\nname = \"ada\"\nssh_keys = [\"{ada}\\n* ssh-rsa AAAA\"]\n"), "is not a public SSH key"),
        (format!("[[people]]\nname = \"ada\"\nkeys = [\"{ada}\"]\n"), "unknown field"),
    ] {
        let file = scene.machine.path().join("bad.toml");
        std::fs::write(&file, format!("project = \"project\"\n{people}")).unwrap();
        let line = ["verify", "HEAD", "--signers", file.to_str().unwrap()];
        let ended = command_in(scene.machine.path(), &scene.machine.path().join("clone"), &line).finish().await;
        assert!(ended.code == 2 && ended.err.contains(why), "{people}: {}{}", ended.out, ended.err);
    }
}
