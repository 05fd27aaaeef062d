//! Reads the tree of running actors for an operator.

use super::{Call, error::CallError};
use actors::actor_tree_report::{MAX_LISTED_REVIEWS, Node};
use api::actor_tree::{ActorNode, Actors, CallCounters, StoreCounters};
use api::operation::NoArguments;

pub(super) async fn get(call: &Call<'_>, _: NoArguments) -> Result<Actors, CallError> {
    let tree = call.broker.actors(MAX_LISTED_REVIEWS).await?;
    let (store, calls) = (tree.store, tree.calls);
    Ok(Actors {
        root: actor(tree.root),
        store: StoreCounters { commits: store.commits, changes: store.changes, waiting: store.waiting },
        calls: CallCounters { in_flight: calls.in_flight, waiting: calls.waiting },
        more_reviews: tree.more_reviews,
    })
}

fn actor(node: Node) -> ActorNode {
    let Node { kind, id, state, mailbox, handled, restarts, uptime_ms, last_error, children } = node;
    let children = children.into_iter().map(actor).collect();
    ActorNode { kind: kind.into(), id, state, mailbox, handled, restarts, uptime_ms, last_error, children }
}
