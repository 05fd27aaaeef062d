use super::*;

fn exit(wait_status: i32) -> Exit {
    Exit::of(ExitStatus::from_raw(wait_status))
}

#[test]
fn an_exit_tells_the_reviewers_end_from_that_of_its_shim() {
    assert_eq!(exit(0), Exit::Code(0));
    assert_eq!(exit(3 << 8), Exit::Code(3));
    assert_eq!(exit(137 << 8), Exit::Signal(9));
    assert_eq!(exit(128 << 8), Exit::Code(128));
    assert_eq!(exit(255 << 8), Exit::Code(255));
    assert!(matches!(exit(9), Exit::Lost(_)));
}

#[test]
fn an_exit_is_shown_in_words() {
    assert_eq!(exit(1 << 8).to_string(), "exit code 1");
    assert_eq!(exit(137 << 8).to_string(), "killed by SIGKILL");
    assert_eq!(exit(9).to_string(), "lost: its shim was killed by SIGKILL");
    assert_eq!(Exit::Signal(40).to_string(), "killed by signal 40");
}

#[cfg(target_os = "linux")]
#[test]
fn an_identity_names_a_process_of_this_boot() {
    let own = ProcessIdentity::of(std::process::id());
    assert_eq!(own, ProcessIdentity::of(std::process::id()));
    assert!(own.start_time > 0 && !own.boot_id.is_empty());
    let json = serde_json::to_string(&own).unwrap();
    assert_eq!(serde_json::from_str::<ProcessIdentity>(&json).unwrap(), own);
}
