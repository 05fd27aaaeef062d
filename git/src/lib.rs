//! Runs git and reads repositories: checks that diffs apply, resolves commits, compares trees.
