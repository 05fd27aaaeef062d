//! The data folder: who serves it, and whether what is in it is whole and private.

use super::Check;
use crate::{
    cli::{
        instance::Note,
        locate::{client, find},
    },
    config::Config,
};
use std::{
    fs, io,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use store::read_only::ReadOnlyStore;

const GROUP: &str = "Broker";

/// A log that long was never written back into the database.
const LONG_WAL: u64 = 256 << 20;

pub(super) async fn checks(config: &Config) -> Vec<Check> {
    let data_dir = &config.server.data_dir;
    let mut checks = vec![running(config).await];
    checks.extend(database(&data_dir.join("countersign.db")).await);
    checks.extend(private(data_dir));
    checks
}

async fn running(config: &Config) -> Check {
    let data_dir = &config.server.data_dir;
    let alive = match client() {
        Ok(client) => find(&client, data_dir).await,
        Err(_) => None,
    };
    let (note, listen) = (Note::read(data_dir), config.server.listen);
    match (alive, note) {
        (Some(note), _) => Check::ok(GROUP, "running", format!("pid {}, {}", note.pid, note.url)),
        (None, Some(note)) => Check::failure(
            GROUP,
            "running",
            format!("pid {} said that it listens at {}, and does not answer", note.pid, note.url),
            "if that process still lives, it hangs: stop it; then `countersign serve`",
        ),
        (None, None) => match TcpListener::bind(listen) {
            Ok(_) => Check::warning(GROUP, "running", format!("no; {listen} is free for one"), "`countersign serve`"),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Check::warning(
                GROUP,
                "running",
                format!("no, and something else listens on {listen}"),
                "`countersign serve --listen 127.0.0.1:0` picks a free port; clients find it through the data folder",
            ),
            Err(error) => {
                Check::failure(GROUP, "running", format!("no, and {listen} is no use: {error}"), "server.listen")
            }
        },
    }
}

async fn database(file: &Path) -> Vec<Check> {
    let name = "database";
    let Ok(there) = fs::metadata(file) else {
        return vec![Check::ok(GROUP, name, "none yet: the first start makes it")];
    };
    let wal = fs::metadata(beside(file, "-wal")).map_or(0, |wal| wal.len());
    let says = format!("{}, {} not yet merged from its log", size(there.len()), size(wal));
    let mut ledger = match ReadOnlyStore::open(file).await {
        Ok(ledger) => ledger,
        Err(error) => {
            return vec![Check::failure(GROUP, name, error.to_string(), "see docs/operations.md, \"Backup\"")];
        }
    };
    let sound = ledger.list_faults().await;
    ledger.close().await;
    let whole = match sound {
        Ok(faults) if faults.is_empty() => Check::ok(GROUP, name, format!("whole, {says}")),
        Ok(faults) => {
            let fix = "stop the broker, keep the file, and restore a copy: docs/operations.md, \"Backup\"";
            Check::failure(GROUP, name, format!("damaged: {}", faults.join("; ")), fix)
        }
        Err(error) => Check::failure(GROUP, name, format!("cannot be checked: {error}"), "look at the disk"),
    };
    let mut checks = vec![whole];
    if wal > LONG_WAL {
        let fix = "restart the broker; if it stays so long, somebody reads the file and never ends";
        checks.push(Check::warning(GROUP, "write-ahead log", size(wal), fix));
    }
    checks
}

/// What only its owner may read.
fn private(data_dir: &Path) -> Vec<Check> {
    let files = ["countersign.db", "broker.json", "operator.token", "broker.lock", "broker.log"];
    let mode = |path: &Path| fs::metadata(path).map(|file| file.permissions().mode() & 0o777);
    let open = |path: &PathBuf| mode(path).is_ok_and(|mode| mode & 0o077 != 0);
    let found: Vec<_> = files.iter().map(|name| data_dir.join(name)).filter(|path| path.exists()).collect();
    let exposed: Vec<_> = found.iter().filter(|path| open(path)).map(|path| path.display().to_string()).collect();
    match (found.len(), exposed.as_slice()) {
        (0, _) => Vec::new(),
        (_, []) => vec![Check::ok(GROUP, "files", "only you can read them")],
        (_, exposed) => {
            let says = format!("others can read {}", exposed.join(", "));
            vec![Check::failure(GROUP, "files", says, format!("chmod 600 {}", exposed.join(" ")))]
        }
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Bytes as people say them.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut amount, mut unit) = (bytes as f64, 0);
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        (amount, unit) = (amount / 1024.0, unit + 1);
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{amount:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        assert_eq!(
            [0, 1023, 1024, 5 << 20, 3 << 40].map(size),
            ["0 bytes", "1023 bytes", "1.0 KiB", "5.0 MiB", "3.0 TiB"]
        );
    }
}
