//! A spinner for long calls. It appears on terminals only, after a second, and disappears when the call ends.

use crate::render::style;
use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};
use tokio::time::{Instant, interval_at};

const SHOW_AFTER: Duration = Duration::from_secs(1);
const FRAME_INTERVAL: Duration = Duration::from_millis(120);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Awaits `work` and shows `what` beside a spinner if that takes long.
pub(crate) async fn during<T>(what: &str, work: impl Future<Output = T>) -> T {
    if !io::stderr().is_terminal() {
        return work.await;
    }
    let start = Instant::now();
    let mut frames = interval_at(start + SHOW_AFTER, FRAME_INTERVAL);
    let mut work = std::pin::pin!(work);
    let mut shown = 0;
    loop {
        tokio::select! {
            done = &mut work => {
                if shown > 0 {
                    draw("\r\u{1b}[2K");
                }
                return done;
            }
            _ = frames.tick() => {
                let frame = style::paint(style::BUSY, FRAMES[shown % FRAMES.len()]);
                draw(&format!("\r\u{1b}[2K{frame} {what} ({}s)", start.elapsed().as_secs()));
                shown += 1;
            }
        }
    }
}

fn draw(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
