//! Checks of `countersign doctor` on git, the repository and the disk.

use super::Check;
use git::UserRepo;
use nix::sys::statvfs::statvfs;
use std::path::Path;

const GROUP: &str = "Machine";

/// The gate uses `git merge-tree --write-tree`, which git has since this version.
const MIN_GIT_VERSION: (u32, u32) = (2, 38);

const MIB: u64 = 1 << 20;
/// Free space below this is a warning.
const LOW_SPACE: u64 = 1024 * MIB;
/// Free space below this is a failure.
const MIN_SPACE: u64 = 100 * MIB;

pub(super) async fn git() -> Check {
    let fix = "install git 2.38 or newer and add it to PATH";
    let Ok(output) = UserRepo::at(".".into()).try_git(["--version"]).await else {
        return Check::failure(GROUP, "git", "not found in PATH", fix);
    };
    let version_text = output.text().trim_start_matches("git version ").to_owned();
    match parse_version(&version_text) {
        Some(version) if version >= MIN_GIT_VERSION => Check::ok(GROUP, "git", version_text),
        Some(_) => {
            Check::warning(GROUP, "git", format!("{version_text} is too old: the gate cannot check merges"), fix)
        }
        None => Check::failure(GROUP, "git", format!("unknown version: {version_text}"), fix),
    }
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', ' ']).map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

pub(super) fn repository(repo: Option<&Path>) -> Check {
    let fix = "run it in a repository, or name one with --repo; without one the broker refuses diffs";
    match repo {
        Some(root) => Check::ok(GROUP, "repository", root.display().to_string()),
        None => Check::warning(GROUP, "repository", "the current folder is not in a repository", fix),
    }
}

/// Checks the free space of the file system of the data folder.
pub(super) fn disk(data_dir: &Path) -> Check {
    let existing = data_dir.ancestors().find(|dir| dir.exists()).unwrap_or(data_dir);
    let fix = format!("free space on the disk of {}, or move the data folder (server.data_dir)", existing.display());
    match statvfs(existing) {
        Err(error) => Check::warning(GROUP, "disk", format!("{}: {error}", existing.display()), fix),
        Ok(disk) => {
            let free = disk.blocks_available().saturating_mul(disk.fragment_size());
            let message = format!("{} free for {}", super::broker::format_bytes(free), data_dir.display());
            match free {
                ..MIN_SPACE => Check::failure(GROUP, "disk", message, fix),
                MIN_SPACE..LOW_SPACE => Check::warning(GROUP, "disk", message, fix),
                LOW_SPACE.. => Check::ok(GROUP, "disk", message),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn versions_of_all_git_builds_are_parsed() {
        assert_eq!(parse_version("2.47.3"), Some((2, 47)));
        assert_eq!(parse_version("2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(parse_version("next"), None);
    }
}
