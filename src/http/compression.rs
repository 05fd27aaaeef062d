//! Compresses responses for clients that accept it, such as a browser on another machine.

use tower_http::{
    CompressionLevel,
    compression::{
        CompressionLayer,
        predicate::{And, NotForContentType, Predicate as _, SizeAbove},
    },
};

/// Smaller bodies fit into one packet anyway, and most responses are smaller.
const MIN_BYTES: u16 = 1024;

type WorthCompressing = And<And<And<SizeAbove, NotForContentType>, NotForContentType>, NotForContentType>;

/// gzip, which every client knows, at its fastest level: most clients are on this machine. Events are sent one by one and
/// must not wait for a full block; images and fonts are compressed already.
pub(super) fn layer() -> CompressionLayer<WorthCompressing> {
    let worth = SizeAbove::new(MIN_BYTES)
        .and(NotForContentType::SSE)
        .and(NotForContentType::IMAGES)
        .and(NotForContentType::const_new("font/"));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth)
}
