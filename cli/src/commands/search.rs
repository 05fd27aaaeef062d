//! `countersign search`: finds reviews, messages, verdicts and issues by their words.

use crate::{
    CliError,
    client::{
        BrokerArgs,
        pagination::{PageArgs, collect},
    },
    completion,
    error::possible_values,
    render::{indented, one_line, print, style},
};
use api::{
    operation::Search,
    search::{SearchKind, SearchRequest, SearchResponse, SnippetPart},
};
use domain::text::escape;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Words that must occur; the last may be the beginning of one
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// Only texts of this kind: review, message, verdict or finding; repeat it for several
    #[arg(long = "in", value_name = "KIND", value_parser = possible_values::<SearchKind>())]
    kinds: Vec<SearchKind>,
    /// Only of this project
    #[arg(long, value_name = "PROJECT", add = completion::projects())]
    project: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let client = args.broker.connect().await?;
    let kinds = (!args.kinds.is_empty()).then_some(args.kinds);
    let request = SearchRequest { q: args.words.join(" "), kinds, project: args.project, ..Default::default() };
    let fetch =
        async |cursor, limit| client.execute::<Search>(&SearchRequest { cursor, limit, ..request.clone() }).await;
    let found =
        collect(args.page.limit, args.page.cursor, fetch, |page| (&mut page.results, &mut page.next_cursor)).await?;
    print(client.json, &found, render)
}

fn render(found: &SearchResponse) -> String {
    let mut out = if found.results.is_empty() { "nothing matches\n".to_owned() } else { String::new() };
    for result in &found.results {
        let place =
            result.issue_id.as_deref().map_or_else(|| result.kind.to_string(), |issue| escape(issue).into_owned());
        let by = result.by.as_deref().map(|by| format!("  {}", escape(by))).unwrap_or_default();
        let title = result.title.as_ref().map_or_else(|| one_line(&result.intent), |title| marked(title));
        out.push_str(&format!("{}  {place}{by}  {title}\n", style::paint(style::BOLD, &result.number.to_string())));
        if result.snippet.iter().any(|part| !part.text.trim().is_empty()) {
            out.push_str(&indented(&plain(&result.snippet), 4));
        }
    }
    if found.next_cursor.is_some() {
        out.push_str("there are more; raise --limit\n");
    }
    if found.indexing == Some(true) {
        out.push_str("the broker still indexes its log; the newest texts may be missing\n");
    }
    out
}

fn marked(parts: &[SnippetPart]) -> String {
    let part =
        |part: &SnippetPart| style::paint(if part.is_match { style::BOLD } else { style::PLAIN }, &escape(&part.text));
    parts.iter().map(part).collect()
}

fn plain(parts: &[SnippetPart]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect()
}
