//! `show --at` and `diff --at`: a review as it was after an event of `timeline`.

use crate::support::terminal::on_a_branch;
use serde_json::json;

#[tokio::test]
async fn a_review_is_shown_as_it_was_after_an_event_of_its_timeline() {
    let broker = on_a_branch().await;
    let run = async |who: &str, line: &[&str]| broker.command_as(who, line).stdout().await;
    run("ada", &["request"]).await;
    run("bob", &["claim", "R-1"]).await;
    run("bob", &["respond", "1", "--request-changes", "-m", "no", "--issue", "low greeting.txt:2 nit"]).await;
    broker.repo().write("greeting.txt", "one\ndrei\nthree\n");
    broker.repo().commit("another word");
    run("ada", &["resubmit", "--title", "again"]).await;

    let timeline = run("eve", &["timeline", "1"]).await;
    let numbered = |event: &str, number: &str| {
        let line = timeline.lines().find(|line| line.contains(event)).unwrap_or_else(|| panic!("{event}: {timeline}"));
        assert_eq!(line.split_whitespace().next(), Some(number), "{line}");
    };
    numbered("verdict_given", "3");
    numbered("revised", "4");

    let then = run("eve", &["show", "R-1", "--at", "3"]).await;
    assert!(then.starts_with("as it was after event 3, ") && then.contains("changes requested  round 1"), "{then}");
    assert!(then.contains("nit") && !then.contains("round 2"), "{then}");
    let claimed = broker.command_as("eve", &["show", "R-1", "--at", "2", "--json"]).json().await;
    assert_eq!((&claimed["review"]["status"], &claimed["review"]["version"]), (&json!("claimed"), &json!(2)));
    assert_eq!((&claimed["issues"], &claimed["verdicts"]), (&json!([]), &json!([])));
    let (before, now) = (run("eve", &["diff", "1", "--at", "3"]).await, run("eve", &["diff", "1"]).await);
    assert!(before.contains("zwei") && !before.contains("drei") && now.contains("drei"), "{before}{now}");

    let refused = broker.command_as("eve", &["show", "R-1", "--at", "5"]).finish().await;
    assert!(refused.code != 0 && refused.err.contains("R-1 has the events 1 to 4"), "{}", refused.err);
    let both = broker.command_as("eve", &["show", "R-1", "--at", "1", "--watch"]).finish().await;
    assert_eq!(both.code, 2);
}
