//! `countersign open`: the address of the page, and the browser that shows it.

use crate::support::{
    broker::TestBroker,
    client::proposal,
    command::{CommandOutput, command_in},
    terminal::on_a_branch,
    tokens::create_token,
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

const REQUIRED: &str = "[auth]\nrequired = true\n";

/// A browser that writes its argument and the token in its environment into the file `opened`, then exits with `code`.
fn browser(home: &Path, code: u8) -> String {
    let path = home.join("browser");
    let script = format!("#!/bin/sh\necho \"$# $1 $COUNTERSIGN_TOKEN\" >> '{}/opened'\nexit {code}\n", home.display());
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn opened(home: &Path) -> Vec<String> {
    fs::read_to_string(home.join("opened")).unwrap_or_default().lines().map(str::to_owned).collect()
}

async fn open(broker: &TestBroker, line: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
    let line = [&["open"], line].concat();
    variables.iter().fold(broker.command(&line), |command, (name, value)| command.var(name, value)).finish().await
}

/// Signs in with the code of an address, as the page does: who it is then.
async fn sign_in(broker: &TestBroker, address: &str) -> Value {
    let code = address.split_once("#code=").unwrap().1.split('&').next().unwrap();
    let request = reqwest::Client::new().post(broker.url("/api/v1/session")).json(&json!({ "code": code }));
    request.send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn the_page_opens_in_the_users_browser() {
    let broker = TestBroker::start().await;
    let browser = browser(broker.home(), 0);
    broker.client().call("create_review", proposal("look")).await;
    for (line, page) in [(&[][..], "/"), (&["R-1"], "/r/1"), (&["1"], "/r/1")] {
        let ended = open(&broker, line, &[("BROWSER", &browser)]).await;
        let url = broker.url(page);
        assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, format!("{url}\n").as_str(), ""));
        assert_eq!(opened(broker.home()).last().unwrap().trim_end(), format!("1 {url}"));
    }
    let times = opened(broker.home()).len();
    let printed = open(&broker, &["1", "--print", "--json"], &[("BROWSER", &browser)]).await;
    assert_eq!(serde_json::from_str::<Value>(&printed.out).unwrap(), json!({ "url": broker.url("/r/1") }));
    assert_eq!(opened(broker.home()).len(), times, "--print opens nothing");
}

#[tokio::test]
async fn a_broker_that_requires_tokens_gets_a_browser_that_signs_in() {
    let broker = TestBroker::with_settings(REQUIRED).await;
    let browser = browser(broker.home(), 0);
    let token = create_token(broker.home(), "reviewer", "ada", &[]).await;
    broker.client().with_token(&create_token(broker.home(), "proposer", "eve", &[]).await).submit("look").await;

    // The local user, and the holder of a token.
    for (variables, name, authority) in [
        (vec![("BROWSER", browser.as_str())], json!(null), "operator"),
        (vec![("BROWSER", browser.as_str()), ("COUNTERSIGN_TOKEN", &token)], json!("ada"), "reviewer"),
    ] {
        let ended = open(&broker, &["R-1"], &variables).await;
        assert_eq!((ended.code, ended.out), (0, format!("{}\n", broker.url("/r/1"))), "{}", ended.err);
        let line = opened(broker.home()).pop().unwrap();
        let address = line.strip_prefix("1 ").unwrap().trim_end();
        assert!(address.starts_with(&broker.url("/sign-in#code=cs_")) && address.ends_with("&next=/r/1"), "{address}");
        assert!(!line.contains(&token), "the browser does not get the token: {line}");
        let whoami = sign_in(&broker, address).await;
        assert_eq!((&whoami["name"], &whoami["authority"]), (&name, &json!(authority)));
    }

    let printed = open(&broker, &["--print"], &[]).await;
    assert!(printed.err.contains("signs in once"), "{}", printed.err);
    assert_eq!(sign_in(&broker, printed.out.trim()).await["authority"], "operator");

    // At an address that was given the local token is not sent.
    let plain = open(&broker, &["--print", "--url", &broker.url("")], &[]).await;
    assert_eq!((plain.code, plain.out), (0, format!("{}\n", broker.url("/"))));
    assert!(plain.err.contains("COUNTERSIGN_TOKEN"), "{}", plain.err);
}

#[tokio::test]
async fn what_cannot_be_opened_is_an_error_with_a_way_out() {
    let broker = TestBroker::start().await;
    let unknown = open(&broker, &["R-7"], &[]).await;
    assert!(unknown.code == 1 && unknown.err.contains("unknown_review"), "{unknown:?}");

    // Neither the chosen browser works nor one of the platform is there.
    let (failing, nothing) = (browser(broker.home(), 3), broker.home().join("nothing"));
    let variables = [("BROWSER", failing.as_str()), ("PATH", nothing.to_str().unwrap())];
    let ended = open(&broker, &[], &variables).await;
    assert_eq!((ended.code, ended.out), (1, format!("{}\n", broker.url("/"))));
    for part in ["cannot open a browser", "exit status: 3", "not installed", "BROWSER", "countersign open --print"] {
        assert!(ended.err.contains(part), "{part}: {}", ended.err);
    }
    assert_eq!(opened(broker.home()).len(), 1);

    let home = tempfile::tempdir().unwrap();
    let ended = command_in(home.path(), home.path(), &["open"]).finish().await;
    assert!(ended.code == 5 && ended.err.contains("countersign serve"), "{ended:?}");
}

#[tokio::test]
async fn serve_and_request_print_the_address_of_the_page() {
    let broker = on_a_branch().await;
    let banner = format!("page          {}/", broker.url(""));
    wait_until("the banner", async || broker.log().contains(&banner).then_some(())).await;
    let link = format!("  {}\n", broker.url("/r/1"));
    let requested = broker.command_as("ada", &["request"]).stdout().await;
    assert!(requested.contains(&link), "{requested}");
    let revised = broker.command_as("ada", &["resubmit", "--title", "again"]).stdout().await;
    assert!(revised.contains(&link), "{revised}");
}
