use std::path::PathBuf;

use super::*;

const SECRET: &str = "s3cret";

fn settings(runtime: Runtime) -> RuntimeSettings {
    RuntimeSettings {
        runtime,
        program: None,
        command: Vec::new(),
        model: None,
        effort: None,
        environment: Vec::new(),
        wsl: None,
    }
}

fn chosen(runtime: Runtime) -> RuntimeSettings {
    let program = Some(PathBuf::from("/opt/client"));
    RuntimeSettings { program, model: Some("m-1".into()), effort: Some(Effort::High), ..settings(runtime) }
}

fn with_env(settings: &RuntimeSettings, own_env: &[(&str, &str)]) -> ProcessSpec {
    let mode = RunMode::Agent { token: SECRET, mcp_url: "http://127.0.0.1:8321/mcp/reviewer" };
    process_spec(settings, mode, own_env)
}

fn process_spec(settings: &RuntimeSettings, mode: RunMode<'_>, own_env: &[(&str, &str)]) -> ProcessSpec {
    let workspace = Path::new("/code/my app");
    let launch = Launch { reviewer_id: "codex-r1-a7f3", program: None, workspace, mode, prompt: String::new() };
    let look_up = |name: &str| Some(own_env.iter().find(|(own, _)| *own == name)?.1.to_owned());
    launch.process_spec(settings, look_up)
}

fn argv(settings: &RuntimeSettings) -> Vec<String> {
    with_env(settings, &[]).argv
}

fn value<'a>(spec: &'a ProcessSpec, name: &str) -> Option<&'a str> {
    let mut found = spec.env.iter().filter(|(own, _)| own == name);
    let value = found.next().map(|(_, value)| value.as_str());
    assert_eq!(found.next(), None, "{name} twice");
    value
}

#[test]
fn codex_is_read_only_and_is_configured_by_arguments_alone() {
    let common = [
        ("-c", r#"shell_environment_policy.inherit="core""#),
        ("-c", r#"web_search="disabled""#),
        ("-c", r#"mcp_servers.countersign.url="http://127.0.0.1:8321/mcp/reviewer""#),
        ("-c", r#"mcp_servers.countersign.bearer_token_env_var="COUNTERSIGN_TOKEN""#),
        ("-c", "mcp_servers.countersign.required=true"),
        ("-c", "mcp_servers.countersign.startup_timeout_sec=30"),
        ("-c", "mcp_servers.countersign.tool_timeout_sec=120"),
    ];
    let common: Vec<_> = common.iter().flat_map(|(option, value)| [*option, *value]).chain(["-"]).collect();
    let start = ["exec", "--sandbox", "read-only", "-C", "/code/my app"];
    let start = [&start[..], &["--json", "--skip-git-repo-check", "--ephemeral"]].concat();
    assert_eq!(argv(&settings(Runtime::Codex)), [&["codex"], &start[..], &common[..]].concat());
    let choice = ["-m", "m-1", "-c", r#"model_reasoning_effort="high""#];
    assert_eq!(argv(&chosen(Runtime::Codex)), [&["/opt/client"], &start[..], &choice[..], &common[..]].concat());
}

#[test]
fn claude_code_is_read_only_and_is_configured_by_arguments_alone() {
    let servers = r#"{"mcpServers":{"countersign":{"headers":{"Authorization":"Bearer ${COUNTERSIGN_TOKEN}"},"type":"http","url":"http://127.0.0.1:8321/mcp/reviewer"}}}"#;
    let common = [
        "-p",
        "--mcp-config",
        servers,
        "--strict-mcp-config",
        "--restricted",
        "--tools",
        "Read,Grep,Glob",
        "--allowedTools",
        "mcp__countersign__*,Read,Grep,Glob",
        "--output-format",
        "stream-json",
        "--verbose",
        "--no-session-persistence",
    ];
    assert_eq!(argv(&settings(Runtime::Claude)), [&["claude"], &common[..]].concat());
    let choice = ["--model", "m-1", "--effort", "high"];
    assert_eq!(argv(&chosen(Runtime::Claude)), [&["/opt/client"], &common[..], &choice[..]].concat());
}

#[test]
fn a_command_is_run_unchanged() {
    let command = vec!["/opt/review it".into(), "--for=$HOME; rm -rf /".into(), String::new()];
    let settings = RuntimeSettings { command: command.clone(), ..settings(Runtime::Command) };
    assert_eq!(argv(&settings), command);
}

#[test]
fn the_token_is_only_in_the_environment() {
    for runtime in [Runtime::Codex, Runtime::Claude, Runtime::Command] {
        let spec = with_env(&chosen(runtime), &[("COUNTERSIGN_TOKEN", "the broker's own")]);
        assert_eq!(value(&spec, TOKEN_VARIABLE), Some(SECRET));
        assert_eq!(value(&spec, MCP_URL_VARIABLE), Some("http://127.0.0.1:8321/mcp/reviewer"));
        assert_eq!(value(&spec, REVIEWER_ID_VARIABLE), Some("codex-r1-a7f3"));
        assert!(!spec.argv.iter().any(|argument| argument.contains(SECRET)), "{runtime}");
        assert!(!format!("{spec:?}").contains(SECRET), "{runtime}");
    }
}

#[test]
fn the_environment_is_an_allow_list() {
    let own = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/ada"),
        ("CODEX_HOME", "/home/ada/codex"),
        ("CLAUDE_CONFIG_DIR", "/home/ada/claude"),
        ("OPENAI_API_KEY", "sk-1"),
        ("AWS_SECRET_ACCESS_KEY", "no"),
        ("HTTPS_PROXY", "http://ada:password@proxy"),
        ("LD_PRELOAD", "/tmp/evil.so"),
    ];
    let names = |settings: &RuntimeSettings| -> Vec<String> {
        let own_variables = [TOKEN_VARIABLE, MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE];
        let names = with_env(settings, &own).env.into_iter().map(|(name, _)| name);
        names.filter(|name| !own_variables.contains(&name.as_str())).collect()
    };
    assert_eq!(names(&settings(Runtime::Command)), ["HOME", "PATH"]);
    assert_eq!(names(&settings(Runtime::Codex)), ["CODEX_HOME", "HOME", "PATH"]);
    assert_eq!(names(&settings(Runtime::Claude)), ["CLAUDE_CONFIG_DIR", "DISABLE_AUTOUPDATER", "HOME", "PATH"]);
    let environment = vec!["OPENAI_API_KEY".to_owned(), "NOT_SET".to_owned()];
    let asking = RuntimeSettings { environment, ..settings(Runtime::Codex) };
    assert_eq!(names(&asking), ["CODEX_HOME", "HOME", "OPENAI_API_KEY", "PATH"]);
}

#[test]
fn relative_entries_of_path_are_removed() {
    let path = |given: &str| {
        let spec = with_env(&settings(Runtime::Codex), &[("PATH", given)]);
        value(&spec, "PATH").map(str::to_owned)
    };
    assert_eq!(path("/usr/bin:.::node_modules/.bin:/bin").as_deref(), Some("/usr/bin:/bin"));
    assert_eq!(path(".:"), None);
}

#[test]
fn a_client_in_wsl_runs_without_a_shell_and_gets_its_variables() {
    let wsl = Wsl { distro: "Ubuntu-24.04".into(), workspace: "/home/ada/my app".into() };
    let environment = vec!["OPENAI_API_KEY".to_owned(), "NOT_SET".to_owned()];
    let inside = RuntimeSettings { wsl: Some(wsl), environment, ..settings(Runtime::Codex) };
    let own = [("Path", "x"), ("PATH", r"C:\Windows;C:\bin"), ("SystemRoot", r"C:\Windows"), ("OPENAI_API_KEY", "sk")];
    let spec = with_env(&inside, &own);
    let start = ["wsl.exe", "--distribution", "Ubuntu-24.04", "--cd", "/home/ada/my app", "--exec", "codex", "exec"];
    assert_eq!(spec.argv[..8], start);
    let workspace = spec.argv.iter().position(|argument| argument == "-C").unwrap();
    assert_eq!(spec.argv[workspace + 1], "/home/ada/my app");
    let crossing = "COUNTERSIGN_MCP_URL/u:COUNTERSIGN_REVIEWER_ID/u:COUNTERSIGN_TOKEN/u:OPENAI_API_KEY/u";
    assert_eq!(value(&spec, "WSLENV"), Some(crossing));
    assert_eq!(value(&spec, "PATH"), Some(r"C:\Windows;C:\bin"));
    assert_eq!(value(&spec, "SystemRoot"), Some(r"C:\Windows"));
}

#[test]
fn a_one_shot_run_is_read_only_and_does_not_know_the_broker() {
    let once = |settings: &RuntimeSettings, budget_usd| {
        let mode = RunMode::OneShot { schema: "{}", schema_file: Path::new("/work/answer.json"), budget_usd };
        process_spec(settings, mode, &[])
    };
    let codex = once(&settings(Runtime::Codex), Some(0.5));
    assert_eq!(codex.argv[1..5], ["exec", "--sandbox", "read-only", "-C"]);
    assert_eq!(codex.argv[6..9], ["--json", "--skip-git-repo-check", "--ephemeral"]);
    assert_eq!(codex.argv[codex.argv.len() - 3..], ["--output-schema", "/work/answer.json", "-"]);

    let claude = once(&chosen(Runtime::Claude), Some(0.5)).argv.join(" ");
    assert_eq!(
        claude,
        "/opt/client -p --strict-mcp-config --restricted --tools Read,Grep,Glob --allowedTools Read,Grep,Glob \
         --output-format stream-json --verbose --no-session-persistence --json-schema {} --max-budget-usd 0.5 \
         --model m-1 --effort high"
    );
    assert!(!once(&chosen(Runtime::Claude), None).argv.join(" ").contains("budget"));

    for runtime in [Runtime::Codex, Runtime::Claude, Runtime::Command] {
        let spec = once(&settings(runtime), None);
        assert!(!spec.argv.join(" ").contains("mcp_servers"), "{runtime}");
        assert_eq!((value(&spec, TOKEN_VARIABLE), value(&spec, MCP_URL_VARIABLE)), (None, None), "{runtime}");
        assert_eq!(value(&spec, REVIEWER_ID_VARIABLE), Some("codex-r1-a7f3"), "{runtime}: needed to find its orphans");
    }
}

#[test]
fn a_dedicated_reviewer_begins_and_continues_its_own_session() {
    let turn = |settings: &RuntimeSettings, id, resumes| {
        let session = SessionLaunch { home: Path::new("/sessions/tests-R-1"), id, resumes, turn: 2 };
        let mode =
            RunMode::Dedicated { token: SECRET, mcp_url: "http://127.0.0.1:1/mcp", session, budget_usd: Some(0.5) };
        process_spec(settings, mode, &[("CODEX_HOME", "/home/ada/codex"), ("CLAUDE_CONFIG_DIR", "/home/ada/claude")])
    };
    let codex = turn(&chosen(Runtime::Codex), None, false);
    let begins =
        ["exec", "--sandbox", "read-only", "-C", "/code/my app", "--json", "--skip-git-repo-check", "-m", "m-1"];
    assert_eq!(codex.argv[1..10], begins);
    assert_eq!(value(&codex, "CODEX_HOME"), Some("/sessions/tests-R-1"));
    let codex = turn(&chosen(Runtime::Codex), Some("t-1"), true);
    let resumes = ["exec", "--sandbox", "read-only", "-C", "/code/my app", "resume", "--json"];
    assert_eq!(codex.argv[1..8], resumes, "resume refuses --sandbox and -C");
    assert_eq!(codex.argv[codex.argv.len() - 2..], ["t-1", "-"]);
    assert!(
        codex.argv.iter().any(|argument| argument.starts_with("mcp_servers.countersign.url")),
        "nothing is inherited"
    );

    let claude = |resumes| turn(&settings(Runtime::Claude), Some("s-1"), resumes);
    assert!(claude(false).argv.join(" ").contains("--verbose --session-id s-1 --max-budget-usd 0.5"));
    let resumed = claude(true);
    assert!(
        resumed.argv.join(" ").contains("--verbose --resume s-1 ") && resumed.argv.join(" ").contains("--mcp-config")
    );
    assert_eq!(value(&resumed, "CLAUDE_CONFIG_DIR"), Some("/sessions/tests-R-1"));

    let command = turn(&settings(Runtime::Command), Some("s-1"), true);
    let given = [SESSION_ID_VARIABLE, SESSION_DIR_VARIABLE, TURN_VARIABLE, TOKEN_VARIABLE];
    let expected = ["s-1", "/sessions/tests-R-1", "2", SECRET].map(Some);
    assert_eq!(given.map(|name| value(&command, name)), expected);
}
