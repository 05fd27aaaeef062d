//! Rules that choose the panel (the personas that review) of a proposal that names no personas: the operator's defaults
//! plus rules by category and path.

use crate::{diff::AffectedFile, glob::Globs, ids::DEFAULT_PERSONA, review::Category};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Most seats a panel can have.
pub const MAX_SEATS: usize = 10;

/// The personas every proposal gets, and the rules that change them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultPanel {
    pub personas: Vec<String>,
    pub rules: Vec<PanelRule>,
}

/// Adds personas to proposals that meet all of its conditions.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelRule {
    /// `None`: any category.
    pub category: Option<Category>,
    /// At least one affected file must match. `None`: any change, also one without a diff.
    pub paths: Option<Globs>,
    pub personas: Vec<String>,
    /// Whether its personas replace the default ones. Those of other rules stay.
    #[serde(default)]
    pub replace: bool,
    /// Whether its personas must approve every proposal that it applies to, also if the proposer names other personas or
    /// a weaker policy.
    #[serde(default)]
    pub required: bool,
}

/// A panel and the rules that led to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChosenPanel {
    pub personas: Vec<String>,
    /// One line for each rule that applied.
    pub reasons: Vec<String>,
}

impl Default for DefaultPanel {
    fn default() -> Self {
        Self { personas: vec![DEFAULT_PERSONA.into()], rules: Vec::new() }
    }
}

impl DefaultPanel {
    pub fn choose(&self, category: Option<Category>, files: &[AffectedFile]) -> ChosenPanel {
        let applied: Vec<_> =
            self.rules.iter().filter_map(|rule| Some((rule, rule.match_reason(category, files)?))).collect();
        let mut chosen = ChosenPanel::default();
        if !applied.iter().any(|(rule, _)| rule.replace) {
            chosen.personas.clone_from(&self.personas);
        }
        for (rule, reason) in applied {
            let verb = if rule.replace { "only" } else { "also" };
            chosen.reasons.push(format!("{reason}: {verb} {}", rule.personas.join(", ")));
            for persona in &rule.personas {
                if !chosen.personas.contains(persona) {
                    chosen.personas.push(persona.clone());
                }
            }
        }
        chosen
    }
}

impl DefaultPanel {
    /// The personas that must approve this content, whatever the proposer asks for.
    pub fn required(&self, category: Option<Category>, files: &[AffectedFile]) -> Vec<String> {
        let applied = self.rules.iter().filter(|rule| rule.required && rule.match_reason(category, files).is_some());
        let mut personas: Vec<String> = Vec::new();
        for persona in applied.flat_map(|rule| &rule.personas) {
            if !personas.contains(persona) {
                personas.push(persona.clone());
            }
        }
        personas
    }
}

impl PanelRule {
    /// Why the rule applies, or `None` if it does not.
    fn match_reason(&self, category: Option<Category>, files: &[AffectedFile]) -> Option<String> {
        let by_category = match self.category {
            None => None,
            Some(wanted) if category == Some(wanted) => Some(format!("category {wanted}")),
            Some(_) => return None,
        };
        let by_path = match &self.paths {
            None => None,
            Some(globs) => Some(files.iter().find_map(|file| matching_path(file, globs))?),
        };
        let reasons: Vec<_> = by_category.into_iter().chain(by_path).collect();
        Some(if reasons.is_empty() { "any change".to_owned() } else { reasons.join(", ") })
    }
}

/// The new or old path of the file, whichever matches: a move out of a folder is a change of that folder.
fn matching_path(file: &AffectedFile, globs: &Globs) -> Option<String> {
    let mut paths = std::iter::once(file.path.as_str()).chain(file.old_path.as_deref());
    paths.find(|path| globs.matches(path)).map(str::to_owned)
}

#[cfg(test)]
#[path = "default_panel_tests.rs"]
mod tests;
