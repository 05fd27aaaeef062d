//! `cargo xtask prepare`: rebuilds `.sqlx/`, which lets the compiler check queries without a database.
//!
//! sqlx-cli is not needed: the sqlx macros write these files if they are given a database and a folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;

use crate::subprocess::{built, cargo, program, root, run};

type Files = BTreeMap<OsString, Vec<u8>>;

pub(crate) fn prepare(arguments: &[OsString]) -> anyhow::Result<()> {
    let only_check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => anyhow::bail!("usage: cargo xtask prepare [--check]"),
    };
    let committed = root().join(".sqlx");
    let (old, new) = (read_files(&committed)?, query_data(only_check)?);
    if old == new {
        eprintln!("xtask: .sqlx is up to date ({} queries)", new.len());
        return Ok(());
    }
    let fresh = new.iter().filter(|(name, data)| old.get(*name) != Some(data));
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let change = format!("{} new or changed, {} gone", fresh.count(), gone.count());
    anyhow::ensure!(!only_check, ".sqlx is out of date ({change}); run `cargo xtask prepare` and commit it");
    replace(&committed, &new)?;
    eprintln!("xtask: .sqlx rebuilt ({change})");
    Ok(())
}

/// Compiles the queries against a database with the newest schema: the files that the macros write.
///
/// Only the store has queries. After the other checks it is still faster to check the whole workspace: with fewer
/// packages the features differ, and the dependencies would be compiled again.
fn query_data(after_checks: bool) -> anyhow::Result<Files> {
    let scratch = built()?.join("xtask-prepare");
    replace(&scratch, &Files::new())?;
    let database = scratch.join("scratch.db");
    run(&mut cargo(["build", "--workspace", "--example", "migrate"]))?;
    let migrate = format!("migrate{}", std::env::consts::EXE_SUFFIX);
    run(program(built()?.join("examples").join(migrate)).arg("migrations").arg(&database))?;

    let data = scratch.join("sqlx");
    fs::create_dir(&data)?;
    let url = format!("sqlite://{}", database.display());
    let mut check = cargo(["check", "--all-targets"]);
    check
        .arg(match after_checks {
            true => "--workspace",
            false => "--package=countersign-store",
        })
        .env("DATABASE_URL", url)
        .env("SQLX_OFFLINE", "false")
        .env("SQLX_OFFLINE_DIR", &data);
    while_touched(&root().join("store/src/lib.rs"), || run(&mut check))?;
    read_files(&data)
}

/// Makes cargo compile the store again by touching `file`. Its time is restored afterwards.
fn while_touched(file: &Path, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let handle = File::options().append(true).open(file);
    let handle = handle.with_context(|| format!("cannot touch {}", file.display()))?;
    let before = handle.metadata()?.modified()?;
    handle.set_modified(SystemTime::now())?;
    let done = work();
    handle.set_modified(before)?;
    done
}

/// The files of a folder; none if the folder does not exist.
fn read_files(folder: &Path) -> anyhow::Result<Files> {
    let mut files = Files::new();
    if !folder.exists() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.insert(entry.file_name(), fs::read(entry.path())?);
    }
    Ok(files)
}

fn replace(folder: &Path, files: &Files) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for (name, data) in files {
        fs::write(folder.join(name), data)?;
    }
    Ok(())
}
