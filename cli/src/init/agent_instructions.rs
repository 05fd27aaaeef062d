//! Plans which instructions for agents `init` installs: skills, guards of a planned workflow, and marked sections in
//! the user's own files. The texts are in `integrations/`.

use super::{
    clients::{Client, SettingsDirs},
    edit::{BlockPosition, Fragment, MarkedBlock},
    file_change::{InitTarget, Kind},
};
use config::planning_config::PLANNING_FILE;
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
pub(super) fn skills(client: Client, dirs: &SettingsDirs) -> Option<InitTarget> {
    let (path, fragment) = match client {
        Client::Claude => (dirs.dir(client).join("skills/countersign/SKILL.md"), Fragment::Whole(SKILL.to_owned())),
        Client::Codex => {
            let dir = dirs.project.clone().unwrap_or_else(|| dirs.dir(client));
            (dir.join("AGENTS.md"), marked_section(AGENTS.to_owned(), BlockPosition::End))
        }
        Client::Gemini => return None,
    };
    Some(InitTarget::new(path, Kind::Skills, vec![fragment]))
}

fn marked_section(body: String, position: BlockPosition) -> Fragment {
    Fragment::Block(MarkedBlock { position, body })
}

/// The guards, the commands that apply them, and a pointer in each GSD file that exists.
pub(super) fn gsd(dirs: &SettingsDirs) -> Vec<InitTarget> {
    let base = dirs.dir(Client::Claude);
    // The path as an agent sees it: relative to the project, or absolute.
    let folder = base.join("countersign/gsd");
    let folder = folder.strip_prefix(dirs.root()).ok().filter(|_| dirs.project.is_some()).unwrap_or(&folder);
    let folder = folder.display().to_string();
    let fill = |template: &str, name: &str| template.replace("{name}", name).replace("{folder}", &folder);
    let target = |path: PathBuf, fragment| InitTarget::new(path, Kind::Gsd, vec![fragment]);
    let guard = |(name, text): (&str, &str)| {
        target(base.join(format!("countersign/gsd/{name}.md")), Fragment::Whole(fill(text, name)))
    };
    let command =
        |name: &str| target(base.join(format!("commands/countersign/{name}.md")), Fragment::Whole(fill(COMMAND, name)));
    let guards = GUARDS.into_iter().map(guard);
    let commands = COMMANDS.into_iter().map(command);
    let gsd_commands = COMMANDS.map(|name| (name, base.join(format!("commands/gsd/{name}.md"))));
    let agents = AGENT_NAMES.map(|name| (name, base.join(format!("agents/{name}.md"))));
    let pointers = gsd_commands.into_iter().chain(agents).filter(|(_, path)| path.exists());
    let pointer = |name: &str| marked_section(fill(POINTER, name), BlockPosition::AfterFrontMatter);
    let pointers = pointers.map(|(name, path)| target(path, pointer(name)));
    guards.chain(commands).chain(pointers).collect()
}

/// Tandem mode in the planning file, unless the file says something about it.
pub(super) fn tandem_mode(root: &Path) -> InitTarget {
    let fragment = Fragment::Json { path: vec!["tandem_enabled"], value: true.into(), keys: &[] };
    InitTarget::new(root.join(PLANNING_FILE), Kind::Gsd, vec![fragment])
}

/// What to do if GSD itself is not installed, neither here nor for the user.
pub(super) fn missing_gsd(dirs: &SettingsDirs) -> Option<&'static str> {
    let folders = [dirs.dir(Client::Claude), dirs.user_level().dir(Client::Claude)];
    let is_there = |folder: &PathBuf| {
        folder.join("commands/gsd").is_dir()
            || AGENT_NAMES.iter().any(|name| folder.join(format!("agents/{name}.md")).exists())
    };
    (!folders.iter().any(is_there)).then_some(
        "GSD is not installed: neither .claude nor ~/.claude has commands/gsd. The guards have no effect without it; install \
         GSD, then run `countersign init --gsd` again",
    )
}

#[cfg(test)]
#[path = "agent_instructions_tests.rs"]
mod tests;
