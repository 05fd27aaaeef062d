//! Listing reviews, and waiting for the queue to change.

use super::{Answer, Broker};
use crate::{
    error::BrokerError,
    limits::Text,
    requests::{ListQuery, Listing, Wait},
    submission::unreadable,
};
use domain::review::Status;
use std::{collections::BTreeSet, sync::Arc};
use store::ReviewFilter;

impl Broker {
    pub async fn list(&self, query: ListQuery) -> Answer<Listing> {
        let limit = self.0.context.settings.limits.page(query.limit)?;
        let filters = self.filters(&query)?;
        let known = *self.0.feed.committed.borrow();
        let listed = self.0.context.reader.list_reviews(&filters, query.cursor.as_deref(), limit).await;
        let (page, last_queued) = listed.map_err(unreadable)?;
        // A caller that has seen the event of a row has seen all earlier ones.
        Ok(Listing { page: Arc::new(page), version: known.max(last_queued), timed_out: false })
    }

    /// Like [`Self::list`] for pending reviews, but waits until there is one that the caller may claim and that `since`
    /// does not cover.
    pub async fn wait_list(&self, query: ListQuery, wait: Wait) -> Answer<Listing> {
        let limit = self.0.context.settings.limits.page(query.limit)?;
        let query = ListQuery { status: Some(Status::Pending), cursor: None, for_work: true, ..query };
        let filters = self.filters(&query)?;
        let _waiter = self.admit_waiter()?;
        let deadline = self.wait_until(wait);
        let mut queued = self.0.feed.queued.clone();
        loop {
            queued.borrow_and_update();
            let known = *self.0.feed.committed.borrow();
            let shared = self.0.lists.first_page(&self.0.context.reader, filters.clone(), limit, known).await;
            let (page, last_queued) = shared.map_err(unreadable)?;
            let listing = |timed_out| Listing { page: Arc::clone(&page), version: known.max(last_queued), timed_out };
            let news = match wait.since {
                None => !page.items.is_empty(),
                Some(since) if last_queued > since => true,
                // A full page may hide newer reviews on later pages.
                Some(since) if page.next_cursor.is_some() => self.any_queued_after(&filters, since).await?,
                Some(_) => false,
            };
            if news {
                return Ok(listing(false));
            }
            tokio::select! {
                changed = queued.changed() => if changed.is_err() { return Ok(listing(true)) },
                () = tokio::time::sleep_until(deadline) => return Ok(listing(true)),
                () = self.0.context.closing.cancelled() => return Ok(listing(true)),
            }
        }
    }

    async fn any_queued_after(&self, filters: &[ReviewFilter], since: u64) -> Answer<bool> {
        for filter in filters {
            let newer = ReviewFilter { queued_after: Some(since), ..filter.clone() };
            if self.0.context.reader.has_reviews(&newer).await.map_err(unreadable)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One filter per project.
    fn filters(&self, query: &ListQuery) -> Answer<Vec<ReviewFilter>> {
        let limits = &self.0.context.settings.limits;
        limits.check(&[Text::name("caller_id", query.caller_id.as_deref())])?;
        let known = self.0.context.projects.names();
        for project in &query.projects {
            limits.check(&[Text::name("project", Some(project))])?;
            if !known.contains(project) {
                return Err(BrokerError::UnknownProject { given: project.clone(), known });
            }
        }
        let pending = query.status == Some(Status::Pending);
        let filter = |project: Option<String>| ReviewFilter {
            status: query.status,
            category: query.category,
            project,
            without_project: query.without_project,
            open_to: query.caller_id.clone().filter(|_| pending),
            not_by: query.caller_id.clone().filter(|_| query.for_work),
            queued_after: None,
        };
        let wanted: BTreeSet<&String> = query.projects.iter().collect();
        Ok(if wanted.is_empty() {
            vec![filter(None)]
        } else {
            wanted.into_iter().cloned().map(Some).map(filter).collect()
        })
    }
}
