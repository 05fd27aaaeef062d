//! Operations on projects: lists them, registers a repository, and removes one.

use super::{Call, error::CallError};
use crate::project_registry::{ProjectRegistry, RegistryError};
use api::{
    ErrorBody, ErrorCode,
    operation::NoArguments,
    projects::{ListProjectsResponse, Project, RegisterProjectRequest, RemoveProjectRequest},
};
use domain::credential::{Authority, Scope};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The folders are for operators that can open them.
pub(super) async fn list(call: &Call<'_>, _: NoArguments) -> Result<ListProjectsResponse, CallError> {
    let is_operator = match call.authz.authority() {
        Some(authority) => authority == Authority::Operator && call.authz.scope() == Some(&Scope::All),
        None => true,
    };
    let shows_folders = is_operator && call.service.config.is_local();
    let visible = call.broker.projects().all().into_iter().filter(|(name, _)| call.authz.can_see_project(Some(name)));
    let projects = visible.map(|(name, folder)| Project { root: shows_folders.then(|| text(&folder)), name });
    Ok(ListProjectsResponse { projects: projects.collect() })
}

pub(super) async fn register(call: &Call<'_>, request: RegisterProjectRequest) -> Result<Project, CallError> {
    let registry = registry(call)?;
    let path = PathBuf::from(&request.path);
    if !path.is_absolute() {
        return Err(ErrorBody::invalid("path", "must be an absolute path").into());
    }
    let name = registry.register(&path, request.name).await.map_err(refusal)?;
    find(call, name)
}

pub(super) async fn remove(call: &Call<'_>, request: RemoveProjectRequest) -> Result<Project, CallError> {
    let registry = Arc::clone(registry(call)?);
    let removed = find(call, request.name.clone());
    let done = tokio::task::spawn_blocking(move || registry.remove(&request.name)).await;
    done.map_err(|_| CallError::Internal)?.map_err(refusal)?;
    removed
}

fn find(call: &Call<'_>, name: String) -> Result<Project, CallError> {
    let folder = call.broker.projects().all().into_iter().find(|(known, _)| *known == name);
    Ok(Project { root: folder.map(|(_, folder)| text(&folder)), name })
}

fn text(folder: &Path) -> String {
    folder.display().to_string()
}

/// The registry, for the only caller that may change it: the broker's own user, who can read the folders that it names
/// without the broker. The holder of another token may be on another machine, and so may a browser.
fn registry<'a>(call: &'a Call<'_>) -> Result<&'a Arc<ProjectRegistry>, ErrorBody> {
    match call.context.caller {
        Some(caller) if caller.is_local_operator() && !call.context.is_signed_in => Ok(&call.service.projects),
        Some(_) | None => {
            let error = "only the user who runs the broker may change its projects, with `countersign project` and \
                         without COUNTERSIGN_TOKEN; others name a registered project";
            Err(ErrorBody::new(ErrorCode::WrongRole, error))
        }
    }
}

fn refusal(error: RegistryError) -> CallError {
    match &error {
        RegistryError::NotRecorded(why) => {
            tracing::error!(error = %why, "the registered projects cannot be recorded");
            CallError::Internal
        }
        RegistryError::NotARepository(_) | RegistryError::OtherUser(_) | RegistryError::Unusable(_) => {
            ErrorBody::invalid("path", &error.to_string()).into()
        }
        RegistryError::Unknown { known, .. } => {
            let body = ErrorBody::new(ErrorCode::UnknownProject, error.to_string());
            body.with("field", "name").with("allowed", known.clone()).into()
        }
        RegistryError::BadName(_)
        | RegistryError::NameTaken(_)
        | RegistryError::KeepsName(_)
        | RegistryError::Configured(_)
        | RegistryError::Own(_) => ErrorBody::invalid("name", &error.to_string()).into(),
    }
}
