//! Our own binary, as others are told to call it.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};

const NAME: &str = "countersign";

/// By its name where the search path has it, or by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub name: String,
    /// Which broker is meant, where it is not the usual one.
    pub options: Vec<String>,
}

impl Program {
    /// For files that go to other machines, too.
    pub(super) fn by_name() -> std::io::Result<Self> {
        if in_path(NAME).is_some() { Ok(Self { name: NAME.into(), options: Vec::new() }) } else { Self::by_place() }
    }

    /// For files of this machine. A link in the search path outlives the version that it leads to.
    pub(super) fn by_place() -> std::io::Result<Self> {
        let exe = env::current_exe()?;
        let linked = in_path(NAME).filter(|path| path.canonicalize().ok() == exe.canonicalize().ok());
        Ok(Self { name: linked.unwrap_or(exe).to_string_lossy().into_owned(), options: Vec::new() })
    }

    /// The same for another broker than the usual one.
    pub(super) fn with(self, options: &[String]) -> Self {
        Self { options: options.to_vec(), ..self }
    }

    pub(super) fn is_place(&self) -> bool {
        Path::new(&self.name).is_absolute()
    }

    /// As a word in a line for a shell.
    pub(super) fn in_shell(&self) -> String {
        quoted(&self.name)
    }

    /// Its options in such a line, each after a space.
    pub(super) fn options_in_shell(&self) -> String {
        self.options.iter().map(|option| format!(" {}", quoted(option))).collect()
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The program of this name that a shell would run.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let absolute = |dir: &PathBuf| dir.is_absolute();
    env::split_paths(&path)
        .filter(absolute)
        .map(|dir| dir.join(OsStr::new(name)))
        .find(|file| file.is_file() && super::atomic_write::is_executable(file))
}
