//! Changes one value of a TOML text. Comments, order and everything else stay.

use anyhow::{Context as _, anyhow};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

/// Sets the value at `path`, whose last part is the key. Missing sections are added at the end.
pub(crate) fn set(text: &str, path: &[String], value: &toml::Value) -> anyhow::Result<String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| anyhow!("{}", error.message()))?;
    let (key, sections) = path.split_last().context("no key")?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for section in sections {
        let below = table.entry(section).or_insert_with(|| {
            let mut section = Table::new();
            // A section that only has sections below it needs no line of its own.
            section.set_implicit(true);
            Item::Table(section)
        });
        table = below.as_table_like_mut().with_context(|| format!("{section} is not a section"))?;
    }
    let mut value: Value = value.to_string().parse().context("not a value of TOML")?;
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            // A comment after the value belongs to its decor.
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(other) => *other = Item::Value(value),
        None => {
            table.insert(key, Item::Value(value));
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::set;

    fn edited(text: &str, path: &[&str], value: impl Into<toml::Value>) -> String {
        let path: Vec<_> = path.iter().map(|part| (*part).to_owned()).collect();
        set(text, &path, &value.into()).unwrap()
    }

    #[test]
    fn comments_and_order_stay() {
        let text = "# mine\n[claims] # why\nlease = \"5m\" # short\n\n# the pool\n[pool]\nenabled = false\n";
        assert_eq!(
            edited(text, &["claims", "lease"], "10m"),
            "# mine\n[claims] # why\nlease = \"10m\" # short\n\n# the pool\n[pool]\nenabled = false\n"
        );
        assert!(edited(text, &["pool", "max_size"], 2).ends_with("[pool]\nenabled = false\nmax_size = 2\n"));
    }

    #[test]
    fn sections_are_added_when_they_are_missing() {
        assert_eq!(edited("", &["claims", "lease"], "10m"), "[claims]\nlease = \"10m\"\n");
        assert_eq!(edited("", &["projects", "my.app", "path"], "/code"), "[projects.\"my.app\"]\npath = \"/code\"\n");
        assert_eq!(edited("claims.lease = \"5m\"\n", &["claims", "lease"], "10m"), "claims.lease = \"10m\"\n");
        assert_eq!(
            edited("claims = { lease = \"5m\" }\n", &["claims", "lease"], "10m"),
            "claims = { lease = \"10m\" }\n"
        );
        assert!(set("claims = 1\n", &["claims".into(), "lease".into()], &1.into()).is_err());
    }
}
