//! Shares list pages between waiting calls: when the queue changes, one of them reads the page for all.

use domain::review::{Review, Status};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use store::{Page, Reader, ReviewFilter, StoreError};
use tokio::sync::OnceCell;

/// A page, and the highest queue event of its rows.
pub(crate) type Shared = (Arc<Page<Review>>, u64);

/// The most different pages kept at once. A caller that waits for a dropped page still gets it.
const MAX_PAGES: usize = 256;

#[derive(Default)]
pub(crate) struct SharedLists(Mutex<Current>);

#[derive(Default)]
struct Current {
    seq: u64,
    pages: HashMap<(Vec<ReviewFilter>, u32), Arc<OnceCell<Shared>>>,
}

impl SharedLists {
    /// The first page as of event `seq` or later.
    pub(crate) async fn first_page(
        &self,
        reader: &Reader,
        filters: Vec<ReviewFilter>,
        limit: u32,
        seq: u64,
    ) -> Result<Shared, StoreError> {
        debug_assert!(filters.iter().all(|filter| filter.status == Some(Status::Pending)));
        let cell = {
            let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Pages are shared only until the next event, and the map must not grow without limit.
            if current.seq != seq || current.pages.len() >= MAX_PAGES {
                current.seq = seq;
                current.pages.clear();
            }
            Arc::clone(current.pages.entry((filters.clone(), limit)).or_default())
        };
        let read = || async {
            let (page, last_queued) = reader.list_reviews(&filters, None, limit).await?;
            Ok((Arc::new(page), last_queued))
        };
        cell.get_or_try_init(read).await.cloned()
    }
}
