//! Decides whether a commit may land: policy and candidate in, decision out.
