use super::*;
use crate::persona::Mode;

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

#[test]
fn a_program_is_found_as_exec_would_find_it() {
    let is_executable = |file: &Path| ["/first/other", "/second/codex", "./codex"].iter().any(|known| file == *known);
    let find = |settings: &RuntimeSettings| settings.find_program(Some(OsStr::new(".:/first:/second")), is_executable);
    let codex = PathBuf::from("/second/codex");
    assert_eq!(find(&settings(Runtime::Codex)), Ok(codex.clone()));

    let named = |program: &str| RuntimeSettings { program: Some(program.into()), ..settings(Runtime::Claude) };
    assert_eq!(find(&named("other")), Ok("/first/other".into()));
    assert_eq!(find(&named("/second/codex")), Ok(codex));
    let command = vec!["other".to_owned(), "x".to_owned()];
    let command = RuntimeSettings { command, ..settings(Runtime::Command) };
    assert_eq!(find(&command), Ok("/first/other".into()));
}

#[test]
fn an_error_names_the_missing_program_and_the_searched_path() {
    let error = |settings: &RuntimeSettings| {
        settings.find_program(Some(OsStr::new("/nowhere:/no/bin")), |_| false).unwrap_err().to_string()
    };
    assert_eq!(
        error(&settings(Runtime::Claude)),
        r#"no program "claude" in PATH (/nowhere:/no/bin); install it, or set pool.program to its absolute path"#
    );
    assert_eq!(error(&chosen(Runtime::Codex)), "/opt/client is not executable (from pool.program)");
    assert_eq!(error(&settings(Runtime::Command)), r#"pool.runtime = "command" needs a program in pool.command"#);
    let relative = RuntimeSettings { command: vec!["./review".into()], ..settings(Runtime::Command) };
    assert_eq!(error(&relative), "./review is not executable (from pool.command)");
    let wsl = Some(Wsl { distro: "Ubuntu".into(), workspace: "/".into() });
    assert!(error(&RuntimeSettings { wsl, ..settings(Runtime::Codex) }).starts_with("no program \"wsl.exe\" in PATH"));
}

#[test]
fn a_persona_with_another_client_inherits_neither_program_nor_model() {
    let pool = RuntimeSettings { command: vec!["sh".into()], ..chosen(Runtime::Codex) };
    let persona = |runtime, model: Option<&str>| Persona {
        name: "security".into(),
        focus: String::new(),
        prompt: "".into(),
        ignore: Default::default(),
        mode: Mode::OneShot,
        runtime,
        program: None,
        command: Vec::new(),
        model: model.map(Into::into),
        effort: None,
        time_limit: std::time::Duration::from_secs(1),
        max_turns: 1,
        max_tokens: None,
        keep_seat: std::time::Duration::from_secs(1),
        budget_usd: None,
        front_matter: false,
    };
    assert_eq!(pool.for_persona(&persona(None, None)), pool);
    assert_eq!(pool.for_persona(&persona(Some(Runtime::Codex), Some("m-2"))).model.as_deref(), Some("m-2"));
    let other = pool.for_persona(&persona(Some(Runtime::Claude), None));
    assert_eq!(other, RuntimeSettings { effort: Some(Effort::High), ..settings(Runtime::Claude) });
}
