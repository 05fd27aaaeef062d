//! The protocol, judged by the official conformance suites in both their versions.

use crate::support::{
    agent_clients::are_skipped,
    broker::TestBroker,
    conformance_suite::{legacy, modern},
};

#[tokio::test]
async fn the_revisions_with_a_handshake_are_spoken_as_the_suites_want() {
    if are_skipped("the conformance suites for 2025-06-18 and 2025-11-25") {
        return;
    }
    let broker = TestBroker::start().await;
    legacy(&broker.mcp_url()).await.assert_passed();
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_revision_without_a_handshake_is_spoken_as_the_suite_wants() {
    if are_skipped("the conformance suite for 2026-07-28") {
        return;
    }
    let broker = TestBroker::start().await;
    modern(&broker.mcp_url()).await.assert_passed();
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_roles_endpoint_conforms_as_well() {
    if are_skipped("the conformance suite on the roles' endpoints") {
        return;
    }
    let broker = TestBroker::start().await;
    modern(&broker.url("/mcp/proposer")).await.assert_passed();
    modern(&broker.url("/mcp/reviewer")).await.assert_passed();
    broker.stop_and_check().await;
}
