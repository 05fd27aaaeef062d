use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use domain::text::is_hidden;

use super::*;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(format: LogFormat, rust_log: Option<&str>, log: impl FnOnce()) -> String {
    let lines = Lines::default();
    let settings = Log { filter: "info".to_owned(), format };
    let writer = lines.clone();
    let subscriber = subscriber(&settings, rust_log, false, move || writer.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, log);
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

const HOSTILE: &str = "fix\x1b[31m the\nbug\u{202e}\u{9b}2J";

fn log_hostile_text() {
    let span = tracing::info_span!("call", agent = %HOSTILE);
    let _entered = span.enter();
    tracing::info!(intent = %HOSTILE, quoted = HOSTILE, debug = ?HOSTILE, "message {HOSTILE}");
}

#[test]
fn a_text_log_line_escapes_control_characters() {
    let text = logged(LogFormat::Text, None, log_hostile_text);
    let line = text.strip_suffix('\n').unwrap();
    assert!(!line.contains(is_hidden), "{line:?}");
    let shown = r"fix\u{1b}[31m the\nbug\u{202e}\u{9b}2J";
    assert!(line.contains(&format!("message {shown}")), "{line}");
    assert!(line.contains(&format!("intent={shown}")), "{line}");
    assert!(line.contains(&format!("call{{agent={shown}}}")), "{line}");
    assert_eq!(line.matches(r"fix\u{1b}[31m the\nbug").count(), 5, "{line}");
}

#[test]
fn a_json_log_line_escapes_control_characters_and_parses_back() {
    let text = logged(LogFormat::Json, None, log_hostile_text);
    let line = text.strip_suffix('\n').unwrap();
    assert!(!line.contains(is_hidden), "{line:?}");
    let event: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(event["intent"], HOSTILE);
    assert_eq!(event["level"], "INFO");
    assert_eq!(event["span"]["agent"], HOSTILE);
}

#[test]
fn rust_log_takes_precedence_over_the_setting() {
    let quiet = logged(LogFormat::Text, None, || tracing::debug!("hidden"));
    assert_eq!(quiet, "");
    let loud = logged(LogFormat::Text, Some("debug"), || tracing::debug!("shown"));
    assert!(loud.contains("shown"));
    let unset = logged(LogFormat::Text, Some(""), || tracing::info!("as configured"));
    assert!(unset.contains("as configured"));
}

#[test]
fn an_invalid_rust_log_is_named_in_the_error() {
    let log = Log { filter: "info".to_owned(), format: LogFormat::Text };
    let error = subscriber(&log, Some("countersign=loud"), false, io::sink).err().unwrap();
    assert!(error.to_string().contains("RUST_LOG"), "{error}");
}
