use domain::content::ContentHash;
use domain::verdict::Verdict;
use domain::vote_signature::VoteStatement;
use jiff::Timestamp;

use super::dsse::{PAYLOAD_TYPE, pre_authentication_encoding};
use super::{Envelope, Receipt, ReceiptFault, Statement};
use crate::ssh_signatures::is_signed_by;
use crate::{GateError, Signers, SigningKeys, SshKey};

const DOCUMENT: &str = include_str!("../../docs/receipts.md");

/// The code blocks of the test vector in the documentation.
struct Vector {
    seed: Vec<u8>,
    key: String,
    id: String,
    payload: String,
    encoding: String,
    envelope: String,
}

impl Vector {
    fn read() -> Self {
        let (_, section) = DOCUMENT.split_once("## Test vector").unwrap();
        let blocks: Vec<&str> = section.split("```").skip(1).step_by(2).collect();
        let lines = |block: usize| blocks[block].lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        let [seed, key, id] = lines(0).try_into().unwrap();
        let byte = |at: usize| u8::from_str_radix(&seed[at..at + 2], 16).unwrap();
        Self {
            seed: (0..seed.len()).step_by(2).map(byte).collect(),
            key,
            id,
            payload: lines(1).concat(),
            encoding: lines(2).concat(),
            envelope: lines(3).concat(),
        }
    }

    fn keys(&self) -> SigningKeys {
        SigningKeys::from_seed(&self.seed, Timestamp::UNIX_EPOCH, Vec::new()).unwrap()
    }

    fn envelope(&self) -> Envelope {
        serde_json::from_str(&self.envelope).unwrap()
    }

    fn statement(&self) -> Statement {
        serde_json::from_str(&self.payload).unwrap()
    }

    /// The receipt of a statement, signed with the key of the vector.
    fn sign(&self, statement: &Statement) -> Envelope {
        self.keys().sign(&serde_json::to_vec(statement).unwrap()).unwrap()
    }

    fn signers(&self, policy: &str, key: &str) -> Signers {
        Signers::parse(&format!("project = \"api\"\n{policy}\n[[keys]]\nkey = \"{}\"\n{key}\n", self.key)).unwrap()
    }
}

/// Checks a receipt whose votes need no signatures of people.
fn check(signers: &Signers, envelope: Envelope) -> Result<Receipt, ReceiptFault> {
    let receipt = signers.check_key(envelope)?;
    let review = &receipt.statement.predicate.review;
    signers.check_policy(review, &review.votes)?;
    Ok(receipt)
}

#[test]
fn the_documented_vector_is_what_the_program_signs() {
    let vector = Vector::read();
    let keys = vector.keys();
    assert_eq!((keys.active().to_string(), keys.active().id()), (vector.key.clone(), vector.id.clone()));
    assert_eq!(pre_authentication_encoding(PAYLOAD_TYPE, vector.payload.as_bytes()), vector.encoding.as_bytes());
    let signed = keys.sign(vector.payload.as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&signed).unwrap(), vector.envelope);
    let statement = vector.statement();
    assert_eq!(serde_json::to_string(&statement).unwrap(), vector.payload, "the program writes the same fields");
    assert_eq!(Receipt::parse(vector.envelope.as_bytes()).unwrap().statement, statement);
    check(&vector.signers("personas = [\"security\"]", ""), vector.envelope()).unwrap();
}

#[tokio::test]
async fn the_documented_signature_of_a_vote_is_good() {
    let (_, section) = DOCUMENT.split_once("## Signature of a vote").unwrap();
    let blocks: Vec<String> = section.split("```").skip(1).step_by(2).map(without_first_line).collect();
    let [key, line, signature, _] = blocks.as_slice() else { panic!("four blocks, not {}", blocks.len()) };
    let statement: serde_json::Value = serde_json::from_str(line).unwrap();
    let content_hash = ContentHash(statement["contentHash"].as_str().unwrap().to_owned());
    let review = serde_json::from_value(statement["review"].clone()).unwrap();
    let at = statement["at"].as_str().unwrap().parse().unwrap();
    let made = VoteStatement::new((review, 2, &content_hash), ("security", "ada"), Verdict::Approved, at);
    assert_eq!(String::from_utf8(made.to_bytes()).unwrap(), *line, "the program signs this line");
    let keys = [SshKey::try_from(key.trim().to_owned()).unwrap()];
    let folder = tempfile::tempdir().unwrap();
    let is_good = async |line: &[u8]| is_signed_by(&keys, line, signature, folder.path()).await;
    match is_good(line.as_bytes()).await {
        Err(GateError::SshKeygenMissing) => panic!("this test needs ssh-keygen in PATH: install OpenSSH"),
        result => assert!(result.unwrap()),
    }
    assert!(!is_good(line.trim_end().as_bytes()).await.unwrap(), "the newline counts");
    assert!(!is_good(line.replace("security", "general").as_bytes()).await.unwrap());
}

fn without_first_line(block: &str) -> String {
    block.split_once('\n').unwrap().1.to_owned()
}

#[test]
fn every_changed_byte_of_the_payload_breaks_the_signature() {
    let vector = Vector::read();
    let good = vector.envelope();
    let signers = vector.signers("", "");
    for at in 0..good.payload.len() {
        let mut payload = good.payload.clone().into_bytes();
        payload[at] = if payload[at] == b'A' { b'B' } else { b'A' };
        let forged = Envelope { payload: String::from_utf8(payload).unwrap(), ..good.clone() };
        assert_eq!(check(&signers, forged), Err(ReceiptFault::BadSignature(vector.id.clone())), "byte {at}");
    }
}

#[test]
fn the_key_decides_whether_a_receipt_counts() {
    let vector = Vector::read();
    let by_key = |key: &str| check(&vector.signers("", key), vector.envelope()).map(drop);
    assert_eq!(by_key(""), Ok(()));
    assert_eq!(by_key("until = \"2026-11-18T20:00:00Z\""), Ok(()), "signed in the last moment");
    assert!(matches!(by_key("until = \"2026-11-18T19:59:59Z\""), Err(ReceiptFault::KeyEnded { .. })));
    assert_eq!(by_key("revoked = true"), Err(ReceiptFault::KeyRevoked(vector.id.clone())));
    assert_eq!(
        by_key("until = \"2027-01-01T00:00:00Z\"\nrevoked = true"),
        Err(ReceiptFault::KeyRevoked(vector.id.clone()))
    );
    let none = Signers::parse("project = \"api\"").unwrap();
    assert_eq!(check(&none, vector.envelope()), Err(ReceiptFault::UnknownKey(vector.id.clone())));
    // One good signature beside others suffices.
    let mut several = vector.envelope();
    let mut wrong = several.signatures[0].clone();
    wrong.sig = "AAAA".to_owned();
    several.signatures.insert(0, wrong);
    assert!(check(&vector.signers("", ""), several).is_ok());
}

#[test]
fn the_policy_of_the_file_and_of_the_review_both_count() {
    let vector = Vector::read();
    let check = |policy: &str, change: &dyn Fn(&mut Statement)| {
        let mut statement = vector.statement();
        change(&mut statement);
        check(&vector.signers(policy, ""), vector.sign(&statement)).map(drop)
    };
    let few = |found, needed| Err(ReceiptFault::TooFewApprovals { found, needed });
    let again = |statement: &mut Statement, reviewer: &str, persona: &str| {
        let votes = &mut statement.predicate.review.votes;
        let mut vote = votes[0].clone();
        (vote.reviewer, vote.persona) = (reviewer.to_owned(), persona.to_owned());
        votes.push(vote);
    };
    assert_eq!(check("", &|_| {}), Ok(()));
    assert_eq!(check("approvals = 2", &|_| {}), few(1, 2));
    assert_eq!(check("approvals = 2", &|statement| again(statement, "bob", "tests")), Ok(()));
    assert_eq!(
        check("approvals = 2", &|statement| again(statement, "ada", "tests")),
        few(1, 2),
        "one reviewer, two seats"
    );
    assert_eq!(
        check("approvals = 2", &|statement| again(statement, "gsd-executor", "tests")),
        few(1, 2),
        "the proposer"
    );
    assert_eq!(check("", &|statement| statement.predicate.review.policy.needed = 2), few(1, 2));
    assert_eq!(check("", &|statement| statement.predicate.review.votes.clear()), few(0, 1));
    assert_eq!(
        check("", &|statement| statement.predicate.review.proposer = "ada".to_owned()),
        few(0, 1),
        "the only vote is the proposer's"
    );
    let missing = |persona: &str| Err(ReceiptFault::PersonaMissing(persona.to_owned()));
    assert_eq!(check("personas = [\"tests\"]", &|_| {}), missing("tests"));
    let general = |statement: &mut Statement| statement.predicate.review.votes[0].persona = "general".to_owned();
    assert_eq!(check("", &general), missing("security"), "the review requires it");
    let other = |statement: &mut Statement| statement.predicate.review.project = Some("other".to_owned());
    assert_eq!(check("", &other), Err(ReceiptFault::OtherProject("other".to_owned())));
    let none = |statement: &mut Statement| statement.predicate.review.project = None;
    assert_eq!(check("", &none), Err(ReceiptFault::OtherProject(String::new())));
    let kind = |statement: &mut Statement| statement.predicate_type = "https://example.com/other/v1".to_owned();
    assert_eq!(check("", &kind), Err(ReceiptFault::Unreadable));
}

#[test]
fn a_statement_about_two_commits_names_none() {
    let mut statement = Vector::read().statement();
    assert!(statement.commit().is_some() && statement.tree().is_some());
    let other = statement.subject[0].clone();
    statement.subject.push(other);
    assert_eq!(statement.commit(), None);
}

#[test]
fn a_key_that_is_there_twice_is_an_error() {
    let key = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    let twice = format!("project = \"api\"\n[[keys]]\nkey = \"{key}\"\n[[keys]]\nkey = \"{key}\"\nrevoked = true\n");
    let error = Signers::parse(&twice).unwrap_err().to_string();
    assert!(error.contains("21fe31dfa154a261 is there twice"), "{error}");
}
