//! Reads which commits are proposed.

use crate::mcp::{
    args::{CreateReview, TargetArgs},
    refusal::Refused,
};
use actors::requests::TargetRequest;
use domain::review::TargetKind;

/// The target of a call, which has no other source of a diff beside it.
pub(super) fn read(args: &mut CreateReview) -> Result<Option<TargetRequest>, Refused> {
    let Some(target) = args.target.take() else { return Ok(None) };
    let others = [("diff", args.diff.is_some()), ("base", args.base.is_some())];
    if let Some((field, _)) = others.iter().find(|(_, given)| *given) {
        let problem = "not together with target, which brings its own (target.base says what to compare with)";
        return Err(Refused::invalid(field, problem));
    }
    let TargetArgs { branch, commit, range, base } = target;
    let named = [(TargetKind::Branch, branch), (TargetKind::Commit, commit), (TargetKind::Range, range)];
    let mut named = named.into_iter().filter_map(|(kind, name)| Some((kind, name?)));
    let (Some((kind, name)), None) = (named.next(), named.next()) else {
        return Err(Refused::invalid("target", "give exactly one of branch, commit and range"));
    };
    if kind == TargetKind::Range && base.is_some() {
        return Err(Refused::invalid("target.base", "not together with range, which has both its ends"));
    }
    Ok(Some(TargetRequest { kind, name, base }))
}
