//! Builds the command line with which installed hooks and client settings call this program.

use std::{
    env,
    path::{Path, PathBuf},
};

const NAME: &str = "countersign";

/// The program, by name or by absolute path, and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnCommandLine {
    pub program: String,
    /// Options that select the broker, if it is not the default one.
    pub options: Vec<String>,
}

impl OwnCommandLine {
    /// For files that are shared between machines: the name, if PATH contains the program.
    pub(super) fn portable(options: &[String]) -> std::io::Result<Self> {
        match find_in_path(NAME) {
            Some(_) => Ok(Self { program: NAME.into(), options: options.to_vec() }),
            None => Self::absolute(options),
        }
    }

    /// For files of this machine: an absolute path. A link in PATH is preferred, because it survives upgrades.
    pub(super) fn absolute(options: &[String]) -> std::io::Result<Self> {
        let exe = env::current_exe()?;
        let linked = find_in_path(NAME).filter(|path| path.canonicalize().ok() == exe.canonicalize().ok());
        let program = linked.unwrap_or(exe).to_string_lossy().into_owned();
        Ok(Self { program, options: options.to_vec() })
    }

    pub(super) fn is_absolute(&self) -> bool {
        Path::new(&self.program).is_absolute()
    }

    /// The program, quoted for a shell.
    pub(super) fn shell_word(&self) -> String {
        shell_quote(&self.program)
    }

    /// The options, quoted for a shell, each after a space.
    pub(super) fn shell_options(&self) -> String {
        self.options.iter().map(|option| format!(" {}", shell_quote(option))).collect()
    }
}

pub(super) fn shell_quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The executable of this name in PATH.
pub(super) fn find_in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let files = env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
    files.into_iter().find(|file| file.is_file() && crate::atomic_files::is_executable(file))
}
