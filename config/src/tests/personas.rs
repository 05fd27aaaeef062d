//! Personas and panels: settings, prompts, and what a project may change.

use domain::persona::{Mode, Persona};
use domain::review::Category;
use domain::runtime::{Effort, Runtime};

use super::*;
use crate::schema::PERSONA_RULES;

const USER: &str = ".config/countersign/personas";
const PROJECT: &str = "code/app/.countersign/personas";

impl World {
    fn user_persona(self, name: &str, text: &str) -> Self {
        self.write(&format!("{USER}/{name}"), text);
        self
    }

    fn project_persona(self, name: &str, text: &str) -> Self {
        self.write(&format!("{PROJECT}/{name}"), text);
        self
    }

    fn persona(&self, name: &str) -> Arc<Persona> {
        Arc::clone(&self.load().personas[name])
    }
}

/// What is said about the user's `security.toml` with these lines, without the place.
#[track_caller]
fn wrong(lines: &str) -> String {
    let error = World::new().user_persona("security.toml", lines).error();
    error.replace("config: ~/.config/countersign/personas/security.toml: ", "")
}

#[track_caller]
fn wrong_in_project(lines: &str) -> String {
    let error = World::new().project_persona("security.toml", lines).error();
    error.replace("config: ~/code/app/.countersign/personas/security.toml: ", "")
}

#[test]
fn the_built_in_personas_choose_no_model() {
    let personas = World::new().load().personas;
    let names: Vec<_> = personas.keys().map(String::as_str).collect();
    assert_eq!(names, ["architecture", "general", "performance", "security", "tests"]);
    for persona in personas.values() {
        assert_eq!((persona.mode, persona.runtime, &persona.model, persona.effort), (Mode::Agent, None, &None, None));
        assert_eq!((persona.time_limit, persona.budget_usd), (Duration::from_secs(15 * 60), None));
        assert!(!persona.front_matter && !persona.focus.is_empty());
        for said in
            ["## Look for", "## Leave alone", "never\ninstructions", "code_snippet", "`critical`", "Approve when"]
        {
            assert!(persona.prompt.contains(said), "{}: {said}", persona.name);
        }
        assert!(persona.prompt.lines().count() <= 60, "{}", persona.name);
        assert!(persona.prompt.lines().all(|line| line.chars().count() <= 120), "{}", persona.name);
    }
    assert_eq!(personas, Config::default().personas);
}

#[test]
fn every_setting_of_a_persona_has_a_default_or_an_example_and_a_bound() {
    let text = include_str!("../../persona.toml");
    let found: BTreeSet<_> = text
        .lines()
        .filter_map(|line| line.trim_start_matches("# ").split_once(" = "))
        .map(|(key, _)| key)
        .filter(|key| !key.contains(' '))
        .collect();
    assert_eq!(found, PERSONA_RULES.iter().map(|rule| rule.key).collect());
}

#[test]
fn a_user_changes_what_is_built_in_setting_by_setting() {
    let world = World::new().user_persona(
        "security.toml",
        "mode = 'one_shot'\nruntime = 'claude'\nmodel = 'opus'\neffort = 'high'\nbudget_usd = 2\ntime_limit = '30m'\n\
         front_matter = true\nignore = ['vendor/']",
    );
    let (security, built_in) = (world.persona("security"), Arc::clone(&Config::default().personas["security"]));
    assert_eq!((&security.focus, &security.prompt), (&built_in.focus, &built_in.prompt));
    assert_eq!((security.mode, security.runtime), (Mode::OneShot, Some(Runtime::Claude)));
    assert_eq!((security.model.as_deref(), security.effort), (Some("opus"), Some(Effort::High)));
    assert_eq!((security.budget_usd, security.time_limit), (Some(2.0), Duration::from_secs(30 * 60)));
    assert_eq!((&*security.ignore, security.front_matter), (&["vendor/".to_owned()][..], true));
    assert_eq!(world.persona("tests"), Config::default().personas["tests"], "the others stay");
}

#[test]
fn a_user_adds_a_persona_with_a_prompt_of_its_own() {
    let world = World::new()
        .user_persona("a11y.toml", "focus = 'Can everybody use it?'\nprompt = 'a11y.md'")
        .user_persona("a11y.md", "Look at labels.\n")
        .user_persona("notes.txt", "not a persona")
        .user_persona(".#a11y.toml", "an editor's");
    let persona = world.persona("a11y");
    assert_eq!((persona.name.as_str(), persona.mode), ("a11y", Mode::Agent));
    assert!(persona.prompt.starts_with("Look at labels.\n\n## What counts"), "{}", persona.prompt);
    assert_eq!(world.loaded().personas["a11y"]["prompt"].to_string(), "~/.config/countersign/personas/a11y.toml");
    assert!(world.loaded().personas["a11y"]["mode"].is_default());
}

#[test]
fn a_project_tunes_and_tightens() {
    let world = World::new()
        .user_persona("security.toml", "mode = 'one_shot'\nruntime = 'claude'\ntime_limit = '10m'\nbudget_usd = 5.0")
        .project_persona(
            "security.toml",
            "focus = 'Keys'\nprompt = 'ours.md'\nignore = ['fixtures/']\ntime_limit = '5m'\nbudget_usd = 0.5",
        )
        .project_persona("ours.md", "Keys live in vault/.")
        .project_persona("domain.toml", "focus = 'Our field'\nprompt = 'ours.md'\nbudget_usd = 1000");
    let (security, below) = (world.persona("security"), Arc::clone(&Config::default().personas["security"]));
    assert_eq!((security.focus.as_str(), security.budget_usd), ("Keys", Some(0.5)));
    assert_eq!(security.time_limit, Duration::from_secs(300));
    assert_eq!(&*security.ignore, ["*.snap", "*.svg", "fixtures/"], "added, not replaced");
    let (own, rest) = security.prompt.split_once("\n\n## Of this project\n\nKeys live in vault/.\n\n").unwrap();
    assert!(below.prompt.starts_with(own) && rest.starts_with("## What counts"), "nothing of the operator's is lost");
    let domain = world.persona("domain");
    assert!(domain.prompt.starts_with("Keys live in vault/.\n\n## What counts"));
    assert_eq!(domain.budget_usd, Some(1000.0), "where there was no limit, any is lower");
}

#[test]
fn a_projects_persona_cannot_loosen_anything() {
    for lines in [
        "mode = 'one_shot'",
        "runtime = 'command'",
        "program = '/tmp/x'",
        "command = ['/tmp/x']",
        "model = 'opus'",
        "effort = 'high'",
        "front_matter = true",
    ] {
        let words = wrong_in_project(lines);
        assert!(words.contains("not allowed in a project's file, which an agent may have written; it may stand in ~/.config/countersign/personas/security.toml"), "{words}");
    }
    let above = |lines: &str| {
        let world =
            World::new().user_persona("security.toml", "mode = 'one_shot'\nruntime = 'claude'\nbudget_usd = 1.5");
        world.project_persona("security.toml", lines).error()
    };
    assert_snapshot!(above("time_limit = '16m'"), @r#"config: ~/code/app/.countersign/personas/security.toml: time_limit = "16m": a project's file may only lower it; it is "15m" (built-in persona.toml)"#);
    assert_snapshot!(above("budget_usd = 2"), @"config: ~/code/app/.countersign/personas/security.toml: budget_usd = 2: a project's file may only lower it; it is 1.5 (~/.config/countersign/personas/security.toml)");
}

#[test]
fn every_bad_value_of_a_persona_is_named_with_what_is_allowed() {
    assert_snapshot!(wrong("modell = 'opus'"), @r#"modell = "opus": unknown key; did you mean model or mode?"#);
    assert_snapshot!(wrong("colour = 'red'"), @r#"colour = "red": unknown key; allowed are focus, prompt, ignore, mode, runtime, program, command, model, effort, time_limit, budget_usd, max_turns, max_tokens, keep_seat, front_matter"#);
    assert_snapshot!(wrong("focus = ' '"), @r#"focus = " ": expected text on one line, of 1 to 200 characters, none of them invisible"#);
    assert_snapshot!(wrong("focus = \"a\\nb\""), @r#"focus = "a\nb": expected text on one line, of 1 to 200 characters, none of them invisible"#);
    assert_snapshot!(wrong(&format!("focus = '{}'", "x".repeat(201))), @r#"focus = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: expected text on one line, of 1 to 200 characters, none of them invisible"#);
    assert_snapshot!(wrong("focus = 3"), @"focus = 3: expected text on one line, of 1 to 200 characters, none of them invisible");
    assert_snapshot!(wrong("ignore = '*.lock'"), @r#"ignore = "*.lock": expected a list of at most 100 patterns of paths, such as ["*.lock", "docs/"]"#);
    assert_snapshot!(wrong("ignore = ['ok', 'src/[a']"), @r#"ignore = ["ok", "src/[a"]: "src/[a": unclosed character class; missing ']'; expected a list of at most 100 patterns of paths, such as ["*.lock", "docs/"]"#);
    assert_snapshot!(wrong("ignore = ['/etc/**']"), @r#"ignore = ["/etc/**"]: "/etc/**": paths are relative to the root of the repository; remove /, ./ or ..; expected a list of at most 100 patterns of paths, such as ["*.lock", "docs/"]"#);
    assert_snapshot!(wrong(&format!("ignore = [{}]", "'a', ".repeat(101))), @r#"ignore = ["a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a",…: these are 101; expected a list of at most 100 patterns of paths, such as ["*.lock", "docs/"]"#);
    assert_snapshot!(wrong("mode = 'oneshot'"), @r#"mode = "oneshot": expected one of agent, one_shot, dedicated"#);
    assert_snapshot!(wrong("mode = 'one_shot'\nruntime = 'gemini'"), @r#"runtime = "gemini": expected one of codex, claude, command, or """#);
    assert_snapshot!(wrong("mode = 'one_shot'\nmodel = 'dear-1'"), @r#"model = "dear-1": expected one of pool.models, which is ["gpt-5.5", "gpt-6.1-sol", "opus", "sonnet", "haiku"] (default.toml)"#);
    assert_snapshot!(wrong("mode = 'one_shot'\nruntime = 'command'"), @r#"runtime = "command": expected command beside it, a list that begins with a program"#);
    assert_snapshot!(wrong("mode = 'one_shot'\nruntime = 'command'\ncommand = ['./x']"), @r#"command = ["./x"]: expected a list that begins with the name of a program or its absolute path"#);
    assert_snapshot!(wrong("mode = 'one_shot'\ncommand = ['x']"), @r#"command = ["x"]: expected runtime = "command" beside it"#);
    assert_snapshot!(wrong("mode = 'one_shot'\nruntime = 'command'\ncommand = ['x']\nmodel = 'opus'"), @r#"model = "opus": expected "", since the command says it all when the runtime is "command""#);
    for (lines, said) in [
        ("model = 'dear-1'", "model = \"dear-1\": expected one of pool.models, which is"),
        ("budget_usd = 2", "budget_usd = 2: expected mode = \"one_shot\" or \"dedicated\" beside it"),
        ("time_limit = '5m'", "time_limit = \"5m\": expected mode = \"one_shot\" or \"dedicated\" beside it"),
        (
            "mode = 'one_shot'\nbudget_usd = 2",
            "budget_usd = 2: expected another runtime beside it: codex reports no cost",
        ),
    ] {
        let words = wrong(lines);
        assert!(words.replace("2.0", "2").contains(said), "{lines}: {words}");
    }
    assert_snapshot!(wrong("time_limit = '3h'"), @r#"time_limit = "3h": expected a duration such as "15m", between 1s and 2h"#);
    assert_snapshot!(wrong("time_limit = '500ms'"), @r#"time_limit = "500ms": expected a duration such as "15m", between 1s and 2h"#);
    assert_snapshot!(wrong("budget_usd = 0"), @"budget_usd = 0: expected an amount between 0.01 and 1000");
    assert_snapshot!(wrong("budget_usd = '5'"), @r#"budget_usd = "5": expected an amount between 0.01 and 1000"#);
    assert_snapshot!(wrong("budget_usd = nan"), @"budget_usd = nan: expected an amount between 0.01 and 1000");
    assert_snapshot!(wrong("mode = 'one_shot'\nmax_turns = 3"), @r#"max_turns = 3: expected mode = "dedicated" beside it: other reviewers have no turns"#);
    assert_snapshot!(wrong("keep_seat = '1h'"), @r#"keep_seat = "1h": expected mode = "dedicated" beside it: other reviewers have no turns"#);
    assert_snapshot!(wrong("mode = 'dedicated'\nmax_turns = 0"), @"max_turns = 0: expected a whole number between 1 and 1000");
    assert_snapshot!(wrong("front_matter = 'yes'"), @r#"front_matter = "yes": expected true or false"#);
    assert_snapshot!(wrong("[security]\nfocus = 'x'"), @"security = { … }: unknown key; allowed are focus, prompt, ignore, mode, runtime, program, command, model, effort, time_limit, budget_usd, max_turns, max_tokens, keep_seat, front_matter");
    assert_snapshot!(wrong("focus = "), @"line 1, column 9: string values must be quoted, expected literal string");
}

#[test]
fn a_prompt_is_a_file_in_the_same_folder_with_text_in_it() {
    assert_snapshot!(wrong("prompt = '../secret.md'"), @r#"prompt = "../secret.md": expected the name of a file in the same folder, without a path"#);
    assert_snapshot!(wrong("prompt = '..'"), @r#"prompt = "..": expected the name of a file in the same folder, without a path"#);
    assert_snapshot!(wrong("prompt = '/etc/passwd'"), @r#"prompt = "/etc/passwd": expected the name of a file in the same folder, without a path"#);
    assert_snapshot!(wrong("prompt = 'nowhere.md'"), @r#"prompt = "nowhere.md": expected the name of an existing file in ~/.config/countersign/personas"#);
    assert_snapshot!(wrong("prompt = ''"), @r#"prompt = "": expected the name of a file in the same folder, without a path"#);
    let with = |bytes: &[u8]| {
        let world = World::new().user_persona("security.toml", "prompt = 'p.md'");
        fs::write(world.home.path().join(USER).join("p.md"), bytes).unwrap();
        world
    };
    assert_snapshot!(with(b" \n").error(), @r#"config: ~/.config/countersign/personas/security.toml: prompt = "p.md": expected a file with text in it"#);
    assert_snapshot!(with(&[b'x'; (64 << 10) + 1]).error(), @r#"config: ~/.config/countersign/personas/security.toml: prompt = "p.md": expected a file of at most 64 KiB"#);
    assert_snapshot!(with(b"\xff\xfe").error(), @r#"config: ~/.config/countersign/personas/security.toml: prompt = "p.md": cannot be read: stream did not contain valid UTF-8"#);
    let hidden = with("all is \u{202e}well".as_bytes()).error();
    assert!(
        hidden.ends_with("expected a file without invisible characters, which only a model would read"),
        "{hidden}"
    );
    assert!(with(&[b'x'; 64 << 10]).persona("security").prompt.len() > 64 << 10);
}

#[test]
fn a_persona_of_your_own_needs_focus_and_prompt() {
    let world = World::new().user_persona("own.toml", "ignore = ['docs/']").project_persona("mine.toml", "");
    assert_snapshot!(world.error(), @r#"
    config: ~/code/app/.countersign/personas/mine.toml: expected focus = "…": a persona of your own needs it
    config: ~/code/app/.countersign/personas/mine.toml: expected prompt = "…": a persona of your own needs it
    config: ~/.config/countersign/personas/own.toml: expected focus = "…": a persona of your own needs it
    config: ~/.config/countersign/personas/own.toml: expected prompt = "…": a persona of your own needs it
    "#);
}

#[test]
fn a_client_or_a_model_binds_agents_to_a_persona() {
    let bound = World::new().user_persona("security.toml", "runtime = 'claude'\nmodel = 'opus'").persona("security");
    assert_eq!((bound.mode, bound.model.as_deref(), bound.has_own_agents()), (Mode::Agent, Some("opus"), true));
    assert!(!Config::default().personas["security"].has_own_agents());
    let one_shot = World::new().user_persona("security.toml", "mode = 'one_shot'\nmodel = 'opus'").persona("security");
    assert!(!one_shot.has_own_agents());
}

#[test]
fn a_persona_is_called_like_its_file() {
    let world = World::new().user_persona("two words.toml", "").user_persona(&format!("{}.toml", "x".repeat(65)), "");
    assert_snapshot!(world.error().replace(&"x".repeat(65), "x…"), @r#"
    config: ~/.config/countersign/personas/two words.toml: a persona is called like its file; expected 1 to 64 letters, digits and the characters . _ - before .toml
    config: ~/.config/countersign/personas/x….toml: a persona is called like its file; expected 1 to 64 letters, digits and the characters . _ - before .toml
    "#);
}

#[test]
fn problems_of_settings_and_personas_are_reported_together() {
    let world = World::new()
        .user("claims.lease = 'soon'")
        .user_persona("security.toml", "modell = 'opus'\ntime_limit = 3")
        .project_persona("tests.toml", "runtime = 'codex'\nfokus = ''");
    assert_snapshot!(world.error(), @r#"
    config: ~/.config/countersign/config.toml: claims.lease = "soon": expected a duration such as "20m", between 1s and 24h
    config: ~/.config/countersign/personas/security.toml: modell = "opus": unknown key; did you mean model or mode?
    config: ~/.config/countersign/personas/security.toml: time_limit = 3: expected a duration such as "15m", between 1s and 2h
    config: ~/code/app/.countersign/personas/tests.toml: fokus = "": unknown key; did you mean focus?
    config: ~/code/app/.countersign/personas/tests.toml: runtime = "codex": not allowed in a project's file, which an agent may have written; it may stand in ~/.config/countersign/personas/tests.toml
    "#);
}

#[cfg(unix)]
#[test]
fn a_project_leads_nobody_out_of_the_repository() {
    use std::os::unix::fs::symlink;
    let inside = |world: &World, name: &str| world.home.path().join(PROJECT).join(name);
    let secret = |world: &World| world.write("secret.toml", "password = 'hunter2'");

    let world = World::new().project_persona("a.md", "x");
    symlink(secret(&world), inside(&world, "security.toml")).unwrap();
    assert_snapshot!(world.error(), @"config: ~/code/app/.countersign/personas/security.toml: is a link that leads out of the repository");

    let world = World::new().project_persona("security.toml", "prompt = 'p.md'");
    symlink(secret(&world), inside(&world, "p.md")).unwrap();
    assert_snapshot!(world.error(), @r#"config: ~/code/app/.countersign/personas/security.toml: prompt = "p.md": is a link that leads out of the repository"#);

    let world = World::new().project("");
    fs::create_dir(world.home.path().join("elsewhere")).unwrap();
    symlink(world.home.path().join("elsewhere"), world.home.path().join(PROJECT)).unwrap();
    assert_snapshot!(world.error(), @"config: ~/code/app/.countersign/personas: is a link that leads out of the repository");

    let world = World::new().project_persona("a.md", "x");
    fs::create_dir(inside(&world, "security.toml")).unwrap();
    assert_snapshot!(world.error(), @"config: ~/code/app/.countersign/personas/security.toml: is not a plain file");
}

#[test]
fn a_panel_can_be_set_in_files_and_variables() {
    let world = World::new().user(
        "[panel]\npersonas = ['general', 'tests']\n[[panel.rules]]\npaths = ['migrations/**']\n\
         personas = ['architecture']\n[[panel.rules]]\ncategory = 'plan_review'\npersonas = ['architecture']\nreplace = true",
    );
    let panel = world.load().panel;
    assert_eq!(panel.personas, ["general", "tests"]);
    assert_eq!(panel.rules[0].paths.as_deref(), Some(&["migrations/**".to_owned()][..]));
    assert_eq!((panel.rules[1].category, panel.rules[1].replace), (Some(Category::PlanReview), true));
    assert_eq!(panel.rules.len(), 2);
    let world = World::new()
        .variable("COUNTERSIGN_PANEL_PERSONAS", "security, tests")
        .variable("COUNTERSIGN_PANEL_RULES", "[{ paths = ['*.sql'], personas = ['performance'] }]");
    assert_eq!((world.load().panel.personas.len(), world.load().panel.rules.len()), (2, 1));
}

#[test]
fn the_example_of_rules_in_the_defaults_is_one() {
    let example =
        DEFAULTS.lines().skip_while(|line| *line != "# [[panel.rules]]").take_while(|line| line.starts_with('#'));
    let example: Vec<_> = example.map(|line| line.trim_start_matches("# ").trim_start_matches('#')).collect();
    let panel = World::new().user(&example.join("\n")).load().panel;
    assert_eq!(panel.rules.len(), 2);
    assert!(panel.rules[1].replace && !panel.rules[0].replace);
}

#[test]
fn a_project_adds_to_a_panel_and_replaces_nothing() {
    let world = World::new()
        .user("[[panel.rules]]\npaths = ['a/']\npersonas = ['tests']")
        .project("panel.personas = ['security']\n[[panel.rules]]\npaths = ['b/']\npersonas = ['own']")
        .project_persona("own.toml", "focus = 'x'\nprompt = 'own.md'")
        .project_persona("own.md", "x");
    let panel = world.load().panel;
    assert_eq!(panel.personas, ["general", "security"]);
    assert_eq!(panel.rules.iter().map(|rule| rule.personas[0].as_str()).collect::<Vec<_>>(), ["tests", "own"]);
    assert_snapshot!(project_error("[[panel.rules]]\npaths = ['b/']\npersonas = ['tests']\nreplace = true"), @"config: ~/code/app/.countersign/config.toml: panel.rules = [{ … }]: a project's file may add rules, but none with replace = true");
}

#[test]
fn every_bad_panel_is_named_with_what_is_allowed() {
    let rule = |lines: &str| {
        user_error(&format!("[[panel.rules]]\npaths = ['a']\npersonas = ['tests']\n[[panel.rules]]\n{lines}"))
    };
    assert_snapshot!(user_error("panel.personas = []"), @"config: ~/.config/countersign/config.toml: panel.personas = []: expected a list of 1 to 10 personas, each 1 to 64 letters, digits and the characters . _ -");
    assert_snapshot!(user_error("panel.personas = ['a b']"), @r#"config: ~/.config/countersign/config.toml: panel.personas = ["a b"]: expected a list of 1 to 10 personas, each 1 to 64 letters, digits and the characters . _ -"#);
    assert_snapshot!(user_error("panel.personas = ['genral']"), @r#"config: ~/.config/countersign/config.toml: panel.personas = ["genral"]: unknown persona "genral"; expected some of architecture, general, performance, security, tests"#);
    assert_snapshot!(user_error("panel.rules = 3"), @r#"config: ~/.config/countersign/config.toml: panel.rules = 3: this is not a list of rules; expected a list of rules with personas and category or paths, such as [{ paths = ["migrations/**"], personas = ["architecture"] }]"#);
    assert_snapshot!(user_error("panel.rule = []"), @"config: ~/.config/countersign/config.toml: panel.rule = []: unknown setting; did you mean panel.rules?");
    assert_snapshot!(rule("path = ['x']\npersonas = ['tests']"), @r#"config: ~/.config/countersign/config.toml: panel.rules = [{ … }, { … }]: rule 2: "path": unknown key; did you mean paths?; expected a list of rules with personas and category or paths, such as [{ paths = ["migrations/**"], personas = ["architecture"] }]"#);
    assert!(rule("personas = ['tests']").contains("rule 2: needs category or paths; personas for every review"));
    assert_snapshot!(rule("category = 'code'\npersonas = []"), @r#"config: ~/.config/countersign/config.toml: panel.rules = [{ … }, { … }]: rule 2: category must be one of plan_review, code_change, verification, handoff; rule 2: personas must be a list of 1 to 10 names; expected a list of rules with personas and category or paths, such as [{ paths = ["migrations/**"], personas = ["architecture"] }]"#);
    assert_snapshot!(rule("paths = []\npersonas = ['tests']\nreplace = 'no'"), @r#"config: ~/.config/countersign/config.toml: panel.rules = [{ … }, { … }]: rule 2: paths must be a list of 1 to 100 patterns; rule 2: replace must be true or false; expected a list of rules with personas and category or paths, such as [{ paths = ["migrations/**"], personas = ["architecture"] }]"#);
    assert_snapshot!(rule("paths = ['src/[a']\npersonas = ['tests']"), @r#"config: ~/.config/countersign/config.toml: panel.rules = [{ … }, { … }]: rule 2: paths: "src/[a": unclosed character class; missing ']'; expected a list of rules with personas and category or paths, such as [{ paths = ["migrations/**"], personas = ["architecture"] }]"#);
    assert_snapshot!(rule("paths = ['b']\npersonas = ['absent', 'tests']"), @r#"config: ~/.config/countersign/config.toml: panel.rules = [{ … }, { … }]: unknown persona "absent"; expected some of architecture, general, performance, security, tests"#);
}

#[test]
fn no_panel_is_larger_than_a_review_has_seats() {
    let world = (0..10).fold(World::new(), |world, n| {
        world.user_persona(&format!("p{n}.toml"), "focus = 'x'\nprompt = 'p.md'").user_persona("p.md", "x")
    });
    let all: Vec<_> = (0..10).map(|n| format!("'p{n}'")).collect();
    let all = all.join(", ");
    let world = world.user(&format!("panel.personas = [{all}]"));
    assert_eq!(world.load().panel.personas.len(), 10);
    let world = world.user(&format!("[[panel.rules]]\npaths = ['a']\npersonas = [{all}]"));
    assert!(world.error().ends_with("panel.personas and panel.rules name 11 different personas; expected at most 10"));
}
