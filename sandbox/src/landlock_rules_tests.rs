use crate::{Sandbox, Support};
use std::{fs, io::ErrorKind, thread};

/// Whether the kernel cannot confine a process. Prints what is skipped.
fn is_skipped(what: &str) -> bool {
    let missing = Support::of_this_system().missing();
    if let Some(why) = missing {
        eprintln!("SKIPPED, because {why}: {what}");
    }
    missing.is_some()
}

/// Runs `action` in a thread that has entered the sandbox. The other threads stay outside.
fn inside<T: Send>(sandbox: &Sandbox, action: impl FnOnce() -> T + Send) -> T {
    let confined = || {
        sandbox.enter().expect("the kernel supports it");
        action()
    };
    thread::scope(|scope| scope.spawn(confined).join().expect("it ends"))
}

#[test]
fn only_listed_folders_can_be_read_and_changed() {
    if is_skipped("reading and writing in a sandbox") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let [work, own, data, inner, copy] =
        ["work", "own", "work/data", "work/data/inner", "work/data/copy"].map(|name| root.path().join(name));
    for folder in [&work, &own, &inner, &copy] {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("file"), "text").unwrap();
    }
    let other = root.path().join("other");
    fs::write(&other, "secret").unwrap();
    let sandbox = Sandbox {
        shared: vec![work.clone(), "/missing".into()],
        hidden: vec![data],
        readable: vec![copy.clone()],
        writable: vec![own.clone()],
    };
    inside(&sandbox, || {
        let denied = |result: std::io::Result<()>| assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
        for open in [&work, &copy, &own] {
            assert_eq!(fs::read_to_string(open.join("file")).unwrap(), "text");
        }
        assert!(fs::read_dir("/usr").unwrap().next().is_some());
        denied(fs::read(&other).map(drop));
        denied(fs::read(inner.join("file")).map(drop));
        denied(fs::read_dir(&inner).map(drop));
        for path in [work.join("file"), copy.join("file"), other.clone(), root.path().join("new")] {
            denied(fs::write(path, "changed"));
        }
        denied(fs::remove_file(work.join("file")));
        denied(fs::rename(&other, own.join("stolen")).map_err(|error| {
            // The kernel's word for a move between folders with different rules.
            if error.kind() == ErrorKind::CrossesDevices { ErrorKind::PermissionDenied.into() } else { error }
        }));
        fs::write(own.join("new"), "mine").unwrap();
        fs::remove_file(own.join("file")).unwrap();
        fs::write("/dev/null", "").unwrap();
    });
    assert_eq!(fs::read_to_string(&other).unwrap(), "secret");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test has nothing else to do")]
fn processes_outside_cannot_be_inspected() {
    if is_skipped("/proc in a sandbox") {
        return;
    }
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let sleeper = child.id();
    inside(&Sandbox::default(), || {
        assert!(fs::read_to_string("/proc/meminfo").unwrap().contains("MemTotal"));
        for file in ["environ", "mem", "maps"] {
            let read = fs::File::open(format!("/proc/{sleeper}/{file}"));
            assert!(read.is_err(), "{file}");
        }
        for link in ["cwd", "fd/0"] {
            assert!(fs::read_link(format!("/proc/{sleeper}/{link}")).is_err(), "{link}");
        }
        assert!(fs::File::open(format!("/proc/{sleeper}/fd/0")).is_err());
    });
    child.kill().unwrap();
    child.wait().unwrap();
}
