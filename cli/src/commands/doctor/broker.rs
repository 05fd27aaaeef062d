//! Checks of `countersign doctor` on the broker: whether it runs, its data folder, the database and file permissions.

use super::Check;
use crate::client::discovery::{client, find};
use config::{Config, DataDir};
use std::{
    fs, io,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use store::read_only_database::ReadOnlyStore;

const GROUP: &str = "Broker";

/// A write-ahead log of this size was not merged into the database for a long time.
const MAX_WAL_BYTES: u64 = 256 << 20;

pub(super) async fn checks(config: &Config) -> Vec<Check> {
    let data_dir = &config.server.data_dir;
    let mut checks = vec![running(config).await];
    checks.extend(database(&data_dir.database()).await);
    checks.extend(permissions(data_dir));
    checks
}

async fn running(config: &Config) -> Check {
    let data_dir = &config.server.data_dir;
    let alive = match client() {
        Ok(client) => find(&client, data_dir).await,
        Err(_) => None,
    };
    if let Some(broker) = alive {
        return Check::ok(GROUP, "running", format!("pid {}, {}", broker.pid, broker.url));
    }
    if let Some(broker) = data_dir.running_broker() {
        let message = format!("pid {} was listening at {}, but does not answer", broker.pid, broker.url);
        let fix = "stop the process if it still exists, then run `countersign serve`";
        return Check::failure(GROUP, "running", message, fix);
    }
    let listen = config.server.listen;
    match TcpListener::bind(listen) {
        Ok(_) => Check::warning(GROUP, "running", format!("not running; {listen} is free"), "run `countersign serve`"),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let fix =
                "`countersign serve --listen 127.0.0.1:0` picks a free port; clients find it through the data folder";
            Check::warning(GROUP, "running", format!("not running, and another program listens on {listen}"), fix)
        }
        Err(error) => {
            let message = format!("not running, and {listen} cannot be used: {error}");
            Check::failure(GROUP, "running", message, "change server.listen")
        }
    }
}

async fn database(file: &Path) -> Vec<Check> {
    let name = "database";
    let Ok(metadata) = fs::metadata(file) else {
        return vec![Check::ok(GROUP, name, "none yet; the first start creates it")];
    };
    let wal = fs::metadata(format!("{}-wal", file.display())).map_or(0, |wal| wal.len());
    let sizes = format!("{}, {} in the write-ahead log", format_bytes(metadata.len()), format_bytes(wal));
    let mut store = match ReadOnlyStore::open(file).await {
        Ok(store) => store,
        Err(error) => {
            return vec![Check::failure(GROUP, name, error.to_string(), "see docs/operations.md, \"Backup\"")];
        }
    };
    let integrity = store.list_faults().await;
    store.close().await;
    let integrity = match integrity {
        Ok(faults) if faults.is_empty() => Check::ok(GROUP, name, format!("intact, {sizes}")),
        Ok(faults) => {
            let fix = "stop the broker, keep the file, and restore a backup: docs/operations.md, \"Backup\"";
            Check::failure(GROUP, name, format!("damaged: {}", faults.join("; ")), fix)
        }
        Err(error) => Check::failure(GROUP, name, format!("cannot be checked: {error}"), "check the disk"),
    };
    let mut checks = vec![integrity];
    if wal > MAX_WAL_BYTES {
        let fix = "restart the broker; if the log stays this long, another program keeps the database open";
        checks.push(Check::warning(GROUP, "write-ahead log", format_bytes(wal), fix));
    }
    checks
}

/// Whether only the owner can read the private files.
fn permissions(data_dir: &DataDir) -> Vec<Check> {
    let mode = |path: &Path| fs::metadata(path).map(|file| file.permissions().mode() & 0o777);
    let open = |path: &PathBuf| mode(path).is_ok_and(|mode| mode & 0o077 != 0);
    let found: Vec<_> = data_dir.private_files().into_iter().filter(|path| path.exists()).collect();
    let exposed: Vec<_> = found.iter().filter(|path| open(path)).map(|path| path.display().to_string()).collect();
    match (found.len(), exposed.as_slice()) {
        (0, _) => Vec::new(),
        (_, []) => vec![Check::ok(GROUP, "files", "readable by you only")],
        (_, exposed) => {
            let message = format!("other users can read {}", exposed.join(", "));
            vec![Check::failure(GROUP, "files", message, format!("chmod 600 {}", exposed.join(" ")))]
        }
    }
}

/// A number of bytes with a unit.
pub(super) fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut amount, mut unit) = (bytes as f64, 0);
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        (amount, unit) = (amount / 1024.0, unit + 1);
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{amount:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::format_bytes;

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(
            [0, 1023, 1024, 5 << 20, 3 << 40].map(format_bytes),
            ["0 bytes", "1023 bytes", "1.0 KiB", "5.0 MiB", "3.0 TiB"]
        );
    }
}
