use super::*;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{self, Poll};
use std::{fs, io};
use tempfile::TempDir;
use tokio::io::{AsyncWriteExt as _, DuplexStream, ReadBuf, duplex};

const PLENTY: Duration = Duration::from_secs(30);

struct Scene {
    folder: TempDir,
    stdout: DuplexStream,
    stderr: DuplexStream,
    output: Output,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Scene {
    fn begin(caps: Caps) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log =
            Log { path: folder.path().join("r1.log"), heading: None, secret: Some("s3cret-t0ken".to_owned()), caps };
        let ((stdout, out), (stderr, err)) = (duplex(64 * 1024), duplex(64 * 1024));
        let output = Output::drain(out, err, log, {
            let heard = heard.clone();
            move |line: Option<&str>| heard.lock().unwrap().extend(line.map(str::to_owned))
        });
        Self { folder, stdout, stderr, output, heard }
    }

    /// Closes the pipes and collects everything that was kept; log lines without their timestamps.
    async fn end(self) -> End {
        drop((self.stdout, self.stderr));
        let tail = tokio::time::timeout(PLENTY, self.output.finish()).await.expect("drained");
        let heard = self.heard.lock().unwrap().clone();
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        let unstamped = |text: String| -> Vec<String> {
            let lines = text.lines().map(|line| line.split_once(' ').expect("stamped"));
            lines.inspect(|(stamp, _)| check_stamp(stamp)).map(|(_, line)| line.to_owned()).collect()
        };
        let (log, old) = (unstamped(read("r1.log")), unstamped(read("r1.log.1")));
        End { tail, heard, log, old, folder: self.folder }
    }
}

struct End {
    tail: Vec<String>,
    heard: Vec<String>,
    log: Vec<String>,
    old: Vec<String>,
    folder: TempDir,
}

fn check_stamp(stamp: &str) {
    assert!(stamp.parse::<jiff::Timestamp>().is_ok() && stamp.len() == 20, "{stamp}");
}

#[tokio::test]
async fn both_streams_are_logged_and_complete_lines_of_stdout_are_passed_on() {
    let mut scene = Scene::begin(Caps::default());
    scene.stdout.write_all(b"{\"usage\": 1}\n\nlast").await.unwrap();
    scene.stderr.write_all("warning: \u{1b}[31mred\n".as_bytes()).await.unwrap();
    let end = scene.end().await;
    let mut log = end.log.clone();
    log.sort();
    assert_eq!(log, [r"err warning: \u{1b}[31mred", "out ", "out last", "out {\"usage\": 1}"]);
    assert_eq!(end.heard, ["{\"usage\": 1}", "", "last"]);
    assert_eq!(end.tail, [r"warning: \u{1b}[31mred"]);
    let mode = fs::metadata(end.folder.path().join("r1.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_secret_is_replaced_even_if_it_arrives_in_pieces() {
    let mut scene = Scene::begin(Caps::default());
    for piece in ["Bearer s3cr", "et-t0", "ken!\n"] {
        scene.stdout.write_all(piece.as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
    }
    scene.stderr.write_all(b"s3cret-t0ken").await.unwrap();
    let end = scene.end().await;
    assert_eq!(end.heard, ["Bearer [token]!"]);
    assert_eq!(end.tail, ["[token]"]);
    assert!(end.log.contains(&"out Bearer [token]!".to_owned()) && end.log.contains(&"err [token]".to_owned()));
}

#[tokio::test]
async fn a_long_line_is_cut_with_a_note() {
    let mut scene = Scene::begin(Caps { log_line: 20, stdout_line: 40, ..Caps::default() });
    scene.stdout.write_all(format!("{}\n{}\n", "a".repeat(30), "b".repeat(50)).as_bytes()).await.unwrap();
    let end = scene.end().await;
    assert_eq!(end.log, ["out aaaaaaaaaaaaaaaaaaaa [10 bytes cut]", "out bbbbbbbbbbbbbbbbbbbb [30 bytes cut]"]);
    // Only the first line was short enough to be passed on.
    assert_eq!(end.heard, ["a".repeat(30)]);
}

#[tokio::test]
async fn a_full_log_is_rotated_and_one_old_file_is_kept() {
    let mut scene = Scene::begin(Caps { log_file: 1000, ..Caps::default() });
    for n in 0..100 {
        scene.stdout.write_all(format!("line {n}\n").as_bytes()).await.unwrap();
    }
    let end = scene.end().await;
    // Each file says how much was written before it.
    let [old, log] = [&end.old, &end.log].map(|file| {
        let offset = file[0].strip_prefix("--- continues at byte ").expect("it continues another file");
        (offset.parse::<u64>().unwrap(), file[1..].to_vec())
    });
    assert_eq!(old.0 + fs::metadata(end.folder.path().join("r1.log.1")).unwrap().len(), log.0);
    let kept: Vec<_> = old.1.into_iter().chain(log.1).collect();
    let last: Vec<_> = (100 - kept.len()..100).map(|n| format!("out line {n}")).collect();
    assert_eq!(kept, last);
    for name in ["r1.log", "r1.log.1"] {
        let size = fs::metadata(end.folder.path().join(name)).unwrap().len();
        assert!((1..=1000).contains(&size), "{name} has {size} bytes");
    }
    assert_eq!(fs::read_dir(end.folder.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_line_that_is_longer_than_a_file_gets_its_own() {
    let mut scene = Scene::begin(Caps { log_file: 100, ..Caps::default() });
    for letter in ["a", "b", "c"] {
        scene.stdout.write_all(format!("{}\n", letter.repeat(300)).as_bytes()).await.unwrap();
    }
    let end = scene.end().await;
    assert_eq!(end.old.last(), Some(&format!("out {}", "b".repeat(300))));
    assert_eq!(end.log.last(), Some(&format!("out {}", "c".repeat(300))));
}

#[tokio::test]
async fn after_the_total_nothing_is_logged_but_the_last_lines_are_kept() {
    let mut scene = Scene::begin(Caps { total: 10_000, ..Caps::default() });
    for _ in 0..1000 {
        scene.stdout.write_all(b"0123456789012345678901234567890123456789\n").await.unwrap();
    }
    scene.stdout.write_all(b"the answer\n").await.unwrap();
    let end = scene.end().await;
    assert_eq!(end.log.last().unwrap(), "--- nothing is logged after 10000 bytes");
    assert_eq!(end.log.iter().filter(|line| line.starts_with("---")).count(), 1);
    assert!(end.log.len() < 1000);
    assert_eq!(end.heard.len(), 1001);
    assert_eq!((end.tail.len(), end.tail.last().unwrap().as_str()), (20, "the answer"));
}

#[tokio::test]
async fn the_last_lines_are_bounded() {
    let mut scene = Scene::begin(Caps::default());
    scene.stdout.write_all(b"an answer\n").await.unwrap();
    for n in 0..30 {
        scene.stderr.write_all(format!("{n} {}\n\n", "é".repeat(600)).as_bytes()).await.unwrap();
    }
    let tail = scene.end().await.tail;
    assert_eq!(tail.len(), 20);
    assert!(tail.first().unwrap().starts_with("10 é") && tail.last().unwrap().starts_with("29 é"));
    assert!(tail.iter().all(|line| line.chars().count() == 500 && line.ends_with('…')));
}

#[tokio::test]
async fn a_pipe_that_another_process_holds_open_delays_the_end_by_a_second() {
    let mut scene = Scene::begin(Caps::default());
    scene.stderr.write_all(b"last words\n").await.unwrap();
    let Scene { output, stdout, stderr, folder, .. } = scene;
    let tail = tokio::time::timeout(PLENTY, output.finish()).await.expect("not for ever");
    assert_eq!(tail, ["last words"]);
    drop((stdout, stderr, folder));
}

#[tokio::test]
async fn a_log_that_cannot_be_written_does_not_stop_the_draining() {
    let mut scene = Scene::begin(Caps::default());
    fs::create_dir(scene.folder.path().join("r1.log")).unwrap();
    for _ in 0..10_000 {
        scene.stdout.write_all(b"a line that goes nowhere\n").await.unwrap();
    }
    drop((scene.stdout, scene.stderr));
    assert_eq!(tokio::time::timeout(PLENTY, scene.output.finish()).await.expect("drained").len(), 20);
}

#[test]
fn a_line_of_200_megabytes_uses_a_bounded_buffer() {
    let on_line = |line: Option<&str>| assert_eq!(line.map(str::len), None, "heard");
    let mut splitter = LineSplitter::new(Caps::default(), Some("s3cret".to_owned()), Arc::default(), on_line);
    let chunk = vec![b'x'; CHUNK_BYTES];
    for _ in 0..200 * 1024 * 1024 / CHUNK_BYTES {
        splitter.push(Source::Stdout, &chunk);
        splitter.push(Source::Stderr, b"!");
        assert!(splitter.buffered() < 1024 * 1024);
    }
    splitter.unwritten.clear();
    splitter.push(Source::Stderr, b"\n");
    splitter.finish();
    assert!(splitter.buffered() < 1024 * 1024);
}

#[test]
fn the_worst_chunk_gives_a_bounded_number_of_bytes_to_write() {
    for worst in [b"\n", b"\x1b"] {
        let mut splitter = LineSplitter::new(Caps::default(), None, Arc::default(), |_: Option<&str>| {});
        splitter.push(Source::Stdout, &worst.repeat(CHUNK_BYTES));
        splitter.finish();
        assert!(splitter.buffered() < 2 * 1024 * 1024);
    }
}

/// Always ready, like a pipe that is filled faster than it is read.
struct Flood(Arc<AtomicUsize>);

impl AsyncRead for Flood {
    fn poll_read(self: Pin<&mut Self>, _: &mut task::Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.0.fetch_add(1, Relaxed) < 100 {
            into.initialize_unfilled().fill(b'\n');
            into.advance(into.remaining());
        }
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn endless_output_leaves_other_tasks_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let caps = Caps { total: 0, ..Caps::default() };
    let log = Log { path: folder.path().join("r1.log"), heading: None, secret: None, caps };
    let reads = Arc::new(AtomicUsize::new(0));
    let _output = Output::drain(Flood(reads.clone()), tokio::io::empty(), log, |_| {});
    // After the first read the log gets its final note and is full.
    while reads.load(Relaxed) < 2 {
        yield_now().await;
    }
    for _ in 0..20 {
        yield_now().await;
    }
    assert!(reads.load(Relaxed) <= 2 + 20, "{reads:?}");
}
