//! Puts a reviewer into a sandbox: lists the files that it may use, and gives it private folders in place of the user's.
//!
//! A reviewer reads text of others, which may manipulate it. In the sandbox it reads its copy of the project, programs, and
//! the login of its client; it does not see the data folder of the broker, other reviewers and the user's own files.

use super::{
    ProcessSpec, Sandbox,
    runtime::{Runtime, SESSION_DIR_VARIABLE, config_variables},
    session_home,
};
use crate::reviewer_workspaces;
use std::{
    env::split_paths,
    io,
    path::{Path, PathBuf},
};

/// Whether reviewers run in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    Off,
    On {
        /// Files and folders to read beside those that every reviewer needs.
        readable: Vec<PathBuf>,
        /// Never readable.
        data_dir: PathBuf,
    },
    /// It is required, and the system cannot do it for this reason.
    Impossible(&'static str),
}

/// Folders beside a folder with programs that hold parts of these programs.
const BESIDE_PROGRAMS: [&str; 4] = ["lib", "lib64", "libexec", "versions"];

/// Variables that name folders of the user which a reviewer in a sandbox cannot use.
const USER_FOLDERS: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];

/// Variables that name a certificate file or folder.
const CERTIFICATES: [&str; 3] = ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"];

/// The reviewer whose process is put into a sandbox.
pub(crate) struct Confined<'a> {
    pub(crate) id: &'a str,
    pub(crate) runtime: Runtime,
    /// Has the folders of all reviewers.
    pub(crate) work_dir: &'a Path,
    /// Its working folder is a copy that it may change.
    pub(crate) changes_copy: bool,
}

impl Confinement {
    /// Puts the process of a reviewer into a sandbox, if that is configured. `own_env` looks up a variable of the broker
    /// itself.
    pub(crate) fn apply(
        &self,
        mut spec: ProcessSpec,
        reviewer: &Confined<'_>,
        own_env: impl Fn(&str) -> Option<String> + Copy,
    ) -> io::Result<ProcessSpec> {
        let (readable, data_dir) = match self {
            Self::Off => return Ok(spec),
            Self::Impossible(why) => return Err(io::Error::other(*why)),
            Self::On { readable, data_dir } => (readable, data_dir),
        };
        let Confined { id, runtime, work_dir, changes_copy } = *reviewer;
        let private = reviewer_workspaces::private_folder(work_dir, id);
        let [home, temporary, client] = ["home", "tmp", "client"].map(|name| private.join(name));
        for folder in [&home, &temporary, &client] {
            reviewer_workspaces::create(folder)?;
        }
        let user_home = variable(&spec, "HOME").map(PathBuf::from);
        spec.env.retain(|(name, _)| !USER_FOLDERS.contains(&name.as_str()));
        set(&mut spec, "HOME", &home);
        set(&mut spec, "TMPDIR", &temporary);
        let mut writable = vec![private];
        match variable(&spec, SESSION_DIR_VARIABLE) {
            // A dedicated reviewer has its client's folder there.
            Some(session) => writable.push(session.into()),
            None => {
                session_home::link_login(&client, runtime, own_env)?;
                config_variables(runtime).iter().for_each(|name| set(&mut spec, name, &client));
            }
        }
        let (refreshed, read): (Vec<_>, Vec<_>) =
            session_home::login_files(runtime, own_env).into_iter().partition(|file| file.is_refreshed);
        writable.extend(refreshed.into_iter().map(|file| file.original));
        let mut own = Vec::new();
        if changes_copy { &mut writable } else { &mut own }.push(spec.cwd.clone());
        own.extend(read.into_iter().map(|file| file.original));
        own.extend(spec.argv.iter().map(PathBuf::from).filter(|file| file.is_absolute() && file.is_file()));
        own.extend(CERTIFICATES.iter().filter_map(|name| variable(&spec, name)).map(PathBuf::from));
        if runtime == Runtime::Codex {
            without_own_sandbox(&mut spec.argv);
        }
        let mut shared = readable.clone();
        shared.extend(programs(&spec, user_home.as_deref()));
        let hidden = vec![data_dir.clone(), work_dir.to_owned()];
        spec.sandbox = Some(Sandbox { shared, hidden, readable: own, writable });
        Ok(spec)
    }
}

/// Codex builds its own sandbox from mounts, which are not possible inside of this one: its model could run no command. Its
/// read-only mode closes less than this sandbox, but it also takes the network from commands.
fn without_own_sandbox(argv: &mut [String]) {
    let mode = argv.iter().position(|argument| argument == "--sandbox").map(|at| at + 1);
    if let Some(mode) = mode.and_then(|at| argv.get_mut(at)) {
        "danger-full-access".clone_into(mode);
    }
}

fn variable<'a>(spec: &'a ProcessSpec, name: &str) -> Option<&'a str> {
    spec.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn set(spec: &mut ProcessSpec, name: &str, folder: &Path) {
    spec.env.retain(|(known, _)| known != name);
    spec.env.push((name.to_owned(), folder.to_string_lossy().into_owned()));
}

/// The folders in PATH, the one of the client's program, and what belongs to the programs in them. Without folders that hold
/// the whole home folder, which a strange PATH may name.
fn programs(spec: &ProcessSpec, user_home: Option<&Path>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = split_paths(variable(spec, "PATH").unwrap_or_default()).collect();
    // Programs of packages are often links.
    let program = spec.argv.first().and_then(|program| Path::new(program).canonicalize().ok());
    folders.extend(program.as_deref().and_then(Path::parent).map(Path::to_owned));
    let beside = |folder: &PathBuf| {
        let parent = folder.parent().map(Path::to_owned).unwrap_or_default();
        BESIDE_PROGRAMS.map(|name| parent.join(name))
    };
    let mut all: Vec<_> = folders.iter().flat_map(beside).chain(folders.iter().cloned()).collect();
    all.extend(program.as_deref().and_then(node_modules));
    let user_home = user_home.and_then(|home| home.canonicalize().ok());
    let holds_home = |folder: &PathBuf| {
        folder.canonicalize().is_ok_and(|folder| user_home.as_ref().is_some_and(|home| home.starts_with(folder)))
    };
    all.retain(|folder| folder.is_absolute() && folder.is_dir() && !holds_home(folder));
    all.sort();
    all.dedup();
    all
}

/// The folder of all packages that a program of Node may load.
fn node_modules(program: &Path) -> Option<PathBuf> {
    let packages = program.ancestors().filter(|folder| folder.file_name().is_some_and(|name| name == "node_modules"));
    packages.last().map(Path::to_owned)
}

#[cfg(test)]
#[path = "confinement_tests.rs"]
mod tests;
