use super::*;

fn entry(pid: i32, parent: i32) -> Entry {
    let (pid, parent) = (Pid::from_raw(pid), Pid::from_raw(parent));
    Entry { pid, parent, group: pid, start_time: 1, dead: false }
}

#[test]
fn a_name_with_parentheses_does_not_move_the_fields() {
    let stat = b"7 (a) R 1 (\n) S 3 5 6 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 10\n";
    let entry = parse(Pid::from_raw(7), stat).unwrap();
    assert_eq!((entry.parent.as_raw(), entry.group.as_raw(), entry.start_time, entry.dead), (3, 5, 98765, false));
    assert!(parse(Pid::from_raw(7), b"7 (cut off) S 3").is_none());
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_finds_itself() {
    let own = find(Pid::this()).unwrap();
    assert_eq!(own.parent, Pid::parent());
    assert!(all().iter().any(|entry| entry.pid == own.pid && entry.start_time == own.start_time));
    assert_eq!(boot_id().len(), 36);
}

#[test]
fn descendants_are_all_processes_below_the_roots() {
    let processes = [entry(1, 0), entry(2, 1), entry(3, 2), entry(4, 3), entry(5, 1), entry(6, 3)];
    let below = |roots: &[i32], spared: Option<i32>| {
        let roots: Vec<_> = roots.iter().map(|pid| Pid::from_raw(*pid)).collect();
        let found = descendants(&processes, &roots, spared.map(Pid::from_raw));
        let mut pids: Vec<_> = found.iter().map(|entry| entry.pid.as_raw()).collect();
        pids.sort_unstable();
        pids
    };
    assert_eq!(below(&[2], None), [3, 4, 6]);
    assert_eq!(below(&[2, 3], None), [3, 4, 6]);
    assert_eq!(below(&[1], Some(3)), [2, 5]);
    assert_eq!(below(&[4], None), [0; 0]);
}

#[test]
fn a_cycle_of_parents_does_not_loop_forever() {
    let processes = [entry(2, 3), entry(3, 2)];
    assert_eq!(descendants(&processes, &[Pid::from_raw(2)], None).len(), 2);
}
