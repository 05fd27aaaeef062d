//! Pages that end where they have become long: events hold texts, and a page of the longest would be huge.

use crate::StoreError;
use futures::{Stream, StreamExt as _};
use std::pin::pin;

/// Bytes of text after which a page ends. One row more may be read, so that every page gets further.
pub(crate) const PAGE_BYTES: usize = 2 << 20;

/// The rows that fit, and whether all came.
pub(crate) async fn collect<R>(
    rows: impl Stream<Item = Result<R, sqlx::Error>>,
    size: impl Fn(&R) -> usize,
) -> Result<(Vec<R>, bool), StoreError> {
    let (mut rows, mut kept, mut bytes) = (pin!(rows), Vec::new(), 0);
    while let Some(row) = rows.next().await {
        let row = row?;
        bytes += size(&row);
        kept.push(row);
        if bytes >= PAGE_BYTES {
            return Ok((kept, false));
        }
    }
    Ok((kept, true))
}
