//! The description of a proposal, from options or files.

use super::source::{Gathered, read};
use crate::CliError;
use anyhow::anyhow;
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DescriptionArgs {
    /// Intent of the change in a sentence [default: the commits' subjects, or the plan's title]
    #[arg(long, short = 'm', visible_alias = "intent", value_name = "TEXT")]
    title: Option<String>,
    /// Longer description [default: the commits' messages, or the plan]
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    description: Option<String>,
    /// Read the description from a file, or from stdin with -
    #[arg(long, short = 'F', value_name = "FILE")]
    file: Option<PathBuf>,
}

impl DescriptionArgs {
    /// The given description, else that of the commits. An intent is required.
    pub(crate) fn or_gathered(
        &self,
        gathered: &Gathered,
        last: Option<&str>,
    ) -> Result<(String, Option<String>), CliError> {
        let title = self.title.clone().or_else(|| last.map(str::to_owned)).or_else(|| gathered.intent.clone());
        let title = title.filter(|title| !title.trim().is_empty());
        let missing = || CliError::usage(anyhow!("no intent given; describe the change in a sentence with -m"));
        Ok((title.ok_or_else(missing)?, self.description()?.or_else(|| gathered.description.clone())))
    }

    fn description(&self) -> Result<Option<String>, CliError> {
        match (&self.description, &self.file) {
            (Some(text), _) => Ok(Some(text.clone())),
            (None, Some(file)) => read(file).map(Some),
            (None, None) => Ok(None),
        }
    }
}
