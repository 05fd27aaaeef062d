//! Parses what an agent program prints about its session: its id, and errors which mean that the session cannot be
//! continued.

use serde::Deserialize;

/// What a line says about the session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SessionLine {
    /// The client has begun or continues the session with this id.
    Began { id: String },
    /// The client runs without the broker's tools.
    Disconnected,
    /// The model has said or done something, which the client records.
    Recorded,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Line {
    #[serde(rename = "thread.started")]
    ThreadStarted { thread_id: String },
    #[serde(rename = "system")]
    System {
        subtype: Option<String>,
        session_id: Option<String>,
        #[serde(default)]
        mcp_servers: Vec<McpServer>,
    },
    #[serde(rename = "assistant", alias = "item.started", alias = "item.completed")]
    Activity,
}

#[derive(Deserialize)]
struct McpServer {
    status: String,
}

/// Longer ids are not stored.
const MAX_ID_BYTES: usize = 200;

/// What a line of stdout says about the session, in order. Text of the model is inside JSON strings, so it cannot be
/// mistaken for such a line.
pub(crate) fn read_line(line: &str) -> Vec<SessionLine> {
    let line = line.trim();
    if !line.starts_with('{') {
        return Vec::new();
    }
    let began = |id: String| (id.len() <= MAX_ID_BYTES).then_some(SessionLine::Began { id });
    match serde_json::from_str(line) {
        Ok(Line::ThreadStarted { thread_id }) => began(thread_id).into_iter().collect(),
        Ok(Line::System { subtype, session_id, mcp_servers }) if subtype.as_deref() == Some("init") => {
            let is_missing =
                mcp_servers.iter().any(|server| !["connected", "pending"].contains(&server.status.as_str()));
            let disconnected = is_missing.then_some(SessionLine::Disconnected);
            session_id.and_then(began).into_iter().chain(disconnected).collect()
        }
        Ok(Line::Activity) => vec![SessionLine::Recorded],
        Ok(Line::System { .. }) | Err(_) => Vec::new(),
    }
}

/// Errors of Codex 0.166 and Claude Code 2.1 that mean that the session itself is the problem: it is lost, unreadable or
/// too long. Another session can succeed. Every other error would come back.
const LOST_SESSION_ERRORS: &[&str] = &[
    "no rollout found for thread id",
    "failed to read session metadata",
    "list_turns is not supported",
    "No conversation found with session ID",
    "context_length_exceeded",
    "Prompt is too long",
];

/// The first of these texts that says that the session cannot be continued.
pub(crate) fn find_lost_session<'a>(mut texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    texts.find(|text| LOST_SESSION_ERRORS.iter().any(|error| text.contains(error)))
}

#[cfg(test)]
mod tests {
    use super::{SessionLine, find_lost_session, read_line};

    #[test]
    fn both_clients_name_their_session() {
        let codex = r#"{"type":"thread.started","thread_id":"0199-a"}"#;
        assert_eq!(read_line(codex), [SessionLine::Began { id: "0199-a".into() }]);
        let claude = r#"{"type":"system","subtype":"init","session_id":"s-1","mcp_servers":[{"name":"countersign","status":"connected"}]}"#;
        assert_eq!(read_line(claude), [SessionLine::Began { id: "s-1".into() }]);
        for status in ["failed", "needs-auth"] {
            let line = claude.replace("connected", status);
            assert_eq!(read_line(&line), [SessionLine::Began { id: "s-1".into() }, SessionLine::Disconnected]);
        }
    }

    #[test]
    fn what_the_model_does_is_recorded() {
        assert_eq!(read_line(r#"{"type":"assistant","message":{"content":[]}}"#), [SessionLine::Recorded]);
        assert_eq!(read_line(r#"{"type":"item.completed","item":{"type":"agent_message"}}"#), [SessionLine::Recorded]);
        for other in
            ["", "thread.started", "{", r#"{"type":"system","subtype":"status"}"#, r#"{"type":"turn.started"}"#]
        {
            assert_eq!(read_line(other), [], "{other}");
        }
        let long = format!(r#"{{"type":"thread.started","thread_id":"{}"}}"#, "x".repeat(201));
        assert_eq!(read_line(&long), []);
    }

    #[test]
    fn only_errors_of_the_session_itself_count_as_lost() {
        let lost = "Error: thread/resume: no rollout found for thread id 0199-a (code -32600)";
        assert_eq!(find_lost_session(["warning", lost].into_iter()), Some(lost));
        let troubles = ["already has an active writer", "401 Unauthorized", "MCP startup failed", "max budget reached"];
        assert_eq!(find_lost_session(troubles.into_iter()), None);
    }
}
