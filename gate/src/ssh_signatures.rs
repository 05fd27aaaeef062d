//! Checks SSH signatures on votes with `ssh-keygen -Y verify`, without any settings of the caller or the repository.

use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use domain::vote_signature::NAMESPACE;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::GateError;
use crate::signers_file::SshKey;

/// The name of the signer in the file of allowed signers, which has the keys of one person.
const PRINCIPAL: &str = "voter";
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Whether `signature` is a signature of `message` with one of the keys. `scratch` is a private folder.
pub(crate) async fn is_signed_by(
    keys: &[SshKey],
    message: &[u8],
    signature: &str,
    scratch: &Path,
) -> Result<bool, GateError> {
    let allowed: String = keys.iter().map(|key| format!("{PRINCIPAL} namespaces=\"{NAMESPACE}\" {key}\n")).collect();
    let allowed = write_file(scratch, &allowed)?;
    let signature = write_file(scratch, signature)?;
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "verify", "-n", NAMESPACE, "-I", PRINCIPAL, "-f"]).arg(allowed.path());
    command.arg("-s").arg(signature.path());
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).current_dir(scratch);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).process_group(0);
    let mut child = command.spawn().map_err(|error| {
        let is_missing = error.kind() == ErrorKind::NotFound;
        if is_missing { GateError::SshKeygenMissing } else { GateError::SshKeygen(error.to_string()) }
    })?;
    let stdin = child.stdin.take();
    let run = async {
        if let Some(mut stdin) = stdin {
            // A bad signature ends the program before it has read the message.
            let _ = stdin.write_all(message).await;
        }
        child.wait().await
    };
    match timeout(TIME_LIMIT, run).await {
        Ok(Ok(status)) => Ok(status.success()),
        Ok(Err(error)) => Err(GateError::SshKeygen(error.to_string())),
        Err(_) => Err(GateError::SshKeygen(format!("no answer within {} s", TIME_LIMIT.as_secs()))),
    }
}

fn write_file(folder: &Path, text: &str) -> Result<NamedTempFile, GateError> {
    let mut file = NamedTempFile::new_in(folder).map_err(GateError::Scratch)?;
    file.write_all(text.as_bytes()).map_err(GateError::Scratch)?;
    Ok(file)
}
