//! What long tests are told, and what tests measure.

/// How long, how much or how often, from the environment.
pub(crate) fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().map_or(default, |value| value.parse().unwrap())
}

/// The memory that a process really has.
pub(crate) fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
