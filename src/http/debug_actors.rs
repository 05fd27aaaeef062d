//! Serves `/debug/actors`: the tree of live actors, as JSON or as text.

use super::problem_details::{problem, unavailable};
use actors::{
    Broker,
    actor_tree_report::{CallStats, MAX_LISTED_REVIEWS, Node, Tree, WriterStats},
};
use api::{ErrorBody, ErrorCode};
use axum::{
    Json,
    extract::{Query, State},
    http::{HeaderMap, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use std::fmt::Write as _;

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    format: Option<String>,
}

pub(super) async fn show(State(broker): State<Broker>, Query(params): Query<Params>, headers: HeaderMap) -> Response {
    let as_text = match params.format.as_deref() {
        Some("text") => true,
        Some("json") => false,
        Some(_) => {
            return problem(ErrorBody::new(ErrorCode::UnknownFormat, "unknown format; allowed: json, text"));
        }
        None => headers
            .get(header::ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .is_some_and(|accept| accept.contains("text/plain")),
    };
    match broker.actors(MAX_LISTED_REVIEWS).await {
        Ok(tree) if as_text => render(&tree).into_response(),
        Ok(tree) => Json(tree).into_response(),
        Err(error) => problem(unavailable(&error)),
    }
}

fn render(tree: &Tree) -> String {
    let mut text = describe(&tree.root);
    text.push('\n');
    render_children(&mut text, &tree.root.children, "");
    if tree.more_reviews > 0 {
        let _ = writeln!(text, "… and {} more live reviews", tree.more_reviews);
    }
    let WriterStats { commits, changes, waiting } = tree.store;
    let _ = writeln!(text, "store  {changes} changes in {commits} transactions, {waiting} waiting");
    let CallStats { in_flight, waiting } = tree.calls;
    let _ = writeln!(text, "calls  {in_flight} in flight, {waiting} waiting for a change");
    text
}

fn render_children(text: &mut String, children: &[Node], indent: &str) {
    for (index, child) in children.iter().enumerate() {
        let last = index + 1 == children.len();
        let (connector, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let _ = writeln!(text, "{indent}{connector}{}", describe(child));
        render_children(text, &child.children, &format!("{indent}{below}"));
    }
}

fn describe(node: &Node) -> String {
    let Node { kind, id, state, mailbox, handled, restarts, uptime_ms, last_error, children: _ } = node;
    let seconds = uptime_ms / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut line = format!(
        "{kind} {id}  {state}  mailbox {mailbox}  handled {handled}  restarts {restarts}  up {hours}:{minutes:02}:{seconds:02}"
    );
    if let Some(error) = last_error {
        let _ = write!(line, "  last error: {}", error.escape_debug());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::render;
    use actors::actor_tree_report::{CallStats, Node, Tree, WriterStats};

    fn node(kind: &'static str, id: &str, children: Vec<Node>) -> Node {
        Node {
            kind,
            id: id.into(),
            state: "running".into(),
            mailbox: 0,
            handled: 7,
            restarts: 0,
            uptime_ms: 3_723_000,
            last_error: (id == "R-2").then(|| "red\u{1b}[31m".into()),
            children,
        }
    }

    #[test]
    fn the_tree_is_rendered_and_control_characters_are_escaped() {
        let reviews = vec![node("review", "R-1", vec![]), node("review", "R-2", vec![])];
        let root = node("supervisor", "-", vec![node("gateway", "-", vec![]), node("group", "reviews", reviews)]);
        let store = WriterStats { commits: 2, changes: 9, waiting: 1 };
        let text = render(&Tree {
            root,
            store,
            calls: CallStats { in_flight: 4, waiting: 5 },
            more_reviews: 3,
            reviews: Default::default(),
        });
        assert_eq!(
            text,
            "supervisor -  running  mailbox 0  handled 7  restarts 0  up 1:02:03\n\
             ├─ gateway -  running  mailbox 0  handled 7  restarts 0  up 1:02:03\n\
             └─ group reviews  running  mailbox 0  handled 7  restarts 0  up 1:02:03\n   \
             ├─ review R-1  running  mailbox 0  handled 7  restarts 0  up 1:02:03\n   \
             └─ review R-2  running  mailbox 0  handled 7  restarts 0  up 1:02:03  last error: red\\u{1b}[31m\n\
             … and 3 more live reviews\n\
             store  9 changes in 2 transactions, 1 waiting\n\
             calls  4 in flight, 5 waiting for a change\n"
        );
    }
}
