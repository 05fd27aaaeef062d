use super::*;

fn exit(wait_status: i32) -> ProcessExit {
    ProcessExit::from_shim(ExitStatus::from_raw(wait_status))
}

#[test]
fn an_exit_distinguishes_the_reviewer_from_its_shim() {
    assert_eq!(exit(0), ProcessExit::Code(0));
    assert_eq!(exit(3 << 8), ProcessExit::Code(3));
    assert_eq!(exit(137 << 8), ProcessExit::Signal(9));
    assert_eq!(exit(128 << 8), ProcessExit::Code(128));
    assert_eq!(exit(255 << 8), ProcessExit::Code(255));
    assert!(matches!(exit(9), ProcessExit::Lost(_)));
}

#[test]
fn an_exit_has_a_readable_form() {
    assert_eq!(exit(1 << 8).to_string(), "exit code 1");
    assert_eq!(exit(137 << 8).to_string(), "killed by SIGKILL");
    assert_eq!(exit(9).to_string(), "lost: its shim was killed by SIGKILL");
    assert_eq!(ProcessExit::Signal(40).to_string(), "killed by signal 40");
}

#[cfg(target_os = "linux")]
#[test]
fn an_identity_is_stable_for_a_process() {
    let own = identify(std::process::id());
    assert_eq!(own, identify(std::process::id()));
    assert!(own.start_time > 0 && !own.boot_id.is_empty());
}
