//! Whether the project's planning settings require an approval for a commit or a push.

pub(super) use config::planning::GitPoint;

use crate::terminal;
use config::planning::{PLANNING_FILE, PlanningConfig};
use git::UserRepo;
use std::path::Path;

/// Hooks ask for an approval unless `.planning/config.json` says otherwise. Settings that cannot be parsed, or that are
/// not committed, exempt nothing: the person who makes the change could have written them.
pub(super) async fn is_required(point: GitPoint, repo: &UserRepo) -> bool {
    let asks = |tandem: PlanningConfig| tandem.requires_approval_at(point);
    if PlanningConfig::load(repo.root()).map_or(true, asks) {
        return true;
    }
    let action = match point {
        GitPoint::Commit => "commit",
        GitPoint::Push => "push",
    };
    if read_committed(repo).await.is_none_or(asks) {
        terminal::remark(&format!(
            "countersign: {PLANNING_FILE} requires no approval for a {action}, but HEAD does not have this setting; it takes \
             effect after it is committed"
        ));
        return true;
    }
    terminal::remark(&format!("countersign: {PLANNING_FILE} requires no approval for a {action}"));
    false
}

/// The settings in the HEAD commit. `None` if there are none or they cannot be parsed.
async fn read_committed(repo: &UserRepo) -> Option<PlanningConfig> {
    let text = repo.read_committed(PLANNING_FILE).await.ok()??;
    PlanningConfig::parse(Path::new(PLANNING_FILE), std::str::from_utf8(&text).ok()?).ok()
}
