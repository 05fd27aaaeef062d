//! A client's process, and its end.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{ClientOutcome, ClientRun, TIME_LIMIT};
use crate::support::model_server::Gate;

/// The scripted model does not read it, but a client needs a prompt to start.
const PROMPT: &str = "Work with the tools of the review broker, as your role asks.";

impl ClientRun<'_> {
    pub(crate) fn start(self) -> Running {
        let begun = Instant::now();
        let client = self.client;
        let home = TempDir::new().unwrap();
        let in_home = |name: &str| home.path().join(name);
        let (work, stdout, stderr) = (in_home("work"), in_home("stdout"), in_home("stderr"));
        std::fs::create_dir(&work).unwrap();
        let mut child = self
            .command(home.path())
            .current_dir(work)
            .stdin(Stdio::piped())
            // Files, because a pipe stays open as long as any grandchild holds it.
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = Group(child.id().unwrap());
        let ended = tokio::spawn(async move {
            send_prompt(&mut child).await;
            let ended = timeout(TIME_LIMIT, child.wait()).await;
            drop(group);
            let exit = ended.ok().and_then(|status| status.unwrap().code());
            child.wait().await.unwrap();
            let outcome = ClientOutcome::read(client, exit, text(&stdout), text(&stderr), begun.elapsed());
            drop(home);
            outcome
        });
        Running { ended }
    }
}

/// Clients wait for the end of stdin before they begin, so it has to be closed.
async fn send_prompt(child: &mut Child) {
    let mut stdin = child.stdin.take().unwrap();
    // A client that has exited already reports why on stderr.
    let _ = stdin.write_all(PROMPT.as_bytes()).await;
}

fn text(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()
}

/// A running client. It is killed with all its processes if the test ends first.
pub(crate) struct Running {
    ended: JoinHandle<ClientOutcome>,
}

impl Running {
    /// Waits until the model stands at `gate`; fails at once if the client ends before.
    pub(crate) async fn reaches(&mut self, gate: &Gate) {
        tokio::select! {
            () = gate.reached() => {}
            outcome = &mut self.ended => panic!("ended before the gate: {}", outcome.unwrap()),
        }
    }

    pub(crate) async fn finish(self) -> ClientOutcome {
        self.ended.await.unwrap()
    }
}

/// A process group, killed when dropped. Through `sh`, whose own `kill` is always there, as the
/// call itself would take unsafe code or one more dependency.
struct Group(u32);

impl Drop for Group {
    #[expect(clippy::disallowed_methods, reason = "drop cannot await")]
    fn drop(&mut self) {
        let kill = format!("kill -s KILL -- -{}", self.0);
        let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
    }
}
