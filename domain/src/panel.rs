//! Who is to sign where the proposer names nobody: the operator's defaults, by category and by path.

use crate::{diff::AffectedFile, globs::Globs, ids::DEFAULT_PERSONA, review::Category};

/// The largest panel.
pub const MAX_SEATS: usize = 10;
pub const PERSONA_CHARS: usize = 64;

/// A persona's name stands in logs, file names and arguments, so it is a plain word.
pub fn is_persona_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=PERSONA_CHARS).contains(&name.len()) && name.chars().all(plain)
}

/// The panel of a proposal that asks for none.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    pub personas: Vec<String>,
    pub rules: Vec<Rule>,
}

/// Asks for more, where all of its conditions hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Left out: any.
    pub category: Option<Category>,
    /// One affected file must fit; left out: any change, also one without a diff.
    pub paths: Option<Globs>,
    pub personas: Vec<String>,
    /// Instead of the default personas, not beside them. Those of other rules stay.
    pub replace: bool,
}

/// A panel, and why it is this one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    pub personas: Vec<String>,
    /// A line for each rule that had a say.
    pub because: Vec<String>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { personas: vec![DEFAULT_PERSONA.into()], rules: Vec::new() }
    }
}

impl Defaults {
    pub fn choose(&self, category: Option<Category>, files: &[AffectedFile]) -> Chosen {
        let asking: Vec<_> = self.rules.iter().filter_map(|rule| Some((rule, rule.reason(category, files)?))).collect();
        let replaced = asking.iter().any(|(rule, _)| rule.replace);
        let mut chosen = Chosen::default();
        if !replaced {
            chosen.personas.clone_from(&self.personas);
        }
        for (rule, reason) in asking {
            let verb = if rule.replace { "only" } else { "also" };
            chosen.because.push(format!("{reason}: {verb} {}", rule.personas.join(", ")));
            for persona in &rule.personas {
                if !chosen.personas.contains(persona) {
                    chosen.personas.push(persona.clone());
                }
            }
        }
        chosen
    }
}

impl Rule {
    /// Why it asks, if it does.
    fn reason(&self, category: Option<Category>, files: &[AffectedFile]) -> Option<String> {
        let of_category = match self.category {
            None => None,
            Some(wanted) if category == Some(wanted) => Some(format!("category {wanted}")),
            Some(_) => return None,
        };
        let of_path = match &self.paths {
            None => None,
            Some(globs) => Some(files.iter().find_map(|file| touched(file, globs))?),
        };
        let reasons: Vec<_> = of_category.into_iter().chain(of_path).collect();
        Some(if reasons.is_empty() { "any change".to_owned() } else { reasons.join(", ") })
    }
}

/// What is moved out of a folder concerns that folder, too.
fn touched(file: &AffectedFile, globs: &Globs) -> Option<String> {
    let mut paths = std::iter::once(file.path.as_str()).chain(file.old_path.as_deref());
    paths.find(|path| globs.fits(path)).map(str::to_owned)
}

#[cfg(test)]
#[path = "panel_tests.rs"]
mod tests;
