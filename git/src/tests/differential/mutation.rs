//! Diffs of real changes with random faults.

use super::*;
use crate::tests::VARIANTS;

/// Lines that a faulty diff may have anywhere.
const STRAY_LINES: [&str; 14] = [
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
];

/// Changes one place of a diff.
fn mutate(random: &mut Random, diff: &str) -> String {
    let mut lines: Vec<String> = diff.split('\n').map(str::to_owned).collect();
    let at = random.below(lines.len());
    let other = random.below(lines.len());
    match random.below(13) {
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
        10 => lines[at] = lines[at].replace("a/", "b/").replace("edit", "copied"),
        _ => {
            let block = lines[at..(at + random.below(12)).min(lines.len())].to_vec();
            lines.splice(other..other, block);
        }
    }
    lines.join("\n")
}

async fn compare_mutations(count: usize) -> Comparison {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let repo = TestRepo::new();
    let commits = super::generated::commit_steps(&repo);
    let mut diffs = Vec::new();
    for pair in commits.windows(2) {
        for variant in VARIANTS {
            let output = git_command(&repo.project).args([variant, &[&pair[0], &pair[1]]].concat()).output().unwrap();
            diffs.extend(String::from_utf8(output.stdout).ok().map(|diff| (pair[0].clone(), diff)));
        }
    }
    let mut comparison = Comparison::open(&repo.project).await;
    for _ in 0..count {
        let (base, diff) = random.pick(&diffs).clone();
        let mut diff = mutate(&mut random, &diff);
        while random.below(3) == 0 {
            diff = mutate(&mut random, &diff);
        }
        comparison.compare("a mutated diff", Some(&base), &diff).await;
    }
    comparison.report("mutated diffs");
    comparison
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_mutated_diffs() {
    let comparison = compare_mutations(200).await;
    assert!(comparison.same > 30, "only {} were answered", comparison.same);
}

/// `cargo xtask git-differential`
#[tokio::test]
#[ignore = "long"]
async fn git_differential_mutated_diffs() {
    compare_mutations(20_000).await;
}
