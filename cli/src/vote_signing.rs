//! Signs the vote of a person with an SSH key, by `ssh-keygen -Y sign`.

use anyhow::{Context as _, anyhow};
use domain::{
    content::ContentHash,
    ids::ReviewId,
    verdict::Verdict,
    vote_signature::{NAMESPACE, VoteSignature, VoteStatement, has_signature_form},
};
use git::UserRepo;
use std::{
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
};
use tempfile::NamedTempFile;
use tokio::{io::AsyncWriteExt as _, process::Command};

/// The key with which a person signs votes.
pub(crate) enum SshKey {
    /// A private key, or a public one whose private key is in the agent.
    File(PathBuf),
    /// A public key whose private key is in the agent.
    Literal(String),
}

/// The vote that is signed.
pub(crate) struct Vote<'a> {
    pub(crate) review: ReviewId,
    pub(crate) round: u32,
    pub(crate) content_hash: &'a ContentHash,
    pub(crate) persona: &'a str,
    pub(crate) reviewer: &'a str,
    pub(crate) verdict: Verdict,
}

impl SshKey {
    /// The key that is given, otherwise the one with which git signs commits.
    pub(crate) async fn find(given: Option<&Path>, dir: &Path) -> anyhow::Result<Self> {
        if let Some(file) = given {
            return Ok(Self::File(file.to_owned()));
        }
        let repo = UserRepo::at(dir.to_owned());
        let setting = async |options: &[&str]| {
            let output = repo.try_git([&["config", "--get"], options].concat()).await.ok()?;
            Some(output.text()).filter(|text| output.success && !text.is_empty())
        };
        let format = setting(&["gpg.format"]).await;
        let key = setting(&["user.signingkey"]).await;
        let (Some("ssh"), Some(key)) = (format.as_deref(), key) else {
            return Err(anyhow!(
                "no SSH key to sign the vote with; pass --sign=FILE, or set git's gpg.format to ssh and user.signingkey \
                 to the key"
            ));
        };
        if let Some(literal) = key.strip_prefix("key::").or_else(|| key.starts_with("ssh-").then_some(key.as_str())) {
            return Ok(Self::Literal(literal.to_owned()));
        }
        let path = setting(&["--type=path", "user.signingkey"]).await.unwrap_or(key);
        Ok(Self::File(dir.join(path)))
    }

    /// Signs a vote. `ssh-keygen` asks for a passphrase by itself.
    pub(crate) async fn sign(&self, vote: &Vote<'_>) -> anyhow::Result<VoteSignature> {
        let at = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second())?;
        let content = (vote.review, vote.round, vote.content_hash);
        let statement = VoteStatement::new(content, (vote.persona, vote.reviewer), vote.verdict, at);
        let ssh = self.sign_bytes(&statement.to_bytes()).await?;
        Ok(VoteSignature { round: vote.round, at, ssh })
    }

    async fn sign_bytes(&self, message: &[u8]) -> anyhow::Result<String> {
        let mut command = Command::new("ssh-keygen");
        command.args(["-Y", "sign", "-n", NAMESPACE, "-f"]);
        // Kept until the program has read it.
        let _literal = match self {
            Self::File(file) => {
                command.arg(file);
                None
            }
            Self::Literal(key) => {
                let mut file = NamedTempFile::new()?;
                writeln!(file, "{key}")?;
                command.arg(file.path()).arg("-U");
                Some(file)
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| match error.kind() == ErrorKind::NotFound {
            true => anyhow!("signing a vote needs ssh-keygen, which is not in PATH; install OpenSSH"),
            false => anyhow!("cannot run ssh-keygen: {error}"),
        })?;
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // If the key cannot be used, the program ends before it has read the message.
                let _ = stdin.write_all(message).await;
            }
        };
        let ((), output) = tokio::join!(feed, child.wait_with_output());
        let output = output.context("cannot run ssh-keygen")?;
        let signature = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() && has_signature_form(&signature) {
            return Ok(signature);
        }
        Err(anyhow!("the vote was not signed: ssh-keygen: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}
