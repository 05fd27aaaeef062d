//! Where a project asks for approvals at all.

pub(in crate::cli) use crate::tandem::Point;

use crate::{
    cli::terminal,
    tandem::{FILE, Tandem},
};
use std::path::Path;

/// Whether hooks ask at this point. Everywhere, unless the project's `.planning/config.json` says otherwise: who installs
/// a hook wants it to ask. Settings that cannot be understood excuse nobody, and neither do those that are not
/// committed: whoever works here can write them.
pub(in crate::cli) fn is_required(point: Point, root: &Path) -> bool {
    let asks = |tandem: Tandem| tandem.asks_at(point);
    if Tandem::of(root).map_or(true, asks) {
        return true;
    }
    let what = match point {
        Point::Commit => "commit",
        Point::Push => "push",
    };
    if committed(root).is_none_or(asks) {
        terminal::remark(&format!(
            "countersign: {FILE} asks for no approval of a {what}, but HEAD does not have it so; it counts once that is \
             committed"
        ));
        return true;
    }
    terminal::remark(&format!("countersign: no approval of this {what} was asked for, as {FILE} says"));
    false
}

/// The settings as HEAD has them. `None`: it has none, or none that can be understood.
#[expect(clippy::disallowed_methods, reason = "a hook has nothing else to do, and this reads one object")]
fn committed(root: &Path) -> Option<Tandem> {
    let mut git = std::process::Command::new("git");
    git.args(["cat-file", "blob", &format!("HEAD:{FILE}")]).current_dir(root);
    git.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1");
    let shown = git.output().ok().filter(|shown| shown.status.success())?;
    Tandem::read(Path::new(FILE), std::str::from_utf8(&shown.stdout).ok()?).ok()
}
