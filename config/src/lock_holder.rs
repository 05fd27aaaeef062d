//! Finds the process that holds the lock of a file. The process id that is written in the file may belong to another
//! process by now, or to another container.

use std::{fs::File, io};

/// The holder of the lock on `file`, which another process has locked. `written` is the process id in the file.
#[cfg(target_os = "linux")]
pub(crate) fn find(file: &File, written: Option<u32>) -> io::Result<u32> {
    use nix::sys::stat::{major, minor};
    use std::os::unix::fs::MetadataExt as _;

    let meta = file.metadata()?;
    let device = format!("{:02x}:{:02x}", major(meta.dev()), minor(meta.dev()));
    let locks = std::fs::read_to_string("/proc/locks")?;
    find_in(&locks, &device, meta.ino(), written).ok_or_else(|| {
        io::Error::other(
            "a broker holds the lock, but the kernel does not show its process here: it may run in another container or \
             on another machine, or be just starting; stop it where it runs",
        )
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn find(_: &File, written: Option<u32>) -> io::Result<u32> {
    written.ok_or_else(|| io::Error::other("the broker is just starting; try again"))
}

/// Reads `/proc/locks`: `1: FLOCK  ADVISORY  WRITE 20032 fe:00:10338415 0 EOF`. Some file systems (overlayfs, btrfs) show
/// another device there than to programs; then the process id in the file must be the one of the lock.
#[cfg(target_os = "linux")]
fn find_in(locks: &str, device: &str, inode: u64, written: Option<u32>) -> Option<u32> {
    let holders = locks.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        // A process that waits for a lock has an arrow here.
        let is_flock = fields.next() == Some("FLOCK") && fields.next().is_some() && fields.next() == Some("WRITE");
        let pid: u32 = fields.next()?.parse().ok()?;
        let (on, locked) = fields.next()?.rsplit_once(':')?;
        (is_flock && pid > 0 && locked.parse() == Ok(inode)).then_some((on, pid))
    });
    let mut other_device = None;
    for (on, pid) in holders {
        if on == device {
            return Some(pid);
        }
        other_device = other_device.or(Some(pid).filter(|pid| written == Some(*pid)));
    }
    other_device
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::find_in;

    #[test]
    fn the_kernel_names_the_holder_of_a_lock() {
        let locks = "1: FLOCK  ADVISORY  WRITE 20 fe:00:7 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 21 fe:00:7 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 22 fe:00:8 0 EOF\n3: FLOCK  ADVISORY  READ 23 fe:00:8 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 24 00:2f:9 0 EOF\n5: FLOCK  ADVISORY  WRITE 0 fe:00:10 0 EOF\n";
        let find = |inode, written| find_in(locks, "fe:00", inode, written);
        assert_eq!(find(7, Some(99)), Some(20), "whatever the file says");
        assert_eq!(find(7, None), Some(20));
        assert_eq!(find(8, Some(22)), None, "another kind of lock");
        assert_eq!(find(9, Some(24)), Some(24), "the file and the kernel agree");
        assert_eq!(find(9, Some(99)), None);
        assert_eq!(find(10, Some(99)), None, "a process of another container");
    }
}
