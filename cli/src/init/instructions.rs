//! Instructions for agents: skills, guards, and marked sections in files of the user. The texts are in `integrations/`.

use super::{
    change::{InitTarget, Kind},
    clients::{Client, Scope, UserDirs},
    edit::{BlockPosition, Fragment, MarkedBlock, Markers},
};
use std::path::{Path, PathBuf};

const SKILL: &str = include_str!("../../../integrations/skills/SKILL.md");
const AGENTS: &str = include_str!("../../../integrations/skills/AGENTS.md");

/// The guards by the name of their command or agent. All of them refer to `tandem`.
const GUARDS: [(&str, &str); 7] = [
    ("tandem", include_str!("../../../integrations/gsd/tandem.md")),
    ("plan-phase", include_str!("../../../integrations/gsd/plan-phase.md")),
    ("execute-phase", include_str!("../../../integrations/gsd/execute-phase.md")),
    ("discuss-phase", include_str!("../../../integrations/gsd/discuss-phase.md")),
    ("verify-work", include_str!("../../../integrations/gsd/verify-work.md")),
    ("gsd-planner", include_str!("../../../integrations/gsd/gsd-planner.md")),
    ("gsd-executor", include_str!("../../../integrations/gsd/gsd-executor.md")),
];
const COMMANDS: [&str; 4] = ["plan-phase", "execute-phase", "discuss-phase", "verify-work"];
const AGENT_NAMES: [&str; 2] = ["gsd-planner", "gsd-executor"];

/// The text of commands such as `/countersign:plan-phase`, which run the user's command with its guard.
const COMMAND: &str = include_str!("../../../integrations/gsd/command.md");
/// The section that is added to the user's own command and agent files.
const POINTER: &str = include_str!("../../../integrations/gsd/pointer.md");

/// The skill, or the section of AGENTS.md, that explains the review loop.
pub(super) fn skills(client: Client, homes: &UserDirs, scope: &Scope) -> Option<InitTarget> {
    let (path, fragment) = match (client, scope) {
        (Client::Claude, _) => {
            (claude(homes, scope).join("skills/countersign/SKILL.md"), Fragment::Whole(SKILL.to_owned()))
        }
        (Client::Codex, Scope::Project(root)) => (root.join("AGENTS.md"), marked_section(AGENTS, BlockPosition::End)),
        (Client::Codex, Scope::User) => (homes.codex.join("AGENTS.md"), marked_section(AGENTS, BlockPosition::End)),
        (Client::Gemini, _) => return None,
    };
    Some(InitTarget::new(path, Kind::Skills, vec![fragment]))
}

fn marked_section(body: &str, position: BlockPosition) -> Fragment {
    Fragment::Block(MarkedBlock { markers: Markers::MARKDOWN, position, body: body.to_owned() })
}

fn claude(homes: &UserDirs, scope: &Scope) -> PathBuf {
    match scope {
        Scope::Project(root) => root.join(".claude"),
        Scope::User => homes.claude.clone(),
    }
}

/// The guards, the commands that apply them, and a pointer in each GSD file that exists.
pub(super) fn gsd(homes: &UserDirs, scope: &Scope) -> Vec<InitTarget> {
    let base = claude(homes, scope);
    // The path as an agent sees it: relative to the project, or absolute.
    let folder = match scope {
        Scope::Project(_) => ".claude/countersign/gsd".to_owned(),
        Scope::User => base.join("countersign/gsd").display().to_string(),
    };
    let whole = |path: PathBuf, text: String| InitTarget::new(path, Kind::Gsd, vec![Fragment::Whole(text)]);
    let guard = |(name, text): (&str, &str)| {
        whole(base.join(format!("countersign/gsd/{name}.md")), text.replace("{folder}", &folder))
    };
    let command = |name: &str| {
        let text = COMMAND.replace("{name}", name).replace("{folder}", &folder);
        whole(base.join(format!("commands/countersign/{name}.md")), text)
    };
    let guards = GUARDS.into_iter().map(guard);
    let commands = COMMANDS.into_iter().map(command);
    let gsd_commands = COMMANDS.map(|name| (name, base.join(format!("commands/gsd/{name}.md"))));
    let agents = AGENT_NAMES.map(|name| (name, base.join(format!("agents/{name}.md"))));
    let pointers = gsd_commands.into_iter().chain(agents).filter(|(_, path)| path.exists());
    let pointers = pointers.map(|(name, path)| pointer(name, &path, &folder));
    guards.chain(commands).chain(pointers).collect()
}

fn pointer(name: &str, path: &Path, folder: &str) -> InitTarget {
    let body = POINTER.replace("{name}", name).replace("{folder}", folder);
    InitTarget::new(path.to_owned(), Kind::Gsd, vec![marked_section(&body, BlockPosition::AfterFrontMatter)])
}

#[cfg(test)]
#[path = "instructions_tests.rs"]
mod tests;
