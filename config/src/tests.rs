use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use insta::assert_snapshot;
use tempfile::TempDir;

use super::*;
use crate::schema::RULES;

mod personas;
mod pool;
mod webhooks;

/// A home with nothing in it, and everything a test may put there.
struct World {
    home: TempDir,
    sources: Sources,
}

impl World {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        let path = home.path().to_owned();
        let sources = Sources {
            user_file: Some(path.join(".config/countersign/config.toml")),
            repo: Some(path.join("code/app")),
            data_dir: Some(path.join("share/countersign")),
            working_dir: Some(path.join("code")),
            home: Some(path),
            ..Sources::default()
        };
        Self { home, sources }
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn user(self, text: &str) -> Self {
        self.write(".config/countersign/config.toml", text);
        self
    }

    fn project(self, text: &str) -> Self {
        self.write("code/app/.countersign/config.toml", text);
        self
    }

    fn named(mut self, text: &str) -> Self {
        self.sources.config_file = Some(self.write("named.toml", text));
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.sources.variables.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, name: &'static str, key: &'static str, value: &str) -> Self {
        let value = value.into();
        self.sources.flags.push(Flag { name, key, value });
        self
    }

    fn load(&self) -> Config {
        self.loaded().config
    }

    fn loaded(&self) -> Loaded {
        Config::load(&self.sources).unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(&self) -> String {
        Config::load(&self.sources).unwrap_err().to_string()
    }
}

fn user_error(text: &str) -> String {
    World::new().user(text).error()
}

fn project_error(text: &str) -> String {
    World::new().project(text).error()
}

fn variable_error(name: &str, value: &str) -> String {
    World::new().variable(name, value).error()
}

#[test]
fn without_any_file_the_defaults_hold() {
    let world = World::new();
    let mut expected = Config::default();
    expected.server.data_dir = world.home.path().join("share/countersign").into();
    assert_eq!(world.load(), expected);
    assert_eq!(expected.claims.lease, Duration::from_secs(20 * 60));
    assert_eq!(expected.server.listen.to_string(), "127.0.0.1:8321");
}

#[test]
fn every_setting_has_a_default_a_rule_and_a_line_of_why() {
    let lines: Vec<_> = include_str!("../default.toml").lines().collect();
    let mut section = "";
    let mut found = BTreeSet::new();
    for (i, line) in lines.iter().enumerate() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            assert!(lines[i - 1].starts_with("# "), "{section}.{key} has no comment");
            found.insert(format!("{section}.{key}"));
        }
    }
    let ruled = RULES.iter().map(|rule| rule.key.to_owned());
    let ruled: BTreeSet<_> = ruled.filter(|key| !key.contains('*')).collect();
    assert_eq!(found, ruled);
}

#[test]
fn the_example_of_a_project_in_the_defaults_is_a_project() {
    let text = include_str!("../default.toml");
    let example = &text[text.find("# [projects.example]").unwrap()..];
    let example: Vec<_> = example.lines().map(|line| &line[2..]).collect();
    let world = World::new().user(&example.join("\n"));
    let project = &world.load().projects["example"];
    assert_eq!(project.path, world.home.path().join("code/example"));
    assert!(!project.trusted);
}

#[test]
fn every_default_is_within_its_own_bounds() {
    let world = World::new().named(DEFAULTS);
    world.load();
}

#[test]
fn the_defaults_name_every_kind_of_flag() {
    for kind in FlagKind::ALL {
        assert!(DEFAULTS.contains(kind.as_str()), "{kind}");
    }
}

#[test]
fn each_layer_wins_over_the_one_below() {
    let at = |world: &World| (world.load().claims.lease, world.loaded().origin("claims.lease").to_string());
    let minutes = |n: u64| Duration::from_secs(n * 60);

    let world = World::new();
    assert_eq!(at(&world), (minutes(20), "default.toml".into()));
    let world = world.user("[claims]\nlease = '1m'");
    assert_eq!(at(&world), (minutes(1), "~/.config/countersign/config.toml".into()));
    let world = world.project("claims.lease = '2m'");
    assert_eq!(at(&world), (minutes(2), "~/code/app/.countersign/config.toml".into()));
    let world = world.named("claims = { lease = '3m' }");
    assert_eq!(at(&world), (minutes(3), "~/named.toml".into()));
    let world = world.variable("COUNTERSIGN_CLAIMS_LEASE", "4m");
    assert_eq!(at(&world), (minutes(4), "COUNTERSIGN_CLAIMS_LEASE".into()));
    let world = world.flag("--lease", "claims.lease", "1h 30m");
    assert_eq!(at(&world), (minutes(90), "--lease".into()));
}

#[test]
fn variables_carry_every_kind_of_value() {
    let config = World::new()
        .variable("COUNTERSIGN_SERVER_LISTEN", "[::1]:0")
        .variable("COUNTERSIGN_SERVER_MAX_CONNECTIONS", "7")
        .variable("COUNTERSIGN_LIMITS_DIFF_BYTES", "2048")
        .variable("COUNTERSIGN_LOG_FORMAT", "json")
        .variable("COUNTERSIGN_GIT_REFUSE", "symlink, gitlink")
        .variable("COUNTERSIGN_SKIP_CLIENTS", "1")
        .variable("COUNTERSIGN_NAME", "ada")
        .variable("COUNTERSIGN_TOKEN", "cs_x")
        .variable("COUNTERSIGN_MCP_URL", "http://127.0.0.1:1/mcp")
        .variable("COUNTERSIGN_REVIEWER_ID", "codex-r1")
        .variable("COUNTERSIGN_TEST_CRASHES", "1")
        .variable("PATH", "/bin")
        .load();
    assert_eq!(config.server.listen.to_string(), "[::1]:0");
    assert_eq!(config.server.max_connections, 7);
    assert_eq!(config.limits.diff_bytes, 2048);
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.git.refuse, [FlagKind::Symlink, FlagKind::Gitlink]);
}

#[test]
fn an_unknown_variable_is_refused_with_near_names() {
    assert_snapshot!(variable_error("COUNTERSIGN_CLAIM_LEASE", "10m"), @"config: COUNTERSIGN_CLAIM_LEASE: is not a setting; did you mean COUNTERSIGN_CLAIMS_LEASE?");
    assert_snapshot!(variable_error("COUNTERSIGN_WAIT_MIN", "10m"), @"config: COUNTERSIGN_WAIT_MIN: is not a setting; did you mean COUNTERSIGN_WAIT_MAX?");
    assert_snapshot!(variable_error("COUNTERSIGN_QUITE_ELSE", "10m"), @"config: COUNTERSIGN_QUITE_ELSE: is not a setting; config/default.toml lists all");
    assert_snapshot!(variable_error("COUNTERSIGN_PROJECTS_APP_PATH", "/x"), @"config: COUNTERSIGN_PROJECTS_APP_PATH: projects cannot be set in variables; use [projects.NAME] in a file");
}

#[test]
fn a_bad_value_is_answered_with_place_key_value_and_what_is_allowed() {
    assert_snapshot!(user_error("claims.lease = 'soon'"), @r#"config: ~/.config/countersign/config.toml: claims.lease = "soon": expected a duration such as "20m", between 1s and 24h"#);
    assert_snapshot!(user_error("claims.lease = '25h'"), @r#"config: ~/.config/countersign/config.toml: claims.lease = "25h": expected a duration such as "20m", between 1s and 24h"#);
    assert_snapshot!(user_error("claims.lease = 20"), @r#"config: ~/.config/countersign/config.toml: claims.lease = 20: expected a duration such as "20m", between 1s and 24h"#);
    assert_snapshot!(user_error("wait.max = '-5s'"), @r#"config: ~/.config/countersign/config.toml: wait.max = "-5s": expected a duration such as "50s", between 100ms and 50s"#);
    assert_snapshot!(user_error("server.max_connections = 0"), @"config: ~/.config/countersign/config.toml: server.max_connections = 0: expected a whole number between 1 and 65536");
    assert_snapshot!(user_error("server.max_connections = 'many'"), @r#"config: ~/.config/countersign/config.toml: server.max_connections = "many": expected a whole number between 1 and 65536"#);
    assert_snapshot!(user_error("server.listen = 'here'"), @r#"config: ~/.config/countersign/config.toml: server.listen = "here": expected an address and a port such as "127.0.0.1:8321""#);
    assert_snapshot!(user_error("server.data_dir = 'data'"), @r#"config: ~/.config/countersign/config.toml: server.data_dir = "data": expected an absolute path to a folder, or one that begins with "~/", without control characters"#);
    assert_snapshot!(user_error("log.format = 'xml'"), @r#"config: ~/.config/countersign/config.toml: log.format = "xml": expected one of text, json"#);
    assert_snapshot!(user_error("log.filter = 'countersign=loud'"), @r#"config: ~/.config/countersign/config.toml: log.filter = "countersign=loud": expected a log filter such as "info,rmcp=error,ractor=warn" or "warn,countersign=debug""#);
    assert_snapshot!(user_error("git.program = './git'"), @r#"config: ~/.config/countersign/config.toml: git.program = "./git": expected the name of a program such as "git", or its absolute path"#);
    assert_snapshot!(user_error("git.refuse = ['symlink', 'tabs']"), @r#"config: ~/.config/countersign/config.toml: git.refuse = ["symlink", "tabs"]: expected a list of any of symlink, gitlink, mode_change, executable, agent_config, ci_config, git_config, build_config, control_characters, bidi_characters, mixed_scripts, text_outside_hunks"#);
    assert_snapshot!(user_error("git.refuse = 'symlink'"), @r#"config: ~/.config/countersign/config.toml: git.refuse = "symlink": expected a list of any of symlink, gitlink, mode_change, executable, agent_config, ci_config, git_config, build_config, control_characters, bidi_characters, mixed_scripts, text_outside_hunks"#);
    assert_snapshot!(user_error("projects.app = { path = '/x', trusted = 'yes' }"), @r#"config: ~/.config/countersign/config.toml: projects.app.trusted = "yes": expected true or false"#);
    assert_snapshot!(user_error("projects.app.trusted = true"), @"config: ~/.config/countersign/config.toml: projects.app.trusted = true: expected path as well: a project needs one");
    assert_snapshot!(user_error("projects.'my app'.path = '/x'"), @r#"config: ~/.config/countersign/config.toml: projects."my app".path = "/x": expected a project name of 1 to 64 letters, digits and the characters . _ -"#);
    assert_snapshot!(variable_error("COUNTERSIGN_STORE_READERS", "four"), @r#"config: COUNTERSIGN_STORE_READERS: store.readers = "four": expected a whole number between 1 and 64"#);
}

#[test]
fn an_unknown_setting_is_refused_with_near_names() {
    assert_snapshot!(user_error("claims.leese = '10m'"), @r#"config: ~/.config/countersign/config.toml: claims.leese = "10m": unknown setting; did you mean claims.lease?"#);
    assert_snapshot!(user_error("[claim]\nlease = '10m'"), @r#"config: ~/.config/countersign/config.toml: claim.lease = "10m": unknown setting; did you mean claims.lease?"#);
    assert_snapshot!(user_error("[weather]"), @"config: ~/.config/countersign/config.toml: weather = { … }: unknown setting; config/default.toml lists all");
    assert_snapshot!(user_error("claims = 5"), @"config: ~/.config/countersign/config.toml: claims = 5: expected a section [claims]");
    assert_snapshot!(user_error("projects = 5"), @"config: ~/.config/countersign/config.toml: projects = 5: expected sections [projects.NAME]");
    assert_snapshot!(user_error("[projects.app]"), @"config: ~/.config/countersign/config.toml: projects.app = { … }: expected a section [projects.app] with path and, if you like, trusted");
    assert_snapshot!(user_error("projects.app.pth = '/x'"), @r#"config: ~/.config/countersign/config.toml: projects.app.pth = "/x": unknown setting; did you mean projects.NAME.path?"#);
}

#[test]
fn settings_that_contradict_each_other_name_both() {
    assert_snapshot!(user_error("wait.max = '10s'"), @r#"config: ~/.config/countersign/config.toml: wait.max = "10s": expected at least wait.default, which is "25s" (default.toml)"#);
    assert_snapshot!(user_error("limits.page_items = 201"), @"config: ~/.config/countersign/config.toml: limits.page_items = 201: expected at most limits.max_page_items, which is 200 (default.toml)");
}

#[test]
fn an_address_that_others_reach_needs_tokens() {
    assert_snapshot!(user_error("server.listen = '0.0.0.0:8321'"), @r#"config: ~/.config/countersign/config.toml: server.listen = "0.0.0.0:8321": expected a loopback address, since auth.required is false (default.toml) and any process that reaches the port could act as any agent; set auth.required = true to listen elsewhere"#);
    assert_snapshot!(World::new().user("auth.required = false").flag("--listen", "server.listen", "192.168.0.9:80").error(), @r#"config: --listen: server.listen = "192.168.0.9:80": expected a loopback address, since auth.required is false (~/.config/countersign/config.toml) and any process that reaches the port could act as any agent; set auth.required = true to listen elsewhere"#);
    let world = World::new()
        .user("server.listen = '0.0.0.0:8321'\nauth.required = true\nserver.hosts = ['broker.lan', 'fd00::1']");
    let config = world.load();
    assert_eq!((config.server.listen.to_string().as_str(), config.auth.required), ("0.0.0.0:8321", true));
    assert_eq!(config.server.hosts, ["broker.lan", "fd00::1"]);
    let world =
        World::new().variable("COUNTERSIGN_AUTH_REQUIRED", "true").variable("COUNTERSIGN_SERVER_HOSTS", "a.lan, b.lan");
    assert_eq!((world.load().auth.required, world.load().server.hosts), (true, vec!["a.lan".into(), "b.lan".into()]));
    assert_snapshot!(user_error("server.hosts = ['broker.lan:80']"), @r#"config: ~/.config/countersign/config.toml: server.hosts = ["broker.lan:80"]: expected a list of host names or addresses without a port, such as ["review.example"]"#);
    assert!(project_error("auth.required = true").contains("not allowed in a project's file"));
    assert!(project_error("server.hosts = ['evil.example']").contains("not allowed in a project's file"));
}

#[test]
fn all_problems_are_reported_at_once() {
    let world = World::new()
        .user("claims.lease = 'soon'\nserver.listen = 'here'")
        .project("git.program = '/tmp/evil'")
        .variable("COUNTERSIGN_STORE_READERS", "0");
    assert_snapshot!(world.error(), @r#"
    config: ~/.config/countersign/config.toml: claims.lease = "soon": expected a duration such as "20m", between 1s and 24h
    config: ~/.config/countersign/config.toml: server.listen = "here": expected an address and a port such as "127.0.0.1:8321"
    config: ~/code/app/.countersign/config.toml: git.program = "/tmp/evil": not allowed in a project's file, which an agent may have written; it may stand in ~/.config/countersign/config.toml or COUNTERSIGN_GIT_PROGRAM or a file given by --config
    config: COUNTERSIGN_STORE_READERS: store.readers = 0: expected a whole number between 1 and 64
    "#);
}

#[test]
fn a_broken_file_is_named_with_line_and_column() {
    assert_snapshot!(user_error("[claims]\nlease = = 1"), @"config: ~/.config/countersign/config.toml: line 2, column 9: extra `=`, expected nothing");
    let mut world = World::new();
    world.sources.config_file = Some(world.home.path().join("absent.toml"));
    assert_snapshot!(world.error(), @"config: ~/absent.toml: file not found (given by --config)");
    assert!(user_error(&"#".repeat(2 << 20)).contains("larger than 1 MiB"));
}

#[test]
fn nothing_in_a_message_acts_on_the_terminal() {
    let error = user_error("'\\u001b[31m' = '''a\nb\u{202e}'''\nserver.data_dir = \"/x\\u0007\"");
    assert!(error.lines().all(|line| !line.contains(domain::text::is_hidden)), "{error}");
    assert_eq!(error.lines().count(), 2, "{error}");
}

#[test]
fn a_projects_file_may_not_open_up_or_run_anything() {
    assert_snapshot!(project_error("server.listen = '127.0.0.1:9'"), @r#"config: ~/code/app/.countersign/config.toml: server.listen = "127.0.0.1:9": not allowed in a project's file, which an agent may have written; it may stand in ~/.config/countersign/config.toml or COUNTERSIGN_SERVER_LISTEN or a file given by --config"#);
    assert_snapshot!(project_error("projects.app.trusted = true"), @"config: ~/code/app/.countersign/config.toml: projects.app.trusted = true: not allowed in a project's file, which an agent may have written; it may stand in ~/.config/countersign/config.toml or a file given by --config");
    for setting in
        ["server.data_dir = '/tmp/x'", "git.program = '/tmp/evil'", "log.filter = 'off'", "projects.app.path = '/'"]
    {
        let error = project_error(setting);
        assert!(error.contains("not allowed in a project's file"), "{error}");
    }
}

#[test]
fn a_projects_file_may_tighten_but_not_loosen() {
    let world =
        World::new().user("git.refuse = ['symlink']").project("git.refuse = ['gitlink']\nreviews.max_rounds = 2");
    assert_eq!(world.load().git.refuse, [FlagKind::Symlink, FlagKind::Gitlink]);
    assert_eq!(world.load().reviews.max_rounds, 2);

    assert_snapshot!(project_error("reviews.max_rounds = 4"), @"config: ~/code/app/.countersign/config.toml: reviews.max_rounds = 4: a project's file may only lower it; it is 3 (default.toml)");
    assert_snapshot!(project_error("git.time_limit = '31s'"), @r#"config: ~/code/app/.countersign/config.toml: git.time_limit = "31s": a project's file may only lower it; it is "30s" (default.toml)"#);
    let emptied = World::new().user("git.refuse = ['symlink']").project("git.refuse = []");
    assert_eq!(emptied.load().git.refuse, [FlagKind::Symlink]);
}

#[cfg(unix)]
#[test]
fn a_projects_file_that_is_a_link_out_of_the_repository_is_not_read() {
    let world = World::new();
    let secret = world.write("secret", "password");
    world.write("code/app/.countersign/other", "");
    let link = world.home.path().join("code/app/.countersign/config.toml");
    for target in [secret.as_path(), Path::new("/nowhere")] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        let error = world.error();
        assert!(error.ends_with("config.toml: is a link that leads out of the repository"), "{error}");
        fs::remove_file(&link).unwrap();
    }
    fs::create_dir(&link).unwrap();
    assert!(world.error().ends_with("is not a plain file"));
}

#[test]
fn paths_are_absolute_once_loaded() {
    let world = World::new().user("server.data_dir = '~/elsewhere'\nprojects.a.path = '/srv/a'");
    let home = world.home.path().to_owned();
    assert_eq!(*world.load().server.data_dir, home.join("elsewhere"));
    assert_eq!(world.load().projects["a"].path, Path::new("/srv/a"));
    let world = world.flag("--data-dir", "server.data_dir", "here");
    assert_eq!(*world.load().server.data_dir, home.join("code/here"));
    let world = world.flag("--listen", "server.listen", "localhost:0");
    assert_eq!(world.load().server.listen.to_string(), "127.0.0.1:0");
}

#[test]
fn without_a_home_the_data_folder_must_be_named() {
    let mut world = World::new();
    world.sources.data_dir = None;
    assert_snapshot!(world.error(), @r#"config: default.toml: server.data_dir = "": expected a folder, since the user's data folder is not known (is HOME set?)"#);
}

#[test]
fn the_process_has_a_users_file_and_a_data_folder_of_ours() {
    let sources = Sources::from_process();
    let user_file = sources.user_file.unwrap();
    assert!(user_file.ends_with("countersign/config.toml"), "{user_file:?}");
    assert!(sources.data_dir.unwrap().ends_with("countersign"));
}
