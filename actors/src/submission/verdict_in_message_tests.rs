use super::{split, verdict_in};
use domain::{
    finding::NewFinding,
    review::{ClaimSeat, Command, Review, transition},
    time::{Now, Tick, Timestamp},
    verdict::{Verdict, VerdictRequest},
};
use testkit::{RULES, content, proposal};

const NOW: Now = Now { at: Timestamp(1_800_000_000_000), tick: Tick(0) };

/// R-7, whose one seat `ada` holds.
fn claimed() -> Review {
    let proposal = proposal(7, &content("a change"), &["security"]);
    let claim = ClaimSeat { by: "ada".into(), persona: None, takes_over: None, check: None, pool_personas: Vec::new() };
    let created = transition(None, Command::Propose(Box::new(proposal)), NOW, &RULES).unwrap().next;
    transition(Some(&created), Command::Claim(claim), NOW, &RULES).unwrap().next
}

fn read(body: &str) -> Option<Result<(VerdictRequest, Vec<NewFinding>), String>> {
    let review = claimed();
    verdict_in(body, &review, &review.seats[0])
}

#[test]
fn a_block_at_the_beginning_is_the_verdict() {
    let body = "---\nreview_id: R-7\ndecision: request_changes\niteration: 1\nreviewer: security\nissues:\n  \
                - type: bug\n    severity: high\n    title: it leaks\n    file: a.rs\n    line_start: 3\n---\nSee the issue.\n";
    let (request, findings) = read(body).unwrap().unwrap();
    assert_eq!((request.verdict, request.reason.as_deref()), (Verdict::ChangesRequested, Some("See the issue.")));
    assert_eq!((request.reviewer_id.as_deref(), request.claim_generation), (Some("ada"), Some(1)));
    assert_eq!(findings.len(), 1);
    let (old, findings) = read("---\r\nreview_id: r-7\r\ndecision: approve\r\nissues: 2\r\n---\r\n").unwrap().unwrap();
    assert_eq!((old.verdict, old.reason, findings.len()), (Verdict::Approved, None, 0));
}

#[test]
fn anywhere_else_it_is_a_text() {
    let block = "---\nreview_id: R-7\ndecision: approved\n---\n";
    for before in [" ", "\n", "\u{feff}", "> ", "```\n", "I quote:\n", "--", "-"] {
        assert!(read(&format!("{before}{block}")).is_none(), "{before:?}");
    }
    for other in ["---\nno end", "---\ntitle: a plan\n---\n", "--- \nreview_id: R-7\ndecision: approved\n---\n", ""] {
        assert!(read(other).is_none(), "{other:?}");
    }
    let long = format!("---\ndecision: approved\n{}\n---\n", "# padding\n".repeat(10_000));
    assert!(split(&long).is_none());
}

#[test]
fn what_was_meant_as_one_and_is_none_is_told() {
    for (block, expected) in [
        ("review_id: R-8\ndecision: approved", "review_id is \"R-8\"; this is R-7"),
        ("review_id: R-7\ndecision: approved\niteration: 2", "iteration is 2; the current round is 1"),
        ("review_id: R-7\ndecision: approved\nreviewer: tests", "reviewer is \"tests\"; you hold the seat security"),
        ("review_id: R-7\ndecision: maybe", "decision \"maybe\" is not known"),
        ("review_id: R-7\ndecision: approved\nissues: [{ title: a }]", "issues[0].severity: missing"),
    ] {
        let problem = read(&format!("---\n{block}\n---\nwords")).unwrap().unwrap_err();
        assert!(problem.starts_with(expected), "{problem}");
    }
    assert!(read("---\ndecision: approved\n---\n").unwrap().is_err(), "it has to say of which review");
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\nreview_id: R-7\ndecision: approved";
    let _ = read(&format!("---\n{bomb}\n---\n"));
}
