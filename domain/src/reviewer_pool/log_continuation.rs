//! The line with which a log file of a reviewer begins if it continues a full one. It says how much was written before, so
//! that offsets stay true when the beginning of the log is dropped.

/// Lines of a reviewer have its stream here: `out` or `err`. So a reviewer cannot write such a line.
const MARK: &str = " --- continues at byte ";

/// No such line is longer.
pub const MAX_BYTES: usize = 128;

/// The line of a file that begins `offset` bytes after the beginning of the log.
pub fn line(timestamp: &str, offset: u64) -> String {
    format!("{timestamp}{MARK}{offset}\n")
}

/// The offset at which a file with this beginning starts. `None`: it does not continue another one.
pub fn parse(beginning: &[u8]) -> Option<u64> {
    let line = beginning.split(|&byte| byte == b'\n').next()?;
    let (timestamp, offset) = std::str::from_utf8(line).ok()?.split_once(MARK)?;
    if timestamp.contains(' ') { None } else { offset.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, line, parse};

    #[test]
    fn an_offset_is_read_back() {
        for offset in [0, 7, u64::MAX] {
            let line = line("2026-11-19T10:00:00Z", offset);
            assert!(line.len() <= MAX_BYTES);
            assert_eq!(parse(format!("{line}2026-11-19T10:00:01Z out more\n").as_bytes()), Some(offset));
        }
    }

    #[test]
    fn a_line_of_a_reviewer_is_not_an_offset() {
        let forged = "2026-11-19T10:00:00Z out 2026-11-19T10:00:00Z --- continues at byte 9\n";
        assert_eq!((parse(forged.as_bytes()), parse(b""), parse(b"\xff\n")), (None, None, None));
        assert_eq!(parse(b"2026-11-19T10:00:00Z --- turn 2 of R-1\n"), None);
    }
}
