//! Anchors on a real history: findings placed on the lines of a commit are looked up in later commits, and the result
//! is
//! compared with `git blame`.

mod history;
mod score;
mod truth;

use domain::finding::grounding::FileText;
use domain::finding::{Anchor, anchor::project_all};
use domain::finding::{AnchorState, Lines, Location};
use history::{Change, History};
use score::Score;
use std::path::{Path, PathBuf};
use truth::Truth;

/// The sampled commits and lines.
struct Plan {
    /// The number of commits between placing and looking up a finding.
    distances: &'static [usize],
    /// Findings are placed on one of this many commits.
    commits: usize,
    /// One of this many lines gets a finding of each size.
    lines: usize,
}

/// Lines of a finding.
const SIZES: &[u32] = &[1, 3, 8];

/// Slightly below the measured precision and recall (docs/findings.md).
const FLOORS: &[(AnchorState, f64, f64)] = &[
    (AnchorState::Exact, 99.9, 98.5),
    (AnchorState::Moved, 99.9, 97.0),
    (AnchorState::Modified, 80.0, 99.0),
    (AnchorState::Gone, 98.0, 98.0),
];

struct Measured {
    distance: usize,
    direct: Score,
    stepwise: Score,
}

#[test]
fn findings_follow_their_lines_through_real_history() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan { distances: &[1, 5], commits: 32, lines: 2 };
    let measured = measure(&sample(folder.path()), &plan);
    for Measured { distance, direct, stepwise } in &measured {
        for score in [direct, stepwise] {
            println!("{distance} commits later\n{score}");
            assert!(score.planted() > 1000);
            assert_eq!(score.wrong, 0, "{:#?}", score.examples);
            for (state, precision, recall) in FLOORS {
                assert!(score.precision(*state) >= *precision, "{state} is said too often");
                assert!(score.recall(*state) >= *recall, "{state} is not said often enough");
            }
        }
    }
}

/// `cargo xtask anchors [REPOSITORY]`
#[test]
#[ignore = "long: cargo xtask anchors"]
fn anchors_measured() {
    let folder = tempfile::tempdir().unwrap();
    let given = std::env::var_os("COUNTERSIGN_TEST_HISTORY").map(PathBuf::from);
    let history = given.unwrap_or_else(|| sample(folder.path()));
    let plan = Plan { distances: &[1, 2, 5, 10], commits: 4, lines: 1 };
    let measured = measure(&history, &plan);
    for Measured { distance, direct, stepwise } in &measured {
        println!("\n### {distance} commits later, at once\n\n{direct}");
        println!("\n### {distance} commits later, one by one\n\n{stepwise}");
        for example in direct.examples.iter().chain(&stepwise.examples) {
            eprintln!("{example}");
        }
    }
    assert!(measured.iter().all(|m| m.direct.wrong + m.stepwise.wrong == 0), "see above");
}

/// The sample history, unpacked.
fn sample(folder: &Path) -> PathBuf {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/history.bundle");
    let bundle = bundle.to_str().unwrap();
    History::new(folder).git(&["clone", "--quiet", "--bare", "--branch=main", bundle, "history"]);
    folder.join("history")
}

fn measure(folder: &Path, plan: &Plan) -> Vec<Measured> {
    let mut history = History::new(folder);
    let commits = history.commits();
    let mut scores = |&distance: &usize| {
        let (mut direct, mut stepwise) = (Score::default(), Score::default());
        for start in (0..commits.len().saturating_sub(distance)).step_by(plan.commits) {
            let path = &commits[start..=start + distance];
            for change in history.changes(&path[0], &path[distance]).iter() {
                let (at_once, one_by_one) = follow(&mut history, path, change, plan);
                direct.merge(at_once);
                stepwise.merge(one_by_one);
            }
        }
        Measured { distance, direct, stepwise }
    };
    plan.distances.iter().map(&mut scores).collect()
}

/// Places findings on one file of the first commit and looks them up in the last.
fn follow(history: &mut History, path: &[String], change: &Change, plan: &Plan) -> (Score, Score) {
    let (mut direct, mut stepwise) = (Score::default(), Score::default());
    let (from, to) = (&path[0], &path[path.len() - 1]);
    let Some(old) = history.text(from, &change.old) else { return (direct, stepwise) };
    let truth = Truth::find(history, from, to, change, &old);
    let planted = plant(&change.old, old.lines().count(), plan);
    let at_once = step(history, &planted, [from, to], change.new.as_deref());
    for (location, said) in planted.iter().zip(&at_once) {
        record(&mut direct, &truth, location, path, said);
    }
    for (location, said) in planted.iter().zip(walk(history, &planted, path)) {
        record(&mut stepwise, &truth, location, path, &said);
    }
    (direct, stepwise)
}

fn plant(file: &str, count: usize, plan: &Plan) -> Vec<Location> {
    let count = u32::try_from(count).unwrap();
    let mut locations = Vec::new();
    for &size in SIZES {
        for start in (1..=count.saturating_sub(size - 1)).step_by(plan.lines) {
            let lines = Some(Lines { start, end: start + size - 1 });
            locations.push(Location::in_file(file, lines));
        }
    }
    locations
}

/// All of them stand in one file.
fn step(history: &mut History, locations: &[Location], [from, to]: [&str; 2], new: Option<&str>) -> Vec<Anchor> {
    let Some(first) = locations.first() else { return Vec::new() };
    let file = first.file().unwrap();
    let old = history.text(from, file).unwrap();
    let text = new.and_then(|new| history.text(to, new));
    let text = text.as_deref().map_or(FileText::Absent, FileText::Text);
    project_all(locations, &old, text, &Location::in_file(new.unwrap_or(file), None).text)
}

/// From commit to commit; the state is the one against the first.
fn walk(history: &mut History, planted: &[Location], path: &[String]) -> Vec<Anchor> {
    let start = |location: &Location| Anchor {
        state: AnchorState::Exact,
        location: Some(location.clone()),
        likely_fixed: false,
    };
    let mut at: Vec<_> = planted.iter().map(start).collect();
    for pair in path.windows(2) {
        let here: Vec<_> = at.iter().filter_map(|projection| projection.location.clone()).collect();
        let changes = history.changes(&pair[0], &pair[1]);
        let Some(change) = here
            .first()
            .and_then(|location| changes.iter().find(|change| Some(change.old.as_str()) == location.file()))
        else {
            continue;
        };
        let next = step(history, &here, [&pair[0], &pair[1]], change.new.as_deref());
        let standing = at.iter_mut().filter(|projection| projection.location.is_some());
        for (projection, next) in standing.zip(next) {
            projection.state = projection.state.max(next.state);
            projection.location = next.location;
        }
    }
    for (projection, planted) in at.iter_mut().zip(planted) {
        let is_back = projection.state == AnchorState::Moved && projection.location.as_ref() == Some(planted);
        if is_back {
            projection.state = AnchorState::Exact;
        }
    }
    at
}

fn record(score: &mut Score, truth: &Truth, location: &Location, path: &[String], said: &Anchor) {
    let lines = location.lines.unwrap();
    score.add(truth.state(lines), said.state);
    if matches!(said.state, AnchorState::Modified | AnchorState::Gone) {
        return;
    }
    let start = said.location.as_ref().and_then(|location| location.lines).unwrap().start;
    let (from, to) = (&path[0][..8], &path[path.len() - 1][..8]);
    let example = || format!("{location} of {from} at {start} of {to}");
    score.judge(truth.judge(lines, start), example);
}
