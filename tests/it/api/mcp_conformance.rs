//! The official MCP conformance suites, in both versions.

use crate::support::{
    agent_clients::are_skipped,
    broker::TestBroker,
    conformance_suite::{legacy, modern},
};

#[tokio::test]
async fn the_revisions_with_a_handshake_pass_the_conformance_suites() {
    if are_skipped("the conformance suites for 2025-06-18 and 2025-11-25") {
        return;
    }
    let broker = TestBroker::start().await;
    legacy(&broker.mcp_url()).await.assert_passed();
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_revision_without_a_handshake_passes_the_conformance_suite() {
    if are_skipped("the conformance suite for 2026-07-28") {
        return;
    }
    let broker = TestBroker::start().await;
    modern(&broker.mcp_url()).await.assert_passed();
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_endpoint_of_a_role_passes_the_conformance_suite() {
    if are_skipped("the conformance suite on the roles' endpoints") {
        return;
    }
    let broker = TestBroker::start().await;
    modern(&broker.url("/mcp/proposer")).await.assert_passed();
    modern(&broker.url("/mcp/reviewer")).await.assert_passed();
    broker.stop_and_check().await;
}
