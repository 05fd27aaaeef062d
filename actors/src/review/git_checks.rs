//! Commands that wait for git: a task of its own does the work and sends the completed command back.

use super::ReviewMessage;
use crate::{
    error::BrokerError,
    gateway::{CommandPayload, ReplySender},
    mailbox::Mailbox,
    submission::Submissions,
    supervisor::SupervisorMessage,
};
use domain::review::{CheckNeeded, CheckedDiff, Command, Review};
use std::sync::Arc;

/// Does what `needed` asks for and sends the command back to the review: through the supervisor, because the review
/// may have another actor by then. Stops when the caller goes away.
pub(super) async fn run(
    submissions: Arc<Submissions>,
    review: Arc<Review>,
    needed: CheckNeeded,
    mut command: Box<Command>,
    mut payload: CommandPayload,
    mut reply: ReplySender,
    supervisor: Mailbox<SupervisorMessage>,
) {
    let completing = complete(&submissions, &review, &needed, &mut command, &mut payload);
    let outcome = tokio::select! {
        outcome = submissions.shared.until_shutdown(completing) => outcome,
        () = reply.closed() => return,
    };
    let message = Box::new(ReviewMessage::Checked { command, payload, outcome, reply });
    supervisor.send(SupervisorMessage::Deliver { id: review.id, fresh: false, message });
}

async fn complete(
    submissions: &Submissions,
    review: &Review,
    needed: &CheckNeeded,
    command: &mut Command,
    payload: &mut CommandPayload,
) -> Result<(), BrokerError> {
    match (needed, command) {
        (CheckNeeded::ActiveDiff, Command::Claim(claim)) => {
            let check = submissions.check_active_diff(review).await?;
            claim.check = check.map(|check| CheckedDiff { content_hash: review.round.content_hash.clone(), check });
        }
        (CheckNeeded::OfferedPatch, Command::GiveVerdict(verdict)) => {
            if let (Some(offered), Some(text)) = (&mut verdict.patch, &payload.patch) {
                offered.check = Some(submissions.check_offered_patch(review, text).await?);
            }
        }
        (CheckNeeded::PendingPatch { id }, Command::AcceptCounterPatch(accept)) => {
            let (content, patched) = submissions.apply_counter_patch(review, *id).await?;
            payload.content = Some(content);
            accept.patched = Some(patched);
        }
        // `check_needed` pairs each kind of work with one command.
        _ => {}
    }
    Ok(())
}
