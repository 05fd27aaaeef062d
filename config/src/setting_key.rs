//! Names of settings: `claims.lease`, `projects."my.app".path`.

use std::fmt;

use crate::schema::is_section;
use domain::text::escape;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Vec<String>);

impl Key {
    pub(crate) fn new<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        Self(parts.into_iter().map(str::to_owned).collect())
    }

    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }

    /// The key in the table of rules, where one row covers every project.
    pub(crate) fn pattern(&self) -> String {
        match self.0.as_slice() {
            [section, _, setting] if section == "projects" => format!("projects.*.{setting}"),
            parts => parts.join("."),
        }
    }

    /// The project this key belongs to, if any.
    pub(crate) fn project(&self) -> Option<&str> {
        match self.0.as_slice() {
            [section, name, ..] if section == "projects" => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            if part.is_empty() || part.contains(|c: char| !is_bare(c)) {
                write!(f, "\"{}\"", escape(part))?;
            } else {
                f.write_str(part)?;
            }
        }
        Ok(())
    }
}

fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The settings of a file: two levels deep, three for projects.
///
/// A value in the place of a section is returned under the section's name, for the caller to refuse.
pub(crate) fn settings(file: toml::Table) -> Vec<(Key, toml::Value)> {
    let mut found = Vec::new();
    for (section, value) in file {
        let toml::Value::Table(entries) = value else {
            found.push((Key::new([section.as_str()]), value));
            continue;
        };
        if entries.is_empty() && !is_section(&section) {
            found.push((Key::new([section.as_str()]), toml::Value::Table(entries)));
            continue;
        }
        for (name, value) in entries {
            let project = value.as_table().filter(|table| !table.is_empty());
            match project.filter(|_| section == "projects") {
                Some(project) => found.extend(project.iter().map(|(setting, value)| {
                    let key = Key::new([section.as_str(), &name, setting]);
                    (key, value.clone())
                })),
                None => found.push((Key::new([section.as_str(), &name]), value)),
            }
        }
    }
    found
}

/// Puts a setting back into its section.
pub(crate) fn insert(tree: &mut toml::Table, path: &[String], value: toml::Value) {
    match path {
        [] => {}
        [last] => {
            tree.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            let below = tree.entry(first.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            if let toml::Value::Table(below) = below {
                insert(below, rest, value);
            }
        }
    }
}
