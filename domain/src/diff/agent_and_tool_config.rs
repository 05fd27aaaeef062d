//! Recognises configuration files that decide what agents, CI, git, build tools and editors run.

use super::{FlagKind, parser::Patch};
use crate::text::is_hidden;

/// Folders with instructions or permissions of agents.
const AGENT_FOLDERS: [&str; 10] = [
    ".agents",
    ".claude",
    ".codex",
    ".continue",
    ".countersign",
    ".cursor",
    ".gemini",
    ".opencode",
    ".roo",
    ".windsurf",
];
const AGENT_FILES: [&str; 15] = [
    ".aider.conf.yml",
    ".clinerules",
    ".cursorrules",
    ".mcp.json",
    ".windsurfrules",
    "agents.md",
    "agents.override.md",
    "claude.local.md",
    "claude.md",
    "copilot-instructions.md",
    "countersign.toml",
    "gemini.md",
    "mcp.json",
    "opencode.json",
    "reviewer_prompt.md",
];
const CI_FOLDERS: [&str; 9] =
    [".azuredevops", ".buildkite", ".circleci", ".forgejo", ".gitea", ".github", ".gitlab", ".teamcity", ".woodpecker"];
const CI_FILES: [&str; 18] = [
    ".appveyor.yml",
    ".cirrus.yml",
    ".drone.yml",
    ".gitlab-ci.yml",
    ".lefthook.yml",
    ".pre-commit-config.yaml",
    ".travis.yml",
    ".woodpecker.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "buildspec.yml",
    "cloudbuild.yaml",
    "jenkinsfile",
    "lefthook.json",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
];

/// Folders of tools and editors that run commands when the project is opened or built.
const BUILD_FOLDERS: [&str; 9] =
    [".cargo", ".devcontainer", ".fleet", ".idea", ".mvn", ".vscode", ".yarn", ".zed", ".bundle"];
/// Files that a tool runs, or that decide what it runs. Code that the project itself loads is not listed.
const BUILD_FILES: [&str; 59] = [
    ".bazelrc",
    ".devcontainer.json",
    ".dir-locals.el",
    ".envrc",
    ".exrc",
    ".justfile",
    ".npmrc",
    ".nvimrc",
    ".pnpmfile.cjs",
    ".vimrc",
    ".yarnrc",
    ".yarnrc.yml",
    "binding.gyp",
    "build.gradle",
    "build.gradle.kts",
    "build.rs",
    "build.xml",
    "bunfig.toml",
    "cmakelists.txt",
    "compose.yaml",
    "compose.yml",
    "configure",
    "conftest.py",
    "containerfile",
    "docker-compose.yaml",
    "docker-compose.yml",
    "dockerfile",
    "earthfile",
    "gnumakefile",
    "gradle.properties",
    "gradle-wrapper.properties",
    "gradlew",
    "gradlew.bat",
    "hatch_build.py",
    "justfile",
    "makefile",
    "meson.build",
    "mise.toml",
    ".mise.toml",
    "mvnw",
    "mvnw.cmd",
    "noxfile.py",
    "procfile",
    "rakefile",
    "rust-toolchain",
    "rust-toolchain.toml",
    "sconstruct",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.py",
    "sitecustomize.py",
    "taskfile.yaml",
    "taskfile.yml",
    "tiltfile",
    "tox.ini",
    "usercustomize.py",
    "vagrantfile",
    "wscript",
    "flake.nix",
];
const BUILD_ENDINGS: [&str; 7] = [".cmake", ".code-workspace", ".gyp", ".mk", ".pth", ".sublime-project", ".gradle"];
/// Scripts that npm runs by itself or that everyone runs.
const NPM_SCRIPTS: [&str; 7] = ["install", "prepare", "prepublish", "publish", "pack", "build", "test"];

/// Ignores case and hidden characters, as some file systems do.
pub(super) fn kind_of(path: &str, patch: &Patch<'_>) -> Option<FlagKind> {
    let path: String = path.chars().filter(|&c| !is_hidden(c)).flat_map(char::to_lowercase).collect();
    let parts: Vec<&str> = path.split('/').map(|part| part.trim_end_matches([' ', '.'])).collect();
    let (file, folders) = parts.split_last()?;
    if AGENT_FILES.contains(file)
        || parts.iter().any(|part| AGENT_FOLDERS.contains(part))
        || path == ".planning/config.json"
    {
        Some(FlagKind::AgentConfig)
    } else if CI_FILES.contains(file) || folders.iter().any(|part| CI_FOLDERS.contains(part)) {
        Some(FlagKind::CiConfig)
    } else if parts.iter().any(|part| is_git_config(part)) {
        Some(FlagKind::GitConfig)
    } else if BUILD_FILES.contains(file)
        || folders.iter().any(|part| BUILD_FOLDERS.contains(part))
        || BUILD_ENDINGS.iter().any(|ending| file.ends_with(ending))
        || file.starts_with("dockerfile.")
        || adds_build_lines(file, patch)
    {
        Some(FlagKind::BuildConfig)
    } else {
        None
    }
}

fn is_git_config(part: &str) -> bool {
    part == ".husky" || part == ".lfsconfig" || (part.starts_with(".git") && part != ".gitkeep")
}

/// Whether a list of dependencies gets lines that say what runs. Other lines of these files change often.
fn adds_build_lines(file: &str, patch: &Patch<'_>) -> bool {
    let runs_code: fn(&str) -> bool = match file {
        "package.json" => is_npm_script,
        "pyproject.toml" => is_python_build_line,
        _ => return false,
    };
    let lines = patch.hunks.iter().flat_map(|hunk| hunk.lines.lines());
    lines.filter_map(|line| line.strip_prefix('+')).any(|line| runs_code(line.trim()))
}

fn is_npm_script(line: &str) -> bool {
    // Several on one line, as in a file without line ends.
    let keys = line.split('"').skip(1).step_by(2);
    let bare = |key: &str| key.strip_prefix("pre").or_else(|| key.strip_prefix("post")).map(str::to_owned);
    keys.into_iter().any(|key| {
        key == "scripts"
            || NPM_SCRIPTS.contains(&key)
            || bare(key).is_some_and(|key| NPM_SCRIPTS.contains(&key.as_str()))
    })
}

fn is_python_build_line(line: &str) -> bool {
    let is_table = line.starts_with('[') && ["build", "hooks"].iter().any(|word| line.contains(word));
    is_table
        || line.starts_with("build-backend")
        || line.starts_with("backend-path")
        || line.starts_with("build-system")
}
