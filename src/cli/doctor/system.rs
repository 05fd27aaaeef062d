//! Git, the repository and the disk.

use super::Check;
use git::UserRepo;
use nix::sys::statvfs::statvfs;
use std::path::Path;

const GROUP: &str = "Machine";

/// The first git whose `merge-tree --write-tree` says what a merge makes, which the gate asks.
const GIT_NEEDED: (u32, u32) = (2, 38);

const MIB: u64 = 1 << 20;
/// Below it a busy day may fill the disk, or a single diff.
const SCARCE: u64 = 1024 * MIB;
const TOO_LITTLE: u64 = 100 * MIB;

pub(super) async fn git() -> Check {
    let fix = "install git 2.38 or newer, and see that it is in PATH";
    let Ok(output) = UserRepo::at(".".into()).try_git(["--version"]).await else {
        return Check::failure(GROUP, "git", "is not there", fix);
    };
    let words = output.text().trim_start_matches("git version ").to_owned();
    match version(&words) {
        Some(version) if version >= GIT_NEEDED => Check::ok(GROUP, "git", words),
        Some(_) => Check::warning(GROUP, "git", format!("{words} is old: the gate cannot judge merges"), fix),
        None => Check::failure(GROUP, "git", format!("does not say its version: {words}"), fix),
    }
}

fn version(words: &str) -> Option<(u32, u32)> {
    let mut parts = words.split(['.', ' ']).map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

pub(super) fn repository(repo: Option<&Path>) -> Option<Check> {
    let fix = "go to a repository, or name one with --repo: without one a broker refuses diffs";
    Some(match repo {
        Some(root) => Check::ok(GROUP, "repository", root.display().to_string()),
        None => Check::warning(GROUP, "repository", "the current folder is in none", fix),
    })
}

/// Of the file system that the data folder is on, or will be.
pub(super) fn disk(data_dir: &Path) -> Check {
    let there = data_dir.ancestors().find(|dir| dir.exists()).unwrap_or(data_dir);
    let fix = format!("make room on the disk of {}, or move the data folder: server.data_dir", there.display());
    match statvfs(there) {
        Err(error) => Check::warning(GROUP, "disk", format!("{}: {error}", there.display()), fix),
        Ok(disk) => {
            let free = disk.blocks_available().saturating_mul(disk.fragment_size());
            let says = format!("{} free for {}", super::broker::size(free), data_dir.display());
            match free {
                ..TOO_LITTLE => Check::failure(GROUP, "disk", says, fix),
                TOO_LITTLE..SCARCE => Check::warning(GROUP, "disk", says, fix),
                SCARCE.. => Check::ok(GROUP, "disk", says),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_read_however_git_was_built() {
        assert_eq!(version("2.47.3"), Some((2, 47)));
        assert_eq!(version("2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("next"), None);
    }
}
