//! Recognises paths that git refuses to put into an index, because they mean `.git` on some file system.
//!
//! The rules are stricter than those of git: a path that they refuse goes to git, which decides.

const MAX_PATH_BYTES: usize = 2048;

/// Whether git certainly accepts every part of a path.
pub(crate) fn is_allowed_path(path: &[u8], is_symlink: bool) -> bool {
    path.len() <= MAX_PATH_BYTES && path.split(|&byte| byte == b'/').all(|part| is_allowed_name(part, is_symlink))
}

/// Whether git certainly accepts the name of a tree entry.
pub(crate) fn is_allowed_name(name: &[u8], is_symlink: bool) -> bool {
    if name.is_empty() || name == b"." || name == b".." || name.iter().any(|byte| matches!(byte, b'\\' | b'/' | 0)) {
        return false;
    }
    // Only these can begin a disguised `.git`: HFS ignores some characters, none of them ASCII.
    if !matches!(name.first(), Some(b'.' | b'g' | b'G' | 0x80..)) {
        return true;
    }
    let plain = name.iter().filter(|byte| byte.is_ascii()).map(u8::to_ascii_lowercase);
    // NTFS ignores what follows a colon, and dots and blanks at the end.
    let plain: Vec<u8> = plain.take_while(|&byte| byte != b':').collect();
    let end = plain.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |at| at + 1);
    let plain = plain.get(..end).unwrap_or_default();
    if is_symlink && (plain.starts_with(b".git") || plain.contains(&b'~')) {
        return false;
    }
    plain != b".git" && !plain.starts_with(b"git~")
}
