//! Translates a [`Sandbox`] into rules for the kernel. What an older kernel does not know is left out.

use crate::{
    Sandbox, SandboxError, Support,
    allowed_paths::{DEVICES, NAME_LOOKUP, SYSTEM, without_hidden},
};
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::path::{Path, PathBuf};

/// The newest version of Landlock whose rules are known here.
const NEWEST: ABI = ABI::V9;

/// The oldest version that closes all ways to change a file: before Linux 6.2 a file can be emptied by its path.
const OLDEST: ABI = ABI::V3;

pub(crate) fn support() -> Support {
    if !has_files(ABI::V1) {
        return Support::None("the kernel has no Landlock, or it is switched off (see the boot parameter `lsm`)");
    }
    if !has_files(OLDEST) {
        return Support::None("the kernel's Landlock is too old: it has to be Linux 6.2 or newer");
    }
    let mut missing = Vec::new();
    if strict().scope(Scope::Signal).is_err() {
        missing.push("signals to other processes, and their abstract sockets (Linux 6.12)");
    }
    if !has_files(ABI::V9) {
        missing.push("sockets that other programs have in the file system (a later Linux)");
    }
    if missing.is_empty() { Support::Full } else { Support::Partial(missing) }
}

/// A ruleset that fails if the kernel cannot enforce it.
fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

fn has_files(abi: ABI) -> bool {
    strict().handle_access(AccessFs::from_all(abi)).is_ok()
}

pub(crate) fn enter(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let hidden: Vec<_> = sandbox.hidden.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?;
    let read = AccessFs::from_read(NEWEST);
    let shared = SYSTEM.iter().map(Path::new).chain(sandbox.shared.iter().map(PathBuf::as_path));
    let shared = shared.flat_map(|path| without_hidden(path, &hidden));
    // A reviewer's own copy is in a hidden folder. A folder around hidden ones is opened without them.
    let readable = sandbox.readable.iter().flat_map(|path| match path.canonicalize() {
        Ok(around) if hidden.iter().any(|hidden| hidden.starts_with(&around)) => without_hidden(&around, &hidden),
        _ => vec![path.clone()],
    });
    let ruleset = allow(ruleset, shared.chain(readable), read)?;
    let ruleset = allow(ruleset, NAME_LOOKUP.iter().map(PathBuf::from), read | AccessFs::ResolveUnix)?;
    let writable = sandbox.writable.iter().cloned().chain(DEVICES.iter().map(PathBuf::from));
    let ruleset = allow(ruleset, writable, AccessFs::from_all(NEWEST))?;
    match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => drop_capabilities(),
        RulesetStatus::NotEnforced => Err(SandboxError::Unsupported),
    }
}

/// A process of root could otherwise read the environment of every process. Programs that it starts do not get the
/// capabilities back, because Landlock has set `no_new_privs`.
fn drop_capabilities() -> Result<(), SandboxError> {
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(|error| SandboxError::Capabilities(error.into()))
}

/// Missing paths are ignored.
fn allow(
    ruleset: RulesetCreated,
    paths: impl Iterator<Item = PathBuf>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rules(path_beneath_rules(paths, access))
}

#[cfg(test)]
#[path = "landlock_rules_tests.rs"]
mod tests;
