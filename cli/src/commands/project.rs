//! `countersign project`: lists the repositories that the broker knows, registers one, and removes one.

use crate::{
    CliError,
    client::BrokerArgs,
    render::{execute_and_print, one_line, table},
};
use anyhow::{Context as _, anyhow};
use api::{
    operation::NoArguments,
    operation::{ListProjects, RegisterProject, RemoveProject},
    projects::{ListProjectsResponse, Project, RegisterProjectRequest, RemoveProjectRequest},
};
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the registered repositories
    List(BrokerArgs),
    /// Register a repository, so that its changes can be proposed; `request`, `mcp` and `init` do this too
    Add {
        /// A folder in the repository [default: the current folder]
        dir: Option<PathBuf>,
        /// Name of the project [default: the folder's name, with a number if another repository has it: api, api-2]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        broker: BrokerArgs,
    },
    /// Remove a project; its reviews stay
    Remove {
        /// Name of the project
        name: String,
        #[command(flatten)]
        broker: BrokerArgs,
    },
}

pub(crate) async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::List(broker) => {
            execute_and_print::<ListProjects>(&broker.connect().await?, &NoArguments {}, render_list).await
        }
        Command::Add { dir, name, broker } => {
            let dir = dir.map_or_else(|| broker.dir(), Ok)?;
            let dir = dir.canonicalize().with_context(|| dir.display().to_string()).map_err(CliError::usage)?;
            let path = dir.into_os_string().into_string();
            let path = path.map_err(|_| CliError::usage(anyhow!("the path of the folder is not UTF-8")))?;
            let client = broker.connect().await?.into_local_operator();
            let request = RegisterProjectRequest { path, name };
            execute_and_print::<RegisterProject>(&client, &request, |project| render("registered", project)).await
        }
        Command::Remove { name, broker } => {
            let client = broker.connect().await?.into_local_operator();
            let request = RemoveProjectRequest { name };
            execute_and_print::<RemoveProject>(&client, &request, |project| render("removed", project)).await
        }
    }
}

fn render_list(response: &ListProjectsResponse) -> String {
    if response.projects.is_empty() {
        return "no projects; `countersign project add` registers the repository it runs in\n".to_owned();
    }
    let line = |project: &Project| [one_line(&project.name), root(project)];
    table(["NAME", "FOLDER"], response.projects.iter().map(line))
}

fn render(what: &str, project: &Project) -> String {
    format!("{what} {}  {}\n", one_line(&project.name), root(project))
}

fn root(project: &Project) -> String {
    project.root.as_deref().map(one_line).unwrap_or_default()
}
