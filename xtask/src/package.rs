//! `cargo xtask package`: builds what a release consists of for one platform, an archive and two npm packages, and tries
//! it. `packaging/npm` holds the sources of the npm packages.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::browser;
use crate::subprocess::{Exit, cargo, program, root, run, target_folder};

const NAME: &str = "countersign";
const LICENSES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// The platforms of npm, by the beginning of Rust's names.
const PLATFORMS: &[(&str, Platform)] = &[
    ("x86_64-unknown-linux-", Platform { os: "linux", cpu: "x64" }),
    ("aarch64-unknown-linux-", Platform { os: "linux", cpu: "arm64" }),
    ("x86_64-apple-darwin", Platform { os: "darwin", cpu: "x64" }),
    ("aarch64-apple-darwin", Platform { os: "darwin", cpu: "arm64" }),
];

#[derive(Clone, Copy)]
struct Platform {
    os: &'static str,
    cpu: &'static str,
}

/// One release for one platform.
struct Package {
    target: String,
    platform: Platform,
    binary: PathBuf,
    /// Where archives and packages are written.
    out: PathBuf,
}

/// `[--target TRIPLE] [--debug] [--try]`
pub(crate) fn package(arguments: &[OsString]) -> anyhow::Result<()> {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let (mut target, mut is_debug, mut is_tried) = (None, false, false);
    let mut words = words.iter().map(AsRef::as_ref);
    while let Some(word) = words.next() {
        match word {
            "--target" => target = Some(words.next().context("--target needs the name of a target")?.to_owned()),
            "--debug" => is_debug = true,
            "--try" => is_tried = true,
            other => anyhow::bail!("unknown option {other:?}; allowed: --target TRIPLE, --debug, --try"),
        }
    }
    let out = target_folder()?.join("package");
    fs::create_dir_all(&out)?;
    let binary = if is_debug { debug_binary(&out)? } else { release_binary(target.as_deref())? };
    let target = target.map_or_else(host, Ok)?;
    let platform = PLATFORMS.iter().find(|(start, _)| target.starts_with(start));
    let (_, platform) = platform.with_context(|| format!("no npm platform for {target}"))?;
    let package = Package { target, platform: *platform, binary, out };
    let archive = package.archive()?;
    let packages = [package.npm_platform()?, package.npm_launcher()?];
    if is_tried {
        package.try_archive(&archive)?;
        package.try_npm(&packages)?;
    }
    for file in packages.iter().chain([&archive]) {
        eprintln!("xtask: {} ({} KiB)", file.display(), fs::metadata(file)?.len() >> 10);
    }
    Ok(())
}

/// A quick try with the binary that the tests use.
pub(crate) fn check() -> anyhow::Result<()> {
    package(&["--debug".into(), "--try".into()])
}

/// The debug binary without its debug information, which would make the packages ten times as large.
fn debug_binary(out: &Path) -> anyhow::Result<PathBuf> {
    let built = browser::build_debug_binary()?;
    let stripped = out.join("debug-countersign");
    run(program("strip").arg("-S").arg("-o").arg(&stripped).arg(built))?;
    Ok(stripped)
}

fn release_binary(target: Option<&str>) -> anyhow::Result<PathBuf> {
    let mut build = cargo(["build", "--locked", "--profile", "dist", "--package", NAME]);
    let mut folder = target_folder()?;
    if let Some(target) = target {
        build.args(["--target", target]);
        folder.push(target);
    }
    run(&mut build)?;
    Ok(folder.join("dist").join(NAME))
}

fn host() -> anyhow::Result<String> {
    let output = program("rustc").args(["--version", "--verbose"]).output().context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ").map(str::to_owned)).context("rustc names no host")
}

/// The version of the workspace.
fn version() -> anyhow::Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(line.context("Cargo.toml has no version")?.trim_matches('"').to_owned())
}

/// An empty folder, in place of an old one.
fn fresh(folder: PathBuf) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

impl Package {
    /// `countersign-VERSION-TARGET.tar.gz` with one folder of that name, as `cargo binstall` expects it.
    fn archive(&self) -> anyhow::Result<PathBuf> {
        let name = format!("{NAME}-{}-{}", version()?, self.target);
        let folder = fresh(self.out.join(&name))?;
        fs::copy(&self.binary, folder.join(NAME))?;
        for file in LICENSES.iter().chain(&["README.md", "CHANGELOG.md"]) {
            fs::copy(root().join(file), folder.join(file))?;
        }
        let archive = self.out.join(format!("{name}.tar.gz"));
        run(program("tar").current_dir(&self.out).arg("-czf").arg(&archive).arg(&name))?;
        Ok(archive)
    }

    /// The package with the binary, which npm installs only on its platform.
    fn npm_platform(&self) -> anyhow::Result<PathBuf> {
        let Platform { os, cpu } = self.platform;
        let folder = fresh(self.out.join("npm").join(format!("{NAME}-{os}-{cpu}")))?;
        fs::create_dir_all(folder.join("bin"))?;
        fs::copy(&self.binary, folder.join("bin").join(NAME))?;
        let manifest = fs::read_to_string(root().join("packaging/npm/platform.json"))?;
        self.pack(&folder, &manifest.replace("OS", os).replace("CPU", cpu))
    }

    /// The package that users install. It depends on those with the binaries.
    fn npm_launcher(&self) -> anyhow::Result<PathBuf> {
        let folder = fresh(self.out.join("npm").join(NAME))?;
        let sources = root().join("packaging/npm");
        fs::create_dir_all(folder.join("bin"))?;
        fs::copy(sources.join("bin/countersign.js"), folder.join("bin/countersign.js"))?;
        fs::copy(root().join("README.md"), folder.join("README.md"))?;
        self.pack(&folder, &fs::read_to_string(sources.join("package.json"))?)
    }

    /// Writes the manifest and packs the folder.
    fn pack(&self, folder: &Path, manifest: &str) -> anyhow::Result<PathBuf> {
        for file in LICENSES {
            fs::copy(root().join(file), folder.join(file))?;
        }
        let version = version()?;
        fs::write(folder.join("package.json"), manifest.replace("VERSION", &version))?;
        let mut pack = program("npm");
        pack.args(["pack", "--silent", "--pack-destination"]).arg(&self.out).current_dir(folder);
        run(&mut pack)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(self.out.join(format!("{name}-{version}.tgz")))
    }

    fn try_archive(&self, archive: &Path) -> anyhow::Result<()> {
        let folder = fresh(self.out.join("try-archive"))?;
        run(program("tar").current_dir(&folder).arg("-xzf").arg(archive))?;
        let name = format!("{NAME}-{}-{}", version()?, self.target);
        try_program(&folder, &folder.join(name).join(NAME))
    }

    /// Installs the packages into an empty folder, without a registry: those of other platforms are optional.
    fn try_npm(&self, packages: &[PathBuf]) -> anyhow::Result<()> {
        let folder = fresh(self.out.join("try-npm"))?;
        fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
        let mut install = program("npm");
        install.args(["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"]).args(packages);
        run(install.arg("--cache").arg(folder.join("cache")).current_dir(&folder))?;
        try_program(&folder, &folder.join("node_modules/.bin").join(NAME))
    }
}

/// Plays the demo with a home folder of its own, and checks that an exit code arrives.
fn try_program(folder: &Path, path: &Path) -> anyhow::Result<()> {
    let home = fresh(folder.join("home"))?;
    let command = |line: &[&str]| {
        let mut command = program(path);
        command.args(line).current_dir(&home).env("HOME", &home).env_remove("COUNTERSIGN_TOKEN");
        command
    };
    let version_line = command(&["--version"]).output().with_context(|| path.display().to_string())?;
    let printed = String::from_utf8_lossy(&version_line.stdout).trim().to_owned();
    anyhow::ensure!(printed == format!("{NAME} {}", version()?), "{} prints {printed:?}", path.display());
    run(&mut command(&["demo", "--fast"]))?;
    let refused = run(&mut command(&["no-such-command"]));
    let code = refused.err().and_then(|error| error.downcast::<Exit>().ok());
    anyhow::ensure!(code.is_some_and(|exit| exit.is(2)), "a wrong command must end with exit code 2");
    Ok(())
}
