//! Creates the git repository of the benchmarks, which has many files, and diffs of about 5 KB each that apply to it.

use testkit::Repo;

const LINES: usize = 100;
/// Files that one diff changes.
const CHANGED: usize = 11;

pub(crate) struct SampleRepository {
    pub(crate) repo: Repo,
    pub(crate) base: String,
    files: usize,
}

impl SampleRepository {
    pub(crate) fn new(files: usize) -> Self {
        let repo = Repo::empty("sha1");
        for file in 0..files {
            let lines: String = (0..LINES).map(|line| format!("line {line} of file {file}\n")).collect();
            repo.write(&path(file), lines);
        }
        let base = repo.commit("first");
        repo.git(&["gc", "--quiet"]);
        Self { repo, base, files }
    }

    /// Changes one line of several files. Every number gives another diff.
    pub(crate) fn diff(&self, number: usize) -> String {
        diff(self.files, number)
    }
}

fn path(file: usize) -> String {
    format!("src/part{}/module{}/file{file}.rs", file % 10, file % 40)
}

/// A diff for a repository with this number of files.
pub(crate) fn diff(files: usize, number: usize) -> String {
    let hunk = |file: usize| {
        let (path, line) = (path(file), 10 + (number % 80));
        let context = |line: usize| format!(" line {line} of file {file}\n");
        let (before, after): (String, String) =
            ((line - 6..line).map(context).collect(), (line + 1..line + 7).map(context).collect());
        let (old, new) = (format!("-line {line} of file {file}\n"), format!("+changed {number} in file {file}\n"));
        let first = line - 5;
        format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{first},13 +{first},13 @@\n{before}{old}{new}{after}"
        )
    };
    let mut changed: Vec<usize> = (0..CHANGED).map(|n| (number * CHANGED + n * 97) % files).collect();
    changed.sort_unstable();
    changed.dedup();
    changed.into_iter().map(hunk).collect()
}

/// A diff that adds one file, so that it applies to any repository. `bytes` is about its size.
pub(crate) fn new_file_diff(number: usize, bytes: usize) -> String {
    const LINE: &str = "+A line of text that this new file contains, seventy characters long.\n";
    let lines = (bytes / LINE.len()).max(1);
    let name = format!("load/file-{number}.txt");
    let head = format!("diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n");
    format!("{head}@@ -0,0 +1,{lines} @@\n+file {number}\n{}", LINE.repeat(lines - 1))
}
