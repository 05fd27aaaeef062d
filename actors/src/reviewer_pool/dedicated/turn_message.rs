//! The message that begins a turn of a dedicated reviewer. It repeats everything that the
//! reviewer must know to act, because a client may continue its session with lost history and without an error.

use crate::reviewer_pool::{
    prompt_quoting::{MAX_DIFF_BYTES, MAX_TEXT_BYTES, QuotedPrompt},
    review_for_prompt::PromptContext,
};
use domain::{
    persona::Persona,
    query_types::Message,
    review::{Review, Seat},
    waiting_on::TurnReason,
};
use std::fmt::Write as _;

/// What the message tells.
pub(super) struct TurnMessage<'a> {
    pub(super) persona: &'a Persona,
    pub(super) reviewer: &'a str,
    pub(super) review: &'a Review,
    pub(super) context: &'a PromptContext,
    pub(super) why: TurnReason,
    /// If not, the reviewer has voted and is asked something.
    pub(super) owes_vote: bool,
    pub(super) generation: u32,
    /// The client continues a session, so it knows the proposal and its own work.
    pub(super) resumes: bool,
    pub(super) turn: u32,
    /// What went wrong in an earlier run of this turn.
    pub(super) earlier: Option<&'a str>,
}

impl TurnMessage<'_> {
    pub(super) fn render(&self, mark: &str) -> String {
        let mut prompt = QuotedPrompt::new(mark);
        // Also in a session that continues: a session that was cut short has lost its beginning.
        prompt.paragraph(self.persona.prompt.trim());
        prompt.paragraph(&self.role());
        if let Some(earlier) = self.earlier {
            prompt.paragraph(&format!(
                "Your last run of this turn did not end well: {earlier}. Check with get_review_status and get_discussion \
                 what of your work has arrived before you repeat it."
            ));
        }
        prompt.paragraph(&self.facts());
        prompt.paragraph(&self.task());
        prompt.explain_quotes();
        self.quote(&mut prompt);
        prompt.finish()
    }

    fn role(&self) -> String {
        let Self { reviewer, review, persona, .. } = self;
        let mut text = format!(
            "You are `{reviewer}`, the reviewer of the seat `{}` in review {}. You stay with this review until it ends, and \
             take part in turns. This is turn {}.",
            persona.name, review.number, self.turn
        );
        if !persona.focus.trim().is_empty() {
            let _ = write!(text, " Your focus: {}.", persona.focus.trim().trim_end_matches('.'));
        }
        if !persona.ignore.is_empty() {
            let _ = write!(text, " Ignore files that match any of: {}.", persona.ignore.join(", "));
        }
        text.push_str(
            " Act only with the tools of the MCP server `countersign`, and read files in your working folder. Do what this \
             turn asks for, then end it: do not wait and do not poll. The broker starts you again when it is your turn.",
        );
        text
    }

    fn facts(&self) -> String {
        let Review { number, round, .. } = self.review;
        let folder = match (self.context.has_copy, self.context.diff.is_some()) {
            (true, true) => "your working folder is a new copy of the project with the change applied",
            (true, false) => "your working folder is a new copy of the project",
            (false, _) => "there is no copy of the project: judge by this text and get_proposal",
        };
        format!(
            "For your calls: review_id {number}, reviewer_id and caller_id {}, claim_generation {}, content_hash {}. It is \
             round {}; {folder}.",
            self.reviewer, self.generation, round.content_hash.0, round.number
        ) + if self.resumes {
            " If you do not remember this review, read it with get_proposal and get_discussion."
        } else {
            ""
        }
    }

    fn task(&self) -> String {
        let why = match self.why {
            TurnReason::Unclaimed | TurnReason::Reviewing if self.context.last_vote.is_some() => {
                "there is a change to what you have reviewed"
            }
            TurnReason::Message => "you have a new message",
            TurnReason::IssueAnswered => "the proposer has answered or disputed an issue of yours",
            TurnReason::CounterPatchAccepted => {
                "the proposer has accepted a counter-patch, which is now the change under review"
            }
            TurnReason::CounterPatchRejected => "the proposer has rejected your counter-patch",
            TurnReason::Unclaimed
            | TurnReason::Reviewing
            | TurnReason::CounterPatchOffered
            | TurnReason::ChangesRequested
            | TurnReason::DiffDoesNotApply
            | TurnReason::Approved
            | TurnReason::Rejected
            | TurnReason::Cancelled
            | TurnReason::Escalated => "the change waits for your verdict",
        };
        let acts = if self.owes_vote {
            "Answer what you are asked, mark issues of yours that are done with update_issue, and give your verdict with \
             submit_verdict: approved, changes_requested or rejected, with your issues, suggestions or a counter_patch. If \
             you cannot decide without an answer of the proposer, ask with add_message instead and end your turn."
        } else {
            "You have voted, and your vote stands. Answer with add_message, or with update_issue if it is about an issue of \
             yours. submit_verdict changes your vote."
        };
        format!("It is your turn because {why}. {acts}")
    }

    fn quote(&self, prompt: &mut QuotedPrompt<'_>) {
        let context = self.context;
        if !self.resumes {
            prompt.quote("intent", &context.intent, MAX_TEXT_BYTES);
            if let Some(description) = &context.description {
                prompt.quote("description", description, MAX_TEXT_BYTES);
            }
        }
        if let Some(vote) = &context.last_vote {
            vote.write_to(prompt);
        }
        if !context.findings.is_empty() {
            prompt.paragraph("These findings are open. Do not raise them again.");
            prompt.quote("open findings", &context.findings.join("\n"), MAX_TEXT_BYTES);
        }
        if self.resumes {
            prompt.quote_discussion("new messages", &self.new_messages());
        } else {
            prompt.quote_discussion("discussion", &context.discussion);
        }
        // A session that continues has the diff of the round it has judged, and the quote of what changed since.
        let is_known = self.resumes && context.last_vote.is_some();
        if let Some(diff) = context.diff.as_ref().filter(|_| !is_known) {
            prompt.paragraph("This is the whole change, as a diff.");
            prompt.quote("diff", diff, MAX_DIFF_BYTES);
        }
    }

    /// Messages after the last act of this seat that its reviewer can read.
    fn new_messages(&self) -> Vec<Message> {
        let seat: Option<&Seat> = self.review.seats.iter().find(|seat| seat.persona == self.persona.name);
        let last_act = seat.and_then(|seat| seat.last_act).unwrap_or_default();
        let concerns =
            |message: &&Message| message.persona.as_deref().is_none_or(|persona| persona == self.persona.name);
        let discussion = self.context.discussion.iter();
        discussion.filter(|message| message.id > last_act).filter(concerns).cloned().collect()
    }
}

#[cfg(test)]
#[path = "turn_message_tests.rs"]
mod tests;
