//! Reads settings from files, environment variables and flags. Home folder and variables are fields, so that tests can
//! set them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};
use serde::Serialize;

use crate::error::{Origin, Problem};
use crate::merge::{Layer, LayerKind};
use domain::text::{escape, is_hidden};

const PROJECT_FILE: &str = ".countersign/config.toml";
const PERSONAS: &str = "personas";
/// Bounds the memory for a project's file, which an agent may have written.
const MAX_FILE_BYTES: u64 = 1 << 20;
const MAX_PROMPT_BYTES: u64 = 64 << 10;
const MAX_PERSONAS: usize = 100;
const LEAVES_REPOSITORY: &str = "is a link that leads out of the repository";

/// A command-line flag that sets a setting.
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
    /// A file and the text that it would have: used in place of its content, to check an edit before it is written.
    pub edited: Option<(PathBuf, String)>,
}

/// A file of settings that would be read.
#[derive(Debug, Clone, Serialize)]
pub struct SettingsFile {
    /// `user`, `project` or `named` (by `--config`).
    pub layer: &'static str,
    pub path: PathBuf,
    pub exists: bool,
}

impl Sources {
    /// The user's folders and variables. The caller adds repository, `--config` and flags.
    pub fn from_process() -> Self {
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

    /// The files that are read if they exist, in the order of their layers: later ones win.
    pub fn settings_files(&self) -> Vec<SettingsFile> {
        let files =
            [("user", self.user_file.clone()), ("project", self.project_file()), ("named", self.config_file.clone())];
        let files = files.into_iter().filter_map(|(layer, path)| Some((layer, path?)));
        files.map(|(layer, path)| SettingsFile { layer, exists: path.exists(), path }).collect()
    }

    pub(crate) fn project_file(&self) -> Option<PathBuf> {
        Some(self.repo.as_ref()?.join(PROJECT_FILE))
    }

    /// The file as messages name it.
    pub fn origin_of(&self, file: &Path) -> Origin {
        let below_home = self.home.as_ref().and_then(|home| file.strip_prefix(home).ok());
        Origin::File(match below_home {
            Some(rest) => Path::new("~").join(rest).display().to_string(),
            None => file.display().to_string(),
        })
    }

    /// The files in the order of their layers. A content of `None` means that the file does not exist.
    pub(crate) fn files(&self) -> Vec<(Layer<'_>, Result<Option<toml::Table>, Problem>)> {
        let layer = |file: &Path, kind| Layer { origin: self.origin_of(file), kind, sources: self };
        let mut files = Vec::new();
        if let Some(file) = &self.user_file {
            files.push((layer(file, LayerKind::OperatorFile), self.read_optional(file)));
        }
        if let (Some(repo), Some(file)) = (&self.repo, self.project_file()) {
            files.push((layer(&file, LayerKind::ProjectFile), self.read_project_file(repo, &file)));
        }
        if let Some(file) = &self.config_file {
            let missing = || Problem::in_source(&self.origin_of(file), "file not found (given by --config)");
            let read = self.read_optional(file).and_then(|table| table.ok_or_else(missing));
            files.push((layer(file, LayerKind::OperatorFile), read.map(Some)));
        }
        files
    }

    fn read_project_file(&self, repo: &Path, file: &Path) -> Result<Option<toml::Table>, Problem> {
        let refuse = |text: &str| Problem::in_source(&self.origin_of(file), text);
        if !is_inside(repo, file).map_err(refuse)? {
            return Ok(None);
        }
        is_plain(file).map_err(refuse)?;
        self.read_optional(file)
    }

    /// The user's own personas, beside the user's settings.
    pub(crate) fn user_personas(&self) -> Option<PersonaFolder<'_>> {
        let path = self.user_file.as_ref()?.parent()?.join(PERSONAS);
        Some(PersonaFolder { sources: self, path, within: None })
    }

    pub(crate) fn project_personas(&self) -> Option<PersonaFolder<'_>> {
        let path = self.project_file()?.parent()?.join(PERSONAS);
        Some(PersonaFolder { sources: self, path, within: self.repo.as_deref() })
    }

    fn read_optional(&self, file: &Path) -> Result<Option<toml::Table>, Problem> {
        let problem = |text: String| Problem::in_source(&self.origin_of(file), text);
        let read = match &self.edited {
            Some((edited, text)) if edited == file => Ok(text.clone()),
            Some(_) | None => read_at_most(file, MAX_FILE_BYTES),
        };
        let text = match read {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(problem(format!("cannot be read: {error}"))),
        };
        toml::from_str(&text).map(Some).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = &text[..text.floor_char_boundary(start)];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |s| s.chars().count()) + 1;
            problem(format!("line {line}, column {column}: {}", escape(error.message())))
        })
    }
}

/// A folder of personas. Each has a file of settings with its prompt beside it.
pub(crate) struct PersonaFolder<'a> {
    sources: &'a Sources,
    path: PathBuf,
    /// The repository that its files must not lead out of.
    within: Option<&'a Path>,
}

impl PersonaFolder<'_> {
    /// Name and path of each file of settings, sorted by name.
    pub(crate) fn files(&self) -> Result<Vec<(String, PathBuf)>, Problem> {
        let refuse = |text: &str| Problem::in_source(&self.origin_of(&self.path), text);
        if let Some(repo) = self.within {
            is_inside(repo, &self.path).map_err(refuse)?;
        }
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(refuse(&format!("cannot be read: {error}"))),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| refuse(&format!("cannot be read: {error}")))?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // Editors keep hidden files beside those that they edit.
            if path.extension().is_some_and(|extension| extension == "toml") && !name.starts_with('.') {
                files.push((name, path));
            }
            if files.len() > MAX_PERSONAS {
                return Err(refuse(&format!("holds more than {MAX_PERSONAS} personas")));
            }
        }
        files.sort();
        Ok(files)
    }

    pub(crate) fn file(&self, persona: &str) -> PathBuf {
        self.path.join(format!("{persona}.toml"))
    }

    pub(crate) fn origin_of(&self, file: &Path) -> Origin {
        self.sources.origin_of(file)
    }

    pub(crate) fn read(&self, file: &Path) -> Result<toml::Table, Problem> {
        self.guard(file).map_err(|text| Problem::in_source(&self.origin_of(file), text))?;
        Ok(self.sources.read_optional(file)?.unwrap_or_default())
    }

    /// Reads a prompt. The error says what was expected.
    pub(crate) fn read_prompt(&self, name: &str) -> Result<String, String> {
        let file = self.path.join(name);
        if fs::symlink_metadata(&file).is_err() {
            return Err(format!("expected the name of an existing file in {}", self.origin_of(&self.path)));
        }
        self.guard(&file)?;
        let text = read_prompt(&file, MAX_PROMPT_BYTES)?;
        if text.contains(|c| is_hidden(c) && !matches!(c, '\n' | '\r' | '\t')) {
            return Err("expected a file without invisible characters, which only a model would read".to_owned());
        }
        Ok(text)
    }

    fn guard(&self, file: &Path) -> Result<(), &'static str> {
        if let Some(repo) = self.within {
            is_inside(repo, file)?;
        }
        is_plain(file)
    }
}

/// Whether the file exists. A link out of the repository is an error: it could make the broker quote a private file in
/// an error or a prompt.
fn is_inside(repo: &Path, file: &Path) -> Result<bool, &'static str> {
    match (fs::canonicalize(repo), fs::canonicalize(file)) {
        (Ok(repo), Ok(file)) if file.starts_with(&repo) => Ok(true),
        _ if fs::symlink_metadata(file).is_err() => Ok(false),
        _ => Err(LEAVES_REPOSITORY),
    }
}

/// Refuses pipes, which could block the broker forever.
fn is_plain(file: &Path) -> Result<(), &'static str> {
    if fs::metadata(file).is_ok_and(|meta| meta.is_file()) { Ok(()) } else { Err("is not a plain file") }
}

fn read_at_most(file: &Path, bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(bytes + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "larger than 1 MiB"));
    }
    Ok(text)
}

/// Reads a prompt. The error says what was expected.
pub(crate) fn read_prompt(file: &Path, max_bytes: u64) -> Result<String, String> {
    match read_at_most(file, max_bytes) {
        Ok(text) if text.trim().is_empty() => Err("expected a file with text in it".to_owned()),
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            Err(format!("expected a file of at most {} KiB", max_bytes >> 10))
        }
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}
