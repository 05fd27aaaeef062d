//! Sizes of long tests from the environment, and the memory of a process.

/// A number from an environment variable.
pub(crate) fn number_from_env(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().map_or(default, |value| value.parse().unwrap())
}

/// The resident memory of a process.
pub(crate) fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
