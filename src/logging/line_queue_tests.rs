use super::*;

/// What the thread of the first test has written, and in how many writes.
static WRITTEN: Mutex<(Vec<u8>, usize)> = Mutex::new((Vec::new(), 0));

struct Counted;

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = WRITTEN.lock().unwrap();
        written.0.extend(bytes);
        written.1 += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_line_of_many_threads_is_written_once_and_in_its_order() {
    const LINES: usize = 20_000;
    let (queue, thread) = LineQueue::start(|| Box::new(Counted)).unwrap();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            let queue = queue.clone();
            // About twice what the queue holds.
            scope.spawn(move || (0..LINES).for_each(|n| queue.add(format!("{name} {n:>40}\n").as_bytes()).unwrap()));
        }
    });
    drop(thread);
    queue.add(b"after the end\n").unwrap();
    let (written, writes) = std::mem::take(&mut *WRITTEN.lock().unwrap());
    let text = String::from_utf8(written).unwrap();
    assert_eq!(text.lines().next_back(), Some("after the end"));
    for name in ["a ", "b ", "c "] {
        let numbers = text.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<usize>().ok());
        assert!(numbers.eq(0..LINES), "{name}");
    }
    assert!(writes < LINES, "{writes} writes");
}
