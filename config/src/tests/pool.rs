//! The reviewer pool: what is run with the user's rights, so every value is looked at.

use domain::runtime::{Effort, Runtime, Wsl};

use super::*;
use crate::schema::Scope;

/// What is said about `[pool]` with these lines, without the place, which is always the user's file.
#[track_caller]
fn wrong(lines: &str) -> String {
    let error = user_error(&format!("[pool]\n{lines}"));
    let place = "config: ~/.config/countersign/config.toml: ";
    error.strip_prefix(place).unwrap_or_else(|| panic!("{error}")).to_owned()
}

#[test]
fn by_default_there_is_no_pool_and_nothing_is_chosen() {
    let pool = World::new().load().pool;
    assert!(!pool.enabled);
    assert_eq!(pool.runtime, Runtime::Codex);
    assert_eq!((pool.program, pool.model, pool.effort, pool.workspace, pool.prompt), (None, None, None, None, None));
    assert_eq!((pool.max_size, pool.ratio, pool.max_failures), (3, 3, 5));
    assert_eq!(pool.cooldown, Duration::from_secs(10));
}

#[test]
fn a_pool_can_be_set_in_a_file() {
    let world = World::new();
    let prompt = world.write("prompt.md", "You are {{reviewer_id}}.");
    let world = world.user(
        "[pool]\nenabled = true\nruntime = 'claude'\nprogram = '/opt/claude'\nmodel = 'opus'\neffort = 'high'\n\
         workspace = '~'\nenvironment = ['ANTHROPIC_API_KEY']\nprompt = '~/prompt.md'\ncooldown = '10ms'\n\
         wsl_distro = 'Ubuntu-24.04'\nworkspace_wsl_path = '/home/me/my code'",
    );
    let pool = world.load().pool;
    assert_eq!(pool.workspace.as_deref(), Some(world.home.path()));
    assert_eq!(pool.prompt, Some(prompt));
    let settings = pool.runtime_settings();
    assert_eq!((settings.runtime, settings.effort), (Runtime::Claude, Some(Effort::High)));
    assert_eq!(settings.program.as_deref(), Some(Path::new("/opt/claude")));
    assert_eq!(settings.environment, ["ANTHROPIC_API_KEY"]);
    let wsl = Wsl { distro: "Ubuntu-24.04".into(), workspace: "/home/me/my code".into() };
    assert_eq!(settings.wsl, Some(wsl));
}

#[test]
fn a_pool_can_be_set_in_variables() {
    let pool = World::new()
        .variable("COUNTERSIGN_POOL_ENABLED", "true")
        .variable("COUNTERSIGN_POOL_RUNTIME", "command")
        .variable("COUNTERSIGN_POOL_COMMAND", r#"["python3", "a b.py", "x,y", ""]"#)
        .variable("COUNTERSIGN_POOL_MODELS", "own-1, own-2")
        .variable("COUNTERSIGN_POOL_ENVIRONMENT", "['A', 'B']")
        .variable("COUNTERSIGN_POOL_TTL", "20ms")
        .load()
        .pool;
    assert_eq!(pool.runtime_settings().command, ["python3", "a b.py", "x,y", ""]);
    assert_eq!(pool.models, ["own-1", "own-2"]);
    assert_eq!(pool.environment, ["A", "B"]);
    assert_eq!(pool.ttl, Duration::from_millis(20));
    let words = variable_error("COUNTERSIGN_POOL_COMMAND", "python3 review.py");
    assert!(words.contains("expected a list, each item text"), "{words}");
}

#[test]
fn variables_of_a_reviewer_process_are_not_settings() {
    let variables = ["COUNTERSIGN_TOKEN", "COUNTERSIGN_MCP_URL", "COUNTERSIGN_REVIEWER_ID"];
    variables.into_iter().fold(World::new(), |world, name| world.variable(name, "x")).load();
}

#[test]
fn every_bad_value_is_named_with_what_is_allowed() {
    assert_snapshot!(wrong("enabled = 'yes'"), @r#"pool.enabled = "yes": expected true or false"#);
    assert_snapshot!(wrong("runtime = 'gemini'"), @r#"pool.runtime = "gemini": expected one of codex, claude, command"#);
    assert_snapshot!(wrong("program = './codex'"), @r#"pool.program = "./codex": expected the name of a program, or its absolute path, or """#);
    assert_snapshot!(wrong("program = \"co\\u0007dex\""), @r#"pool.program = "co\u{7}dex": expected the name of a program, or its absolute path, or """#);
    assert_snapshot!(wrong("command = 'sh -c true'"), @r#"pool.command = "sh -c true": expected a list, each item text without control characters, at most 4096 bytes"#);
    assert_snapshot!(wrong("runtime = 'command'\ncommand = ['x', \"a\\u0007\"]"), @r#"pool.command = ["x", "a\u{7}"]: expected a list, each item text without control characters, at most 4096 bytes"#);
    assert_snapshot!(wrong("runtime = 'command'\ncommand = ['x', 1]"), @r#"pool.command = ["x", 1]: expected a list, each item text without control characters, at most 4096 bytes"#);
    assert_snapshot!(wrong("model = '--dangerous'"), @r#"pool.model = "--dangerous": expected a model's name of 1 to 100 letters, digits and the characters . _ : / @ -, not beginning with -, or """#);
    assert_snapshot!(wrong("models = ['opus', 'o p']"), @r#"pool.models = ["opus", "o p"]: expected a list, each item a model's name of 1 to 100 letters, digits and the characters . _ : / @ -, not beginning with -"#);
    assert_snapshot!(wrong("models = ['']"), @r#"pool.models = [""]: expected a list, each item a model's name of 1 to 100 letters, digits and the characters . _ : / @ -, not beginning with -"#);
    assert_snapshot!(wrong("effort = 'max'"), @r#"pool.effort = "max": expected one of low, medium, high, or """#);
    assert_snapshot!(wrong("workspace = 'code'"), @r#"pool.workspace = "code": expected an absolute path to an existing folder, or """#);
    assert_snapshot!(wrong("workspace = '/nowhere/at/all'"), @r#"pool.workspace = "/nowhere/at/all": expected an absolute path to an existing folder, or """#);
    assert_snapshot!(wrong("environment = ['A=B']"), @r#"pool.environment = ["A=B"]: expected a list, each item the name of a variable (letters, digits and _), but none that the broker sets or that makes a program load others: COUNTERSIGN_* LD_* DYLD_* PATH BASH_ENV ENV NODE_OPTIONS BUN_OPTIONS WSLENV"#);
    assert_snapshot!(wrong("prompt = '/nowhere/prompt.md'"), @r#"pool.prompt = "/nowhere/prompt.md": expected an absolute path to a readable file, or """#);
    assert_snapshot!(wrong("max_size = 0"), @"pool.max_size = 0: expected a whole number between 1 and 10");
    assert_snapshot!(wrong("max_size = 11"), @"pool.max_size = 11: expected a whole number between 1 and 10");
    assert_snapshot!(wrong("ratio = 101"), @"pool.ratio = 101: expected a whole number between 1 and 100");
    assert_snapshot!(wrong("cooldown = '9ms'"), @r#"pool.cooldown = "9ms": expected a duration such as "10s", between 10ms and 1h"#);
    assert_snapshot!(wrong("idle_after = 5"), @r#"pool.idle_after = 5: expected a duration such as "5m", between 10ms and 24h"#);
    assert_snapshot!(wrong("ttl = '169h'"), @r#"pool.ttl = "169h": expected a duration such as "1h", between 10ms and 168h"#);
    assert_snapshot!(wrong("check_every = 'often'"), @r#"pool.check_every = "often": expected a duration such as "30s", between 10ms and 1h"#);
    assert_snapshot!(wrong("stop_grace = '-1s'"), @r#"pool.stop_grace = "-1s": expected a duration such as "10s", between 10ms and 5m"#);
    assert_snapshot!(wrong("max_failures = 0"), @"pool.max_failures = 0: expected a whole number between 1 and 100");
    assert_snapshot!(wrong("wsl_distro = '-d'"), @r#"pool.wsl_distro = "-d": expected the name of a WSL distribution: letters, digits and the characters . _ -, not beginning with -, or """#);
    assert_snapshot!(wrong("workspace_wsl_path = 'C:\\code'"), @r#"pool.workspace_wsl_path = "C:\\code": expected an absolute path as Linux writes it, such as "/home/me/code", or """#);
    assert_snapshot!(wrong("max_sice = 1"), @"pool.max_sice = 1: unknown setting; did you mean pool.max_size?");
}

#[test]
fn no_reviewer_gets_a_variable_that_the_broker_sets_or_that_loads_code() {
    for name in ["COUNTERSIGN_TOKEN", "LD_PRELOAD", "ld_preload", "DYLD_INSERT_LIBRARIES", "PATH", "BASH_ENV", "WSLENV"]
    {
        let words = wrong(&format!("environment = ['{name}']"));
        assert!(words.contains("but none that the broker sets"), "{words}");
    }
    for name in ["", "1A", "A-B", "A B", "Ä"] {
        assert!(wrong(&format!("environment = ['{name}']")).contains("the name of a variable"), "{name}");
    }
}

#[test]
fn settings_that_contradict_each_other_name_both() {
    assert_snapshot!(wrong("runtime = 'command'"), @r#"pool.runtime = "command": expected pool.command beside it, a list that begins with the name of a program or its absolute path"#);
    assert_snapshot!(wrong("runtime = 'command'\ncommand = ['./review']"), @r#"pool.command = ["./review"]: expected a list that begins with the name of a program or its absolute path"#);
    assert_snapshot!(wrong("command = ['review']"), @r#"pool.command = ["review"]: expected [], since pool.runtime is "codex" (default.toml)"#);
    assert_snapshot!(wrong("runtime = 'command'\ncommand = ['review']\nmodel = 'opus'"), @r#"pool.model = "opus": expected "", since pool.command says it all when pool.runtime is "command" (~/.config/countersign/config.toml)"#);
    assert_snapshot!(wrong("model = 'gpt-1'"), @r#"pool.model = "gpt-1": expected one of pool.models, which is ["gpt-5.5", "gpt-6.1-sol", "opus", "sonnet", "haiku"] (default.toml)"#);
    assert_snapshot!(wrong("models = []\nmodel = 'opus'"), @r#"pool.model = "opus": expected one of pool.models, which is [] (~/.config/countersign/config.toml)"#);
    assert_snapshot!(wrong("wsl_distro = 'Ubuntu'"), @r#"pool.wsl_distro = "Ubuntu": expected pool.workspace_wsl_path beside it: both or neither"#);
    assert_snapshot!(wrong("workspace_wsl_path = '/code'"), @r#"pool.workspace_wsl_path = "/code": expected pool.wsl_distro beside it: both or neither"#);
}

#[test]
fn a_prompt_template_is_checked_when_settings_are_loaded() {
    let error = |text: &str| {
        let world = World::new();
        world.write("prompt.md", text);
        let error = world.user("pool.prompt = '~/prompt.md'").error();
        error[error.find("prompt.md\": ").unwrap()..].to_owned()
    };
    assert_snapshot!(error("Hello\n{{reviewer}}"), @r#"prompt.md": line 2: unknown variable {{reviewer}}; known: reviewer_id, project, claim_minutes, wait_seconds, empty_waits"#);
    assert_snapshot!(error("{{project"), @r#"prompt.md": line 1: "{{" without "}}" on the same line"#);
    assert_snapshot!(error(" \n"), @r#"prompt.md": expected a file with text in it"#);
    assert_snapshot!(error(&"x".repeat(300_000)), @r#"prompt.md": expected a file of at most 256 KiB"#);
    let world = World::new();
    fs::write(world.home.path().join("prompt.md"), b"\xff").unwrap();
    assert!(world.user("pool.prompt = '~/prompt.md'").error().contains("cannot be read"));
}

#[test]
fn a_projects_file_cannot_set_the_pool() {
    let of_pool = |rule: &&crate::schema::Rule| rule.key.starts_with("pool.");
    assert!(RULES.iter().filter(of_pool).all(|rule| rule.scope == Scope::OperatorOnly));
    let words = project_error("pool.enabled = true");
    assert!(words.contains("not allowed in a project's file"), "{words}");
}
