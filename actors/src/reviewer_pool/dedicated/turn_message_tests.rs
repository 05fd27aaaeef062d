use super::*;
use crate::reviewer_pool::review_for_prompt::LastVote;
use domain::{
    credential::Authority,
    persona::Mode,
    review::{Command, transition},
    time::{Now, Tick, Timestamp},
    verdict::Verdict,
};

const MARK: &str = "0123456789abcdef";

fn persona() -> Persona {
    testkit::persona(Mode::Dedicated)
}

fn message(id: u64, persona: Option<&str>, body: &str) -> Message {
    Message {
        id,
        round: 1,
        persona: persona.map(Into::into),
        to: None,
        sender_role: Authority::Proposer,
        caller_id: None,
        body: body.into(),
        body_total: None,
        anchor: None,
        metadata: None,
        at: Timestamp(0).into(),
    }
}

/// A review with a seat whose reviewer last acted at version 5.
fn review() -> Review {
    let proposal = testkit::proposal(1, &testkit::content("add a door"), &["security"]);
    let now = Now { at: Timestamp(0), tick: Tick(0) };
    let mut review = transition(None, Command::Propose(Box::new(proposal)), now, &testkit::RULES).unwrap().next;
    review.seats[0].last_act = Some(5);
    review
}

fn render(context: &PromptContext, resumes: bool, owes_vote: bool, why: TurnReason) -> String {
    let (persona, review) = (persona(), review());
    let message = TurnMessage {
        persona: &persona,
        reviewer: "security-R-1",
        review: &review,
        context,
        why,
        owes_vote,
        generation: 7,
        resumes,
        turn: 2,
        earlier: None,
    };
    message.render(MARK)
}

fn context() -> PromptContext {
    let discussion = vec![
        message(3, Some("security"), "an old one"),
        message(6, Some("security"), "a new one"),
        message(7, Some("tests"), "to another seat"),
        message(8, None, "to all"),
    ];
    let vote =
        LastVote { round: 1, verdict: Some(Verdict::ChangesRequested), reason: None, diff: Some("+lock".into()) };
    PromptContext {
        intent: "add a door".into(),
        diff: Some("+door\n".into()),
        round: 2,
        has_copy: true,
        last_vote: Some(vote),
        discussion,
        ..PromptContext::default()
    }
}

#[test]
fn a_continued_session_is_sent_only_what_is_new() {
    let message = render(&context(), true, true, TurnReason::Message);
    assert!(
        message.starts_with("Be strict.\n\nYou are `security-R-1`, the reviewer of the seat `security` in review R-1."),
        "{message}"
    );
    for part in
        ["claim_generation 7", "It is your turn because you have a new message.", "a new one", "to all", "+lock"]
    {
        assert!(message.contains(part), "no {part} in {message}");
    }
    for known in ["add a door", "+door", "an old one", "to another seat"] {
        assert!(!message.contains(known), "{known} in {message}");
    }
}

#[test]
fn a_new_session_is_sent_the_whole_history_of_the_seat() {
    let message = render(&context(), false, true, TurnReason::Unclaimed);
    assert!(message.starts_with("Be strict.\n\nYou are `security-R-1`"), "{message}");
    for part in ["add a door", "+door", "an old one", "a new one", "there is a change to what you have reviewed"] {
        assert!(message.contains(part), "no {part} in {message}");
    }
}

#[test]
fn a_reviewer_that_has_voted_is_asked_to_answer() {
    let message = render(&context(), true, false, TurnReason::IssueAnswered);
    assert!(message.contains("You have voted, and your vote stands."), "{message}");
    assert!(message.contains("answered or disputed an issue of yours"), "{message}");
}
