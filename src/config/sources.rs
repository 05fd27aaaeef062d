//! Where settings are read from. Everything of the process (home, variables) is a field, so that a
//! test can say what it is.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};

use super::error::{Origin, Problem};
use crate::telemetry::visible;

const PROJECT_FILE: &str = ".countersign/config.toml";
/// No honest file comes near it, and the project's may be anything.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A flag of the command line that stands for a setting.
#[derive(Debug, Clone)]
pub struct Flag {
    /// As the user typed it: `--listen`.
    pub name: &'static str,
    /// `server.listen`.
    pub key: &'static str,
    pub value: OsString,
}

#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Read if it exists.
    pub user_file: Option<PathBuf>,
    /// Its `.countersign/config.toml` is read if it exists.
    pub repo: Option<PathBuf>,
    /// From `--config`: must exist.
    pub config_file: Option<PathBuf>,
    /// Those that do not begin with `COUNTERSIGN_` are ignored.
    pub variables: Vec<(OsString, OsString)>,
    pub flags: Vec<Flag>,
    /// What an empty `server.data_dir` stands for.
    pub data_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub working_dir: Option<PathBuf>,
}

impl Sources {
    /// The user's folders and variables. Repository, `--config` and flags are the caller's to add.
    pub fn of_this_process() -> Self {
        let folders = choose_base_strategy().ok();
        let below = |folder: fn(&_) -> PathBuf| Some(folder(folders.as_ref()?).join("countersign"));
        Self {
            user_file: below(BaseStrategy::config_dir).map(|dir| dir.join("config.toml")),
            data_dir: below(BaseStrategy::data_dir),
            home: folders.as_ref().map(|dirs| dirs.home_dir().to_owned()),
            working_dir: std::env::current_dir().ok(),
            variables: std::env::vars_os().collect(),
            ..Self::default()
        }
    }

    pub(super) fn project_file(&self) -> Option<PathBuf> {
        Some(self.repo.as_ref()?.join(PROJECT_FILE))
    }

    pub(super) fn origin_of(&self, file: &Path) -> Origin {
        let below_home = self.home.as_ref().and_then(|home| file.strip_prefix(home).ok());
        Origin::File(match below_home {
            Some(rest) => Path::new("~").join(rest).display().to_string(),
            None => file.display().to_string(),
        })
    }

    /// `None` when there is no such file.
    pub(super) fn read_user_file(&self) -> Result<Option<toml::Table>, Problem> {
        self.user_file.as_ref().map_or(Ok(None), |file| self.read_optional(file))
    }

    /// Follows no link out of the repository and opens nothing but a plain file: a link could make
    /// the broker quote a private file in an error, a pipe could make it wait for ever.
    pub(super) fn read_project_file(&self) -> Result<Option<toml::Table>, Problem> {
        let (Some(repo), Some(file)) = (&self.repo, self.project_file()) else {
            return Ok(None);
        };
        let refuse = |text: &str| Problem::at(&self.origin_of(&file), text);
        let inside = match (fs::canonicalize(repo), fs::canonicalize(&file)) {
            (Ok(repo), Ok(file)) => file.starts_with(repo),
            _ if fs::symlink_metadata(&file).is_err() => return Ok(None),
            _ => false,
        };
        if !inside {
            return Err(refuse("is a link that leads out of the repository"));
        }
        if !fs::metadata(&file).is_ok_and(|meta| meta.is_file()) {
            return Err(refuse("is not a plain file"));
        }
        self.read_optional(&file)
    }

    pub(super) fn read_config_file(&self) -> Result<Option<toml::Table>, Problem> {
        let Some(file) = &self.config_file else {
            return Ok(None);
        };
        match self.read_optional(file)? {
            Some(table) => Ok(Some(table)),
            None => Err(Problem::at(&self.origin_of(file), "there is no such file (given by --config)")),
        }
    }

    fn read_optional(&self, file: &Path) -> Result<Option<toml::Table>, Problem> {
        let problem = |text: String| Problem::at(&self.origin_of(file), text);
        let text = match read_bounded(file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(problem(format!("cannot be read: {error}"))),
        };
        toml::from_str(&text).map(Some).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            let before = &text[..text.floor_char_boundary(place)];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |s| s.chars().count()) + 1;
            problem(format!("line {line}, column {column}: {}", visible(error.message())))
        })
    }
}

fn read_bounded(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "larger than 1 MiB"));
    }
    Ok(text)
}
