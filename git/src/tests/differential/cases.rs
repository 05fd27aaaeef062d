//! Diffs by hand.
