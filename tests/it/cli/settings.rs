//! `countersign config`: the settings with their origins, and edits of the user's file.

use crate::support::command::{TestCommand, command_in};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};
use testkit::Repo;

/// A user in a repository, without a broker.
struct User {
    home: tempfile::TempDir,
    repo: Repo,
}

impl User {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), repo: Repo::new() }
    }

    fn command(&self, line: &[&str]) -> TestCommand {
        command_in(self.home.path(), &self.repo.path(), line)
    }

    fn file(&self) -> PathBuf {
        self.home.path().join(".config/countersign/config.toml")
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        fs::write(self.file(), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    /// What `config get --json` says about a setting.
    async fn get(&self, name: &str) -> (Value, String) {
        let setting = self.command(&["config", "get", name, "--json"]).json().await;
        (setting["value"].clone(), setting["source"].as_str().unwrap().to_owned())
    }
}

#[tokio::test]
async fn every_value_has_a_source() {
    let user = User::new();
    user.write("[claims]\nlease = \"9m\"\n[reviews]\nmax_rounds = 5\n[projects.api]\npath = \"/\"\n");
    user.repo.write(".countersign/config.toml", "[reviews]\nmax_rounds = 2\n");
    let file = "~/.config/countersign/config.toml".to_owned();
    assert_eq!(user.get("claims.lease").await, (json!("9m"), file.clone()));
    assert_eq!(user.get("projects.api.path").await, (json!("/"), file));
    let (rounds, source) = user.get("reviews.max_rounds").await;
    assert!(rounds == 2 && source.ends_with(".countersign/config.toml"), "{rounds} {source}");
    assert_eq!(user.get("git.program").await, (json!("git"), "default.toml".into()));
    let by_variable = user.command(&["config", "list", "claims", "--json"]).var("COUNTERSIGN_CLAIMS_LEASE", "3m");
    let listed = by_variable.json().await;
    let expected =
        json!({ "name": "claims.lease", "value": "3m", "source": "COUNTERSIGN_CLAIMS_LEASE", "is_default": false });
    assert_eq!(listed["settings"], json!([expected]));

    let changed = user.command(&["config", "list", "--changed"]).stdout().await;
    assert!(changed.contains("max_rounds") && !changed.contains("git.program"), "{changed}");
    assert_eq!(user.command(&["config", "get", "claims.lease"]).stdout().await, "9m\n");
    assert_eq!(user.command(&["config", "path"]).stdout().await, format!("{}\n", user.file().display()));
    let paths = user.command(&["config", "path", "--json"]).json().await;
    let layers: Vec<_> =
        paths["files"].as_array().unwrap().iter().map(|file| (&file["layer"], &file["exists"])).collect();
    assert_eq!(layers, [(&json!("user"), &json!(true)), (&json!("project"), &json!(true))]);
    let wrong = user.command(&["config", "get", "claims.leese"]).finish().await;
    assert!(wrong.code == 2 && wrong.err.contains("did you mean claims.lease?"), "{}", wrong.err);
}

#[tokio::test]
async fn a_setting_is_changed_and_comments_stay() {
    let user = User::new();
    let set = async |line: &[&str]| user.command(&[&["config", "set"], line].concat()).finish().await;
    assert_eq!(set(&["claims.lease", "10m"]).await.code, 0);
    assert_eq!(user.text(), "[claims]\nlease = \"10m\"\n", "the file is created");
    user.write("# mine\n[claims]\nlease = \"10m\" # long enough\n");
    assert_eq!(set(&["claims.lease", "15m"]).await.code, 0);
    assert_eq!(set(&["pool.models", "opus, sonnet"]).await.code, 0);
    assert_eq!(set(&["pool.enabled", "true"]).await.code, 0);
    assert_eq!(
        user.text(),
        "# mine\n[claims]\nlease = \"15m\" # long enough\n\n[pool]\nmodels = [\"opus\", \"sonnet\"]\nenabled = true\n"
    );

    let before = user.text();
    for (name, value, why) in [
        ("claims.lease", "soon", "expected a duration"),
        ("claims.leese", "10m", "did you mean claims.lease?"),
        ("server.listen", "0.0.0.0:80", "expected a loopback address"),
        ("claims", "10m", "expected a section"),
        ("a = 1\nb", "x", "not the name of a setting"),
    ] {
        let refused = set(&[name, value]).await;
        assert!(refused.code == 2 && refused.err.contains(why), "{name}: {}{}", refused.out, refused.err);
        assert_eq!(user.text(), before, "nothing is written");
    }

    user.repo.write(".countersign/config.toml", "[reviews]\nmax_rounds = 2\n");
    let hidden = set(&["reviews.max_rounds", "4"]).await;
    assert!(hidden.err.contains("says 2, which takes precedence"), "{}", hidden.err);
    let other = user.home.path().join("other.toml");
    fs::write(&other, "").unwrap();
    assert_eq!(set(&["log.format", "json", "--config", other.to_str().unwrap()]).await.code, 0);
    assert_eq!(fs::read_to_string(&other).unwrap(), "[log]\nformat = \"json\"\n");
}

#[tokio::test]
async fn an_edited_file_is_saved_only_if_it_is_valid() {
    let user = User::new();
    let edit = |text: &str| {
        let editor =
            format!("edit() {{ cp \"$1\" {:?}; printf '{text}' > \"$1\"; }}; edit", user.home.path().join("seen"));
        user.command(&["config", "edit"]).var("EDITOR", &editor)
    };
    let seen = || fs::read_to_string(user.home.path().join("seen")).unwrap();
    let unchanged = user.command(&["config", "edit"]).var("EDITOR", "true").stdout().await;
    assert!(unchanged.contains("nothing changed") && !user.file().exists(), "{unchanged}");
    let wrong = edit("[claims]\\nlease = 3\\n").finish().await;
    assert!(wrong.code == 2 && wrong.err.contains("claims.lease = 3: expected a duration"), "{}", wrong.err);
    assert!(wrong.err.contains("continues it") && !user.file().exists(), "{}", wrong.err);
    let saved = edit("[claims]\\nlease = \"3m\" # short\\n").finish().await;
    assert_eq!(saved.code, 0, "{}", saved.err);
    assert_eq!(
        (seen().as_str(), user.text().as_str()),
        ("[claims]\nlease = 3\n", "[claims]\nlease = \"3m\" # short\n")
    );
    edit("[claims]\\nlease = \"4m\"\\n").stdout().await;
    assert_eq!(seen(), "[claims]\nlease = \"3m\" # short\n", "a text that was saved is not kept");
}

#[tokio::test]
async fn a_check_names_every_problem() {
    let user = User::new();
    user.write("[claims]\nlease = \"9m\"\n");
    let valid = user.command(&["config", "check"]).stdout().await;
    assert!(valid.contains("all settings are valid") && valid.contains("config.toml"), "{valid}");
    user.write("[claims]\nlease = 9\n[nothing]\nkey = 1\n");
    let invalid = user.command(&["config", "check"]).finish().await;
    assert_eq!(invalid.code, 2);
    for part in ["claims.lease = 9", "nothing"] {
        assert!(invalid.err.contains(part), "{}", invalid.err);
    }
    // A wrong file can still be found and corrected.
    user.command(&["config", "path"]).stdout().await;
    user.write("[claims]\nlease = 9\n");
    user.command(&["config", "set", "claims.lease", "9m"]).stdout().await;
    assert_eq!(user.text(), "[claims]\nlease = \"9m\"\n");
}
