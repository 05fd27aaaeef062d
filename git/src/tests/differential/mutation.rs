//! Diffs of real changes with random faults.

use super::*;
use crate::tests::VARIANTS;

/// A mutated diff should keep the parts that matter.
const MAX_BYTES: usize = 20_000;

/// Lines that a faulty diff may have anywhere.
const STRAY_LINES: [&str; 32] = [
    "\\ No newline at end of file",
    "\\ short",
    "",
    " ",
    "+",
    "-",
    "@@ -1 +1 @@",
    "-- ",
    "new file mode 100644",
    "deleted file mode 100644",
    "old mode 100755",
    "index 0000000..1111111 100755",
    "rename from edit",
    "diff --git a/edit b/edit",
    "diff --git a/copied b/copied",
    "diff --git \"a/edit\\000.txt\" \"b/edit\\000.txt\"",
    "index 1..2 120000",
    "index 1..2 160000",
    "new mode 100755",
    "new mode 100644",
    "old mode 100644",
    "new mode 120000",
    "new file mode 100755",
    "new file mode 120000",
    "rename to new",
    "copy from edit",
    "copy to new",
    "--- a/edit",
    "+++ b/edit",
    "--- /dev/null",
    "+++ /dev/null",
    "--- \"a/edit\\000.txt\"",
];

/// Changes one place of a diff, or takes lines from `other_diff`.
fn mutate(random: &mut Random, diff: &str, other_diff: &str) -> String {
    let mut lines: Vec<String> = diff.split('\n').map(str::to_owned).collect();
    let at = random.below(lines.len());
    let other = random.below(lines.len());
    match random.below(15) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => lines.insert(at, (*random.pick(&STRAY_LINES)).to_owned()),
        4 => {
            let digit = char::from(b'0' + u8::try_from(random.below(10)).unwrap());
            lines[at] = lines[at].replace(|c: char| c.is_ascii_digit() && random.below(2) == 0, &digit.to_string());
        }
        5 => {
            let sign = *random.pick(&["+", "-", " ", "\\", ""]);
            lines[at] = lines[at].chars().skip(1).fold(sign.to_owned(), |line, c| line + &c.to_string());
        }
        6 => lines.truncate(at),
        7 => drop(lines.drain(at..(at + random.below(9)).min(lines.len()))),
        8 => lines[at].push(*random.pick(&['\r', ' ', '\t', 'x', '/', '"'])),
        9 => drop(lines[at].pop()),
        11 => {
            let (place, _) =
                *random.pick(&lines[at].char_indices().chain([(lines[at].len(), ' ')]).collect::<Vec<_>>());
            lines[at].insert(place, *random.pick(&[' ', '\t', '"', '\\', '/', '.', '\r', 'é', '0', ',', '\u{b}']));
        }
        12 => {
            let others: Vec<String> = other_diff.split('\n').map(str::to_owned).collect();
            let from = random.below(others.len());
            let block = others[from..(from + 1 + random.below(6)).min(others.len())].to_vec();
            lines.splice(at..at, block);
        }
        13 => lines.extend(other_diff.split('\n').map(str::to_owned)),
        10 => lines[at] = lines[at].replace("a/", "b/").replace("edit", "copied"),
        _ => {
            let block = lines[at..(at + random.below(12)).min(lines.len())].to_vec();
            lines.splice(other..other, block);
        }
    }
    lines.join("\n")
}

/// Diffs between neighbouring commits in several forms, each with its base.
fn list_diffs(project: &Path, pairs: &[(String, String)]) -> Vec<(String, String)> {
    let mut diffs = Vec::new();
    for (base, next) in pairs {
        for variant in VARIANTS {
            let output = git_command(project).args([variant, &[base, next]].concat()).output().unwrap();
            let diff = String::from_utf8(output.stdout).ok().filter(|diff| diff.len() < MAX_BYTES);
            diffs.extend(diff.map(|diff| (base.clone(), diff)));
        }
    }
    diffs
}

async fn compare_mutations(project: &Path, diffs: &[(String, String)], seed: u64, count: usize) -> Comparison {
    let mut random = Random(seed);
    let mut comparison = Comparison::open(project).await;
    for _ in 0..count {
        let (base, diff) = random.pick(diffs).clone();
        let (_, other) = random.pick(diffs);
        let mut diff = mutate(&mut random, &diff, other);
        while random.below(3) == 0 {
            diff = mutate(&mut random, &diff, other);
        }
        comparison.compare("a mutated diff", Some(&base), &diff).await;
    }
    comparison.report("mutated diffs");
    comparison
}

async fn compare_mutated_steps(seed: u64, count: usize) -> Comparison {
    let repo = TestRepo::new();
    let commits = super::generated::commit_steps(&repo);
    let pairs: Vec<_> = commits.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    compare_mutations(&repo.project, &list_diffs(&repo.project, &pairs), seed, count).await
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_mutated_diffs() {
    let comparison = compare_mutated_steps(0x9E37_79B9_7F4A_7C15, 200).await;
    assert!(comparison.same > 30, "only {} were answered", comparison.same);
}

/// `cargo xtask git-differential`
#[tokio::test]
#[ignore = "long"]
async fn git_differential_mutated_diffs() {
    compare_mutated_steps(seed(), 10_000).await;
}

/// `cargo xtask git-differential [REPOSITORY]`
#[tokio::test]
#[ignore = "long"]
async fn git_differential_mutated_history() {
    let project = super::history::project();
    let list = git_in(&project, &["rev-list", "--no-merges", "--parents", "-n60", "HEAD"]);
    let pairs = list.lines().filter_map(|line| line.split_once(' '));
    let pairs: Vec<_> = pairs.map(|(commit, parent)| (parent.to_owned(), commit.to_owned())).collect();
    compare_mutations(&project, &list_diffs(&project, &pairs), seed(), 10_000).await;
}

/// Another one with every run, or the one to repeat.
fn seed() -> u64 {
    let given = std::env::var("COUNTERSIGN_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_secs());
    println!("COUNTERSIGN_TEST_SEED={seed}");
    seed
}
