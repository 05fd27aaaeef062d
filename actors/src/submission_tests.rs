use super::{check_seat_name, named_seats, policy};
use domain::{
    consensus::{Policy, PolicyRequest, Rule, RuleName},
    content::CreateReviewRequest,
};

fn seats_of(personas: &[&str]) -> Result<Vec<String>, String> {
    let personas = Some(personas.iter().map(ToString::to_string).collect());
    let request = CreateReviewRequest { personas, ..CreateReviewRequest::default() };
    let named = named_seats(&request).map_err(|error| error.to_string());
    named.map(Option::unwrap_or_default)
}

#[test]
fn a_seat_for_each_persona_that_is_named() {
    assert_eq!(named_seats(&CreateReviewRequest::default()).unwrap(), None);
    assert_eq!(seats_of(&["tests", "security", "tests"]).unwrap(), ["tests", "security"]);
    assert_eq!(seats_of(&["a.b_c-D9"]).unwrap(), ["a.b_c-D9"]);
    let ten: Vec<_> = (0..10).map(|n| n.to_string()).collect();
    let mut ten: Vec<_> = ten.iter().map(String::as_str).collect();
    ten.push("3");
    assert_eq!(seats_of(&ten).unwrap().len(), 10, "doubles do not count");
    ten.push("more");
    assert_eq!(seats_of(&ten).unwrap_err(), "personas: are 11 different ones; allowed are 1 to 10");
}

#[test]
fn a_persona_is_a_short_plain_word() {
    assert!(seats_of(&[&"x".repeat(64)]).is_ok());
    let long = seats_of(&[&"x".repeat(65)]).unwrap_err();
    assert_eq!(long, "personas has 65 characters; the limit is 64");
    for bad in ["", " ", "a b", "a/b", "a\n", "prüfer", "\u{202e}x"] {
        assert!(seats_of(&["fine", bad]).unwrap_err().contains("is not a valid name; allowed:"), "{bad:?}");
    }
}

#[test]
fn a_seat_can_be_for_one_reviewer() {
    let request = |reviewers: &[&str]| CreateReviewRequest {
        reviewers: Some(reviewers.iter().map(ToString::to_string).collect()),
        ..CreateReviewRequest::default()
    };
    assert_eq!(named_seats(&request(&["@ada", "security"])).unwrap().unwrap(), ["@ada", "security"]);
    let both = CreateReviewRequest { personas: Some(vec!["tests".into()]), ..request(&["@ada"]) };
    assert!(named_seats(&both).unwrap_err().to_string().contains("not allowed with reviewers"));
    for bad in ["@", "@@ada", "@a b"] {
        assert!(named_seats(&request(&[bad])).unwrap_err().to_string().contains("is not a valid name"), "{bad:?}");
    }
    assert!(check_seat_name("personas", "@ada", false).is_err(), "a persona is not a person");
}

#[track_caller]
fn check(rule: Option<RuleName>, min_approvals: Option<u32>, max_rounds: Option<u32>, expected: Result<Policy, &str>) {
    let found = policy(PolicyRequest { rule, min_approvals, max_rounds, ..PolicyRequest::default() }, 3, 5)
        .map_err(|error| error.to_string());
    assert_eq!(found.as_ref().map_err(String::as_str), expected.as_ref().map_err(|words| *words));
}

#[test]
fn a_policy_is_within_the_seats_and_the_settings() {
    use RuleName::{Majority, MinApprovals, RequireAll};
    let of = |rule| Ok(Policy { rule, max_rounds: 5, block_on_critical: true, ..Policy::default() });
    check(None, None, None, of(Rule::RequireAll));
    check(Some(RequireAll), None, None, of(Rule::RequireAll));
    check(Some(Majority), None, None, of(Rule::Majority));
    check(Some(MinApprovals), Some(1), None, of(Rule::MinApprovals(1)));
    check(Some(MinApprovals), Some(3), None, of(Rule::MinApprovals(3)));
    check(None, None, Some(1), Ok(Policy { max_rounds: 1, block_on_critical: true, ..Policy::default() }));
    check(None, None, Some(5), of(Rule::RequireAll));

    let min = |problem: &str| format!("policy.min_approvals: {problem}");
    let outside = |n: u32| min(&format!("is {n}; allowed is 1 to 3, the number of seats"));
    check(Some(MinApprovals), Some(0), None, Err(&outside(0)));
    check(Some(MinApprovals), Some(4), None, Err(&outside(4)));
    let needed = min("is needed with rule min_approvals: 1 to 3, the number of seats");
    check(Some(MinApprovals), None, None, Err(&needed));
    check(Some(Majority), Some(2), None, Err(&min("only with rule min_approvals, not with majority")));
    check(None, Some(2), None, Err(&min("only with rule min_approvals, not with require_all")));
    let rounds = "allowed is 1 to 5: a proposal may lower reviews.max_rounds, not raise it";
    check(None, None, Some(0), Err(&format!("policy.max_rounds: is 0; {rounds}")));
    check(None, None, Some(6), Err(&format!("policy.max_rounds: is 6; {rounds}")));
}
