//! Receivers of webhooks.

use super::*;

const GOOD: &str = "[[webhooks.receivers]]\nname = \"ci\"\nurl = \"https://ci.example:8443/hook?key=hunter2\"\n";

#[test]
fn a_receiver_needs_a_name_and_an_address() {
    let receivers = World::new().user(GOOD).load().webhooks.receivers;
    let expected = Receiver {
        name: "ci".into(),
        url: "https://ci.example:8443/hook?key=hunter2".into(),
        events: Vec::new(),
        project: None,
        secret_file: None,
        allow_http: false,
    };
    assert_eq!(receivers, [expected]);
    assert_eq!(receivers[0].origin(), "https://ci.example:8443");
}

#[test]
fn plain_http_stays_on_this_machine_unless_it_is_allowed() {
    for url in ["http://127.0.0.1:9/x", "http://[::1]/x", "http://localhost:80", "https://a.example"] {
        World::new().user(&format!("[[webhooks.receivers]]\nname = \"a\"\nurl = \"{url}\"\n")).load();
    }
    let far = "[[webhooks.receivers]]\nname = \"a\"\nurl = \"http://127.0.0.1.evil.example/\"\n";
    assert!(user_error(far).contains("plain http to another machine"));
    World::new().user(&format!("{far}allow_http = true\n")).load();
}

#[test]
fn a_secret_file_may_lie_in_the_home() {
    let world = World::new().user(&format!("{GOOD}secret_file = \"~/ci.secret\"\n"));
    let file = world.load().webhooks.receivers[0].secret_file.clone();
    assert_eq!(file, Some(world.home.path().join("ci.secret")));
}

#[test]
fn a_project_cannot_add_a_receiver() {
    for file in [GOOD, "[webhooks]\nattempts = 1\n"] {
        let error = project_error(file);
        assert!(error.contains("not allowed in a project's file"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn problems_of_a_receiver_do_not_quote_its_url() {
    let bad = "[[webhooks.receivers]]\nname = \"a b\"\nurl = \"https://me:hunter2@a.example\"\nevents = [\"verdict\"]\n\
               allow_http = 1\n[[webhooks.receivers]]\nname = \"a b\"\nproject = \"\"\nkey = 1\n";
    let error = user_error(bad);
    assert!(!error.contains("hunter2"), "{error}");
    for fault in [
        "webhooks.receivers = [{ … }, { … }]",
        "receiver 1: name must be 1 to 64",
        "receiver 1: allow_http must be true or false",
        "receiver 1: url must not contain credentials",
        "receiver 1: events: \"verdict\" is not known; allowed: proposed, ",
        "receiver 2: another receiver has this name",
        "receiver 2: \"key\": unknown key; allowed are name, url, ",
        "receiver 2: url must be a string",
        "receiver 2: project must be a name",
    ] {
        assert!(error.contains(fault), "{fault}: {error}");
    }
}
