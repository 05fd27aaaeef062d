//! Where a project asks for approvals at all.

pub(in crate::cli) use crate::tandem::Point;

use crate::{
    cli::terminal,
    tandem::{FILE, Tandem},
};
use git::UserRepo;
use std::path::Path;

/// Whether hooks ask at this point. Everywhere, unless the project's `.planning/config.json` says otherwise: who installs
/// a hook wants it to ask. Settings that cannot be understood excuse nobody, and neither do those that are not
/// committed: whoever works here can write them.
pub(in crate::cli) async fn is_required(point: Point, repo: &UserRepo) -> bool {
    let asks = |tandem: Tandem| tandem.asks_at(point);
    if Tandem::of(repo.root()).map_or(true, asks) {
        return true;
    }
    let what = match point {
        Point::Commit => "commit",
        Point::Push => "push",
    };
    if committed(repo).await.is_none_or(asks) {
        terminal::remark(&format!(
            "countersign: {FILE} asks for no approval of a {what}, but HEAD does not have it so; it counts once that is \
             committed"
        ));
        return true;
    }
    terminal::remark(&format!("countersign: no approval of this {what} was asked for, as {FILE} says"));
    false
}

/// The settings in the HEAD commit. `None` if there are none or they cannot be parsed.
async fn committed(repo: &UserRepo) -> Option<Tandem> {
    let text = repo.read_committed(FILE).await.ok()??;
    Tandem::read(Path::new(FILE), std::str::from_utf8(&text).ok()?).ok()
}
