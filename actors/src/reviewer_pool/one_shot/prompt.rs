//! Builds the prompt of a one-shot reviewer: everything it needs in one text, because it has no
//! connection to the broker.

use super::response;
use crate::reviewer_pool::{
    prompt_quoting::{MAX_DIFF_BYTES, MAX_TEXT_BYTES, QuotedPrompt},
    review_for_prompt::PromptContext,
};
use domain::persona::Persona;
use std::fmt::Write as _;

/// Writes the prompt. `earlier_error` says why the response to an earlier prompt could not be used.
pub(crate) fn render(persona: &Persona, context: &PromptContext, earlier_error: Option<&str>, mark: &str) -> String {
    let mut prompt = QuotedPrompt::new(mark);
    prompt.paragraph(persona.prompt.trim());
    prompt.paragraph(&task(persona, context));
    prompt.explain_quotes();
    context.quote_conventions(&mut prompt);
    prompt.quote("intent", &context.intent, MAX_TEXT_BYTES);
    if let Some(description) = &context.description {
        prompt.quote("description", description, MAX_TEXT_BYTES);
    }
    if let Some(vote) = &context.last_vote {
        vote.write_to(&mut prompt);
    }
    if !context.findings.is_empty() {
        prompt.paragraph(
            "These findings are open. Do not raise them again; say in your summary which of them still apply.",
        );
        prompt.quote("open findings", &context.findings.join("\n"), MAX_TEXT_BYTES);
    }
    prompt.quote_discussion("discussion", &context.discussion);
    if let Some(diff) = &context.diff {
        prompt.paragraph("This is the whole change, as a diff.");
        prompt.quote("diff", diff, MAX_DIFF_BYTES);
    }
    if let Some(error) = earlier_error {
        prompt.paragraph("You were asked this before, and your response could not be used. This was wrong with it:");
        prompt.quote("what was wrong", error, MAX_TEXT_BYTES);
    }
    prompt.paragraph(&response_format());
    prompt.finish()
}

/// Why the prompt cannot hold the whole change. A reviewer that sees a part of it must not approve it.
pub(crate) fn find_cut(context: &PromptContext) -> Option<String> {
    let texts = [
        ("intent", Some(&context.intent), MAX_TEXT_BYTES),
        ("description", context.description.as_ref(), MAX_TEXT_BYTES),
        ("diff", context.diff.as_ref(), MAX_DIFF_BYTES),
    ];
    let (name, bytes, limit) = texts.into_iter().find_map(|(name, text, limit)| {
        let bytes = text.map_or(0, |text| text.len());
        (bytes > limit).then_some((name, bytes, limit))
    })?;
    Some(format!(
        "the {name} has {bytes} bytes, and a one-shot reviewer sees at most {limit}; split the change, or let a reviewer \
         with mode \"agent\" or a person review it"
    ))
}

fn task(persona: &Persona, context: &PromptContext) -> String {
    let mut text = format!("You review round {} of a change, for the seat `{}`.", context.round, persona.name);
    if !persona.focus.trim().is_empty() {
        let _ = write!(text, " Your focus: {}.", persona.focus.trim().trim_end_matches('.'));
    }
    text.push_str(match (context.has_copy, context.diff.is_some()) {
        (true, true) => {
            " Your working folder is a copy of the project with the change applied; read there what you need."
        }
        (true, false) => " Your working folder is a copy of the project; read there what you need.",
        (false, _) => " There is no copy of the project: judge by this text alone.",
    });
    if !persona.ignore.is_empty() {
        let _ = write!(text, " Ignore files that match any of: {}.", persona.ignore.join(", "));
    }
    text.push_str(" You cannot change files or ask questions; you respond once.");
    text
}

fn response_format() -> String {
    format!(
        "Respond with one JSON object that matches this JSON Schema, and nothing else:\n\n{}\n\n\
         verdict: approved; changes_requested if something has to be fixed first; rejected if the change should not be \
         made at all. Every verdict except approved needs a reason. issues: problems that must be addressed. \
         suggestions: optional improvements. settled: for each open finding above that your own seat raised, its number \
         and whether it is fixed, wont_fix (you withdraw it) or still open. file: the path as in the diff. line_start and \
         line_end: line numbers in the file after the change; with side \"old\", in the file before it, for removed lines; \
         with in \"description\" and no file, in the description, for example a plan. code_snippet: quoted from there, word \
         for word. Report only what you have seen there. confidence: from 0 to 1. files_reviewed and lines_analyzed: how many you have read.",
        response::schema()
    )
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
