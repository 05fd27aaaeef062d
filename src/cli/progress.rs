//! Something that moves while a call takes long: only on a terminal, only after a second, gone when the call is done.

use super::{render::style, terminal};
use std::{
    io::{self, Write as _},
    time::Duration,
};
use tokio::time::{Instant, interval_at};

const PATIENCE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(120);
const SIGNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Waits for `work`, and says for what if that takes longer than a moment.
pub(super) async fn during<T>(what: &str, work: impl Future<Output = T>) -> T {
    if !terminal::is_watched() {
        return work.await;
    }
    let start = Instant::now();
    let mut steps = interval_at(start + PATIENCE, STEP);
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
            _ = steps.tick() => {
                let sign = style::paint(style::BUSY, SIGNS[shown % SIGNS.len()]);
                draw(&format!("\r\u{1b}[2K{sign} {what} ({}s)", start.elapsed().as_secs()));
                shown += 1;
            }
        }
    }
}

fn draw(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
