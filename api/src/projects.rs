//! Request and response types for listing, registering and removing projects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Response of list_projects: the projects that the broker knows.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListProjectsResponse {
    pub projects: Vec<Project>,
}

/// A project whose reviews the broker keeps.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Project {
    pub name: String,
    /// The folder of its repository. Only for an operator on this machine.
    pub root: Option<String>,
}

/// Arguments of register_project.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegisterProjectRequest {
    /// Absolute path of a folder in the repository, which must belong to the broker's user.
    pub path: String,
    /// Name of the project. Default: the name of the folder, with a number if another repository has it.
    pub name: Option<String>,
}

/// Arguments of remove_project.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemoveProjectRequest {
    pub name: String,
}
