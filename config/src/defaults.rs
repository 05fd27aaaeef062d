//! The settings in the embedded `default.toml` with their values and comments.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::DEFAULTS;
use crate::setting_values::entries;

/// A setting with its default and what the file says about it.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultSetting {
    pub value: Value,
    /// The comment above it, on one line.
    pub description: Option<String>,
}

/// All settings that have a default, by name.
pub fn default_settings() -> BTreeMap<String, DefaultSetting> {
    let table: Table = toml::from_str(DEFAULTS).unwrap_or_default();
    let mut descriptions = descriptions(DEFAULTS);
    let setting = |(name, value)| {
        let description = descriptions.remove(&name);
        (name, DefaultSetting { value, description })
    };
    entries(table).into_iter().map(|entry| (entry.key, entry.value)).map(setting).collect()
}

/// The comments directly above each setting of a file whose sections are not nested.
fn descriptions(text: &str) -> BTreeMap<String, String> {
    let (mut section, mut comment, mut found) = (String::new(), Vec::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(words) = line.strip_prefix('#') {
            comment.push(words.trim());
            continue;
        }
        // An example may follow after an empty line of the comment.
        let words: Vec<&str> = std::mem::take(&mut comment);
        let comment = words.split(|line| line.is_empty()).next().unwrap_or_default().join(" ");
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name.clone_into(&mut section);
        } else if let Some((key, _)) = line.split_once('=')
            && !comment.is_empty()
        {
            found.insert(format!("{section}.{}", key.trim()), comment);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::default_settings;

    #[test]
    fn every_default_is_listed_with_the_comment_above_it() {
        let settings = default_settings();
        let lease = &settings["claims.lease"];
        assert!(lease.value.as_str().is_some());
        let listen = settings["server.listen"].description.as_deref().unwrap();
        assert!(listen.starts_with("Address and port.") && listen.ends_with("picks a free port."), "{listen}");
        let rules = settings["panel.rules"].description.as_deref().unwrap();
        assert!(rules.ends_with("no rule with replace."), "without the example: {rules}");
        // One comment may stand above several settings that belong together.
        let described = settings.values().filter(|setting| setting.description.is_some()).count();
        assert!(described * 10 > settings.len() * 8, "{described} of {}", settings.len());
    }
}
