//! Commands that need git's word first: what must be asked, and the task that asks it.

use super::ReviewMessage;
use crate::{
    Context,
    actor_stats::Mailbox,
    error::BrokerError,
    gateway::{CommandPayload, Reply},
    supervisor::SupervisorMessage,
};
use domain::{
    review::{CheckNeeded, Command, Refusal, Review, check_needed},
    time::Now,
};
use std::sync::Arc;

/// What a command waits for.
pub(super) enum Wanted {
    ActiveDiff,
    OfferedPatch,
    /// Accepting always makes a new content, also where git is not to be asked.
    Acceptance {
        patch: u64,
        checked: bool,
    },
}

/// What must be done outside of the mailbox before `command` can be decided.
pub(super) fn needed(review: &Review, command: &Command, now: Now) -> Result<Option<Wanted>, Refusal> {
    let check = check_needed(review, command, now)?;
    Ok(match (check, command) {
        (Some(CheckNeeded::ActiveDiff), _) => Some(Wanted::ActiveDiff),
        (Some(CheckNeeded::OfferedPatch), _) => Some(Wanted::OfferedPatch),
        (Some(CheckNeeded::PendingPatch { id }), _) => Some(Wanted::Acceptance { patch: id, checked: true }),
        (None, Command::AcceptCounterPatch(accept)) => {
            pending(review, accept.persona.as_deref()).map(|patch| Wanted::Acceptance { patch, checked: false })
        }
        (None, _) => None,
    })
}

fn pending(review: &Review, persona: Option<&str>) -> Option<u64> {
    let seat = review.seats.iter().find(|seat| seat.patch.is_some() && persona.is_none_or(|p| p == seat.persona));
    seat.and_then(|seat| seat.patch.as_ref()).map(|patch| patch.id)
}

/// Asks git and brings the command back to the review: by way of the supervisor, because its actor
/// may be another by then. Ends at once when the caller leaves.
pub(super) async fn run(
    context: Arc<Context>,
    review: Arc<Review>,
    wanted: Wanted,
    mut command: Box<Command>,
    mut attached: CommandPayload,
    mut reply: Reply,
    supervisor: Mailbox<SupervisorMessage>,
) {
    let outcome = tokio::select! {
        outcome = context.while_open(ask(&context, &review, &wanted, &mut command, &mut attached)) => outcome,
        () = reply.closed() => return,
    };
    let message = Box::new(ReviewMessage::Checked { command, attached, outcome, reply });
    supervisor.send(SupervisorMessage::Deliver { id: review.id, fresh: false, message });
}

async fn ask(
    context: &Context,
    review: &Review,
    wanted: &Wanted,
    command: &mut Command,
    attached: &mut CommandPayload,
) -> Result<(), BrokerError> {
    match (wanted, command) {
        (Wanted::ActiveDiff, Command::Claim(claim)) => {
            claim.check = context.check_active_diff(review).await?;
            claim.checked = Some(review.round.content_hash.clone());
        }
        (Wanted::OfferedPatch, Command::GiveVerdict(verdict)) => {
            if let (Some(offered), Some(text)) = (&mut verdict.patch, &attached.patch) {
                offered.check = context.check_offered_patch(review, text).await?;
            }
        }
        (Wanted::Acceptance { patch, checked }, Command::AcceptCounterPatch(accept)) => {
            attached.content = Some(context.prepare_acceptance(review, *patch, *checked, accept).await?);
        }
        // No other command is sent here.
        _ => {}
    }
    Ok(())
}
