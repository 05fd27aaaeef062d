//! Diffs of real changes with random faults.
