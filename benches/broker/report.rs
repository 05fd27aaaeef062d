//! The figures of a run: each beside the baseline that was measured in the same run, and the aim. Printed as a table as
//! they come, and written as JSON and as a line of the history at the end.

use serde_json::{Value, json};
use std::{fmt::Write as _, path::Path};

/// What a figure should be: its ratio if it has a baseline, else its value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim {
    AtLeast(f64),
    AtMost(f64),
}

impl Aim {
    fn is_reached(self, value: f64) -> bool {
        match self {
            Self::AtLeast(limit) => value >= limit,
            Self::AtMost(limit) => value <= limit,
        }
    }

    fn text(self, form: Form) -> String {
        match self {
            Self::AtLeast(limit) => format!("≥ {}", form.write(limit)),
            Self::AtMost(limit) => format!("≤ {}", form.write(limit)),
        }
    }
}

/// How a ratio is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Percent,
    Times,
    /// No ratio: the aim is for the value itself.
    Value,
}

impl Form {
    fn write(self, number: f64) -> String {
        match self {
            Self::Percent => format!("{:.0} %", number * 100.0),
            Self::Times => format!("{number:.2} ×"),
            Self::Value => short(number),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Figure {
    section: &'static str,
    name: String,
    value: f64,
    unit: &'static str,
    baseline: Option<(String, f64)>,
    ratio: Option<f64>,
    form: Form,
    aim: Option<Aim>,
}

impl Figure {
    pub(crate) fn new(section: &'static str, name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        let name = name.into();
        Self { section, name, value, unit, baseline: None, ratio: None, form: Form::Value, aim: None }
    }

    /// The baseline, with the ratio to it.
    pub(crate) fn against(self, name: impl Into<String>, baseline: f64, form: Form) -> Self {
        let ratio = self.value / baseline;
        self.with_ratio(name, baseline, ratio, form)
    }

    /// The baseline, with a ratio that was measured in another way, such as the median over several rounds.
    pub(crate) fn with_ratio(self, name: impl Into<String>, baseline: f64, ratio: f64, form: Form) -> Self {
        Self { baseline: Some((name.into(), baseline)), ratio: Some(ratio), form, ..self }
    }

    /// Keeps the second value for the reader only: the aim is for the value itself.
    pub(crate) fn beside(self, name: impl Into<String>, value: f64) -> Self {
        Self { baseline: Some((name.into(), value)), ..self }
    }

    pub(crate) fn aim(self, aim: Aim) -> Self {
        Self { aim: Some(aim), ..self }
    }

    /// What the aim is about, and what the history keeps.
    fn measure(&self) -> f64 {
        self.ratio.unwrap_or(self.value)
    }

    fn is_reached(&self) -> Option<bool> {
        self.aim.map(|aim| aim.is_reached(self.measure()))
    }

    fn row(&self) -> String {
        let value = format!("{} {}", short(self.value), self.unit);
        let against = self.baseline.as_ref().map_or(String::new(), |(name, value)| format!("{name} {}", short(*value)));
        let ratio = self.ratio.map_or(String::new(), |ratio| self.form.write(ratio));
        let aim = self.aim.map_or(String::new(), |aim| aim.text(self.form));
        let reached = self.is_reached().map_or("", |reached| if reached { "reached" } else { "missed" });
        let row = format!("{:<52}{value:>16}   {against:<28}{ratio:>9}  {aim:<10}{reached}", self.name);
        row.trim_end().to_owned()
    }

    fn json(&self) -> Value {
        json!({
            "section": self.section,
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "baseline": self.baseline.as_ref().map(|(name, value)| json!({ "name": name, "value": value })),
            "ratio": self.ratio,
            "aim": self.aim.map(|aim| match aim {
                Aim::AtLeast(limit) => json!({ "at_least": limit }),
                Aim::AtMost(limit) => json!({ "at_most": limit }),
            }),
            "reached": self.is_reached(),
        })
    }
}

/// All figures of one run.
pub(crate) struct Report {
    figures: Vec<Figure>,
    load_before: String,
    is_quick: bool,
}

impl Report {
    pub(crate) fn new(is_quick: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let load_before = load_average();
        println!(
            "{cores} cores, load average {load_before}{}",
            if is_quick { ", quick: little is measured" } else { "" }
        );
        Self { figures: Vec::new(), load_before, is_quick }
    }

    pub(crate) fn heading(&self, text: &str) {
        println!("\n{text}");
    }

    /// Prints the figure and keeps it.
    pub(crate) fn add(&mut self, figure: Figure) {
        println!("  {}", figure.row());
        self.figures.push(figure);
    }

    /// Prints which aims were missed.
    pub(crate) fn summary(&self) {
        let judged = self.figures.iter().filter(|figure| figure.aim.is_some());
        let missed: Vec<_> = self.figures.iter().filter(|figure| figure.is_reached() == Some(false)).collect();
        let mut text = format!("\n{} aims, {} missed", judged.count(), missed.len());
        for figure in &missed {
            let _ = write!(text, "\n  {}", figure.row());
        }
        println!("{text}\nload average {} at the start, {} at the end", self.load_before, load_average());
    }

    pub(crate) fn is_all_reached(&self) -> bool {
        self.figures.iter().all(|figure| figure.is_reached() != Some(false))
    }

    fn header(&self) -> Value {
        json!({
            "date": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%MZ").to_string(),
            "commit": commit(),
            "quick": self.is_quick,
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "load_before": self.load_before,
            "load_after": load_average(),
        })
    }

    /// Every figure with its baseline and aim.
    pub(crate) fn write_json(&self, path: &Path) {
        let mut all = self.header();
        all["figures"] = self.figures.iter().map(Figure::json).collect();
        std::fs::write(path, format!("{all:#}\n")).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Adds one line to the history: for each figure its ratio, or its value if it has none.
    pub(crate) fn record(&self, path: &Path) {
        let mut line = self.header();
        let figures = self.figures.iter().filter(|figure| figure.aim.is_some());
        line["figures"] = figures.map(|figure| (figure.name.clone(), json!(rounded(figure.measure())))).collect();
        let mut history = std::fs::read_to_string(path).unwrap_or_default();
        let _ = writeln!(history, "{line}");
        std::fs::write(path, history).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("recorded in {}", path.display());
    }
}

fn short(number: f64) -> String {
    match number.abs() {
        large if large >= 100.0 => format!("{number:.0}"),
        middle if middle >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// The load of the last 1, 5 and 15 minutes.
fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// The short id of the commit that is measured, with `+` if files were changed since.
fn commit() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let id = testkit::git(root, &["rev-parse", "--short=9", "HEAD"]);
    let changed = testkit::git(root, &["status", "--porcelain", "--untracked-files=no"]);
    if changed.is_empty() { id } else { id + "+" }
}

/// The middle value.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
