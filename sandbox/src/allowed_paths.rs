//! Lists the files and folders that a sandbox opens.

use std::path::{Path, PathBuf};

/// Where systems keep programs, libraries, certificates and their configuration. Missing ones are ignored.
pub(crate) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/run/current-system",
    "/var/lib/ca-certificates",
    // Clients ask how many processors and how much memory there is.
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    // The kernel protects the environment, memory and open files of processes outside of the sandbox.
    "/proc",
];

/// Names of hosts: the configuration, and the sockets of the programs that look them up.
pub(crate) const NAME_LOOKUP: &[&str] =
    &["/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/run/nscd"];

/// Not the terminals in /dev/pts: they include those in which the operator types.
pub(crate) const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The path, or if it contains hidden folders everything in it beside them. A hidden path and what is in it give nothing.
pub(crate) fn without_hidden(path: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    // A missing file gives no rule.
    let Ok(path) = path.canonicalize() else { return Vec::new() };
    if hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return Vec::new();
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
        return vec![path];
    }
    let entries = std::fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
    // A link is open if its target is.
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    entries.flat_map(|entry| without_hidden(&entry.path(), hidden)).collect()
}

#[cfg(test)]
#[path = "allowed_paths_tests.rs"]
mod tests;
