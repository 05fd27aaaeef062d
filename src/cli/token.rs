//! `countersign token`: the tokens of people and of agents that nobody here has started. It works on the
//! database itself, beside a running broker or without one.

use super::{
    Failure, USAGE,
    instance::{Instance, InstanceError},
    place::Place,
    render::{Cell, style, table},
    terminal,
};
use crate::{
    broker::{DATABASE, create_private},
    config::Config,
};
use anyhow::{Context as _, anyhow};
use domain::credential::{Authority, LOCAL_OPERATOR, SecretHash};
use domain::text::{escape, is_hidden};
use domain::{ids::VALIDATOR, time::Timestamp};
use serde_json::json;
use std::{
    io::{self, Write as _},
    path::Path,
    time::Duration,
};
use store::{NewToken, Token, TokenSelector, Tokens};
use tokio::time::{Instant, sleep};

/// How long a broker that has just begun may take to make its database.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a token; its secret is shown once, on stdout, and kept nowhere
    Create(CreateArgs),
    /// List the tokens, also those that are revoked
    List(ListArgs),
    /// Revoke a token, from its holder's next call on
    Revoke(RevokeArgs),
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RoleOption {
    Proposer,
    Reviewer,
    Operator,
}

impl From<RoleOption> for Authority {
    fn from(role: RoleOption) -> Self {
        match role {
            RoleOption::Proposer => Self::Proposer,
            RoleOption::Reviewer => Self::Reviewer,
            RoleOption::Operator => Self::Operator,
        }
    }
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// What its holder may do; an operator may do everything, in anybody's name
    #[arg(long, value_name = "ROLE")]
    role: RoleOption,
    /// The name its holder proposes or reviews under
    #[arg(long, value_name = "IDENTITY")]
    name: String,
    /// Only for the reviews of this project [default: all]
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// JSON instead of the bare secret
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// The token's number, or a name: then all tokens of that name
    #[arg(value_name = "ID|NAME")]
    which: String,
    #[command(flatten)]
    place: Place,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Create(args) => create(args).await,
        Command::List(args) => list(args).await,
        Command::Revoke(args) => revoke(args).await,
    }
}

async fn create(args: CreateArgs) -> Result<(), Failure> {
    let config = args.place.settle(None)?.config;
    check("--name", &args.name, &config)?;
    if args.name == LOCAL_OPERATOR || args.name == VALIDATOR || args.name.bytes().all(|byte| byte.is_ascii_digit()) {
        let error = anyhow!("--name {}: a number or a name of the broker's own; choose another", args.name);
        return Err(Failure::new(USAGE, error));
    }
    if let Some(project) = &args.project {
        check("--project", project, &config)?;
    }
    let mut tokens = open_or_make(&config.server.data_dir).await?;
    let secret = store::new_secret();
    let token = NewToken {
        hash: &SecretHash::of(&secret),
        authority: args.role.into(),
        identity: &args.name,
        project: args.project.as_deref(),
    };
    let id = tokens.create(token, now()).await?;
    tokens.close().await?;
    let authority = token.authority;
    if args.json {
        print(&json!({
            "id": id, "role": authority, "name": args.name, "project": args.project, "token": secret,
        }))?;
    } else {
        terminal::write_raw(format!("{secret}\n").as_bytes())?;
    }
    let _ = writeln!(
        io::stderr(),
        "token {id} of the {authority} {}: shown only now. Send it as \"Authorization: Bearer TOKEN\"; \
         `countersign mcp` takes it from COUNTERSIGN_TOKEN",
        args.name
    );
    Ok(())
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let all = match open(&args.place.settle(None)?.config.server.data_dir).await? {
        Some(mut tokens) => {
            let all = tokens.list().await?;
            tokens.close().await?;
            all
        }
        None => Vec::new(),
    };
    if args.json {
        let rows: Vec<_> = all.iter().map(row).collect();
        print(&json!({ "tokens": rows }))?;
    } else if all.is_empty() {
        writeln!(io::stderr(), "no tokens; `countersign token create` makes one")?;
    } else {
        terminal::write(&shown(&all))?;
    }
    Ok(())
}

async fn revoke(args: RevokeArgs) -> Result<(), Failure> {
    let data_dir = args.place.settle(None)?.config.server.data_dir;
    let which = match args.which.parse() {
        Ok(id) => TokenSelector::Id(id),
        Err(_) => TokenSelector::Identity(args.which.clone()),
    };
    let revoked = match open(&data_dir).await? {
        Some(mut tokens) => {
            let revoked = tokens.revoke(&which, now()).await?;
            tokens.close().await?;
            revoked
        }
        None => 0,
    };
    if revoked == 0 {
        let which = escape(&args.which);
        return Err(anyhow!("no live token {which:?}; `countersign token list` shows all").into());
    }
    let plural = if revoked == 1 { "token" } else { "tokens" };
    writeln!(io::stderr(), "revoked {revoked} {plural}")?;
    Ok(())
}

/// Names stand in logs and on terminals, and callers may say only short ones.
fn check(flag: &str, name: &str, config: &Config) -> Result<(), Failure> {
    let max = config.limits.id_chars;
    let fits = !name.trim().is_empty() && name.chars().count() <= max && !name.contains(is_hidden);
    let problem = || anyhow!("{flag} {:?}: expected 1 to {max} characters, none of them invisible", escape(name));
    if fits { Ok(()) } else { Err(Failure::new(USAGE, problem())) }
}

/// The tokens of a data dir; `None` if nothing was ever kept there. A look leaves no trace.
async fn open(data_dir: &Path) -> anyhow::Result<Option<Tokens>> {
    if data_dir.join(DATABASE).exists() { open_or_make(data_dir).await.map(Some) } else { Ok(None) }
}

/// The schema is brought up to date only under the lock: what a running broker uses is its own affair.
async fn open_or_make(data_dir: &Path) -> anyhow::Result<Tokens> {
    let database = data_dir.join(DATABASE);
    let until = Instant::now() + PATIENCE;
    loop {
        let at = || format!("cannot open {}", database.display());
        if let Some(tokens) = Tokens::open(&database).await.with_context(at)? {
            return Ok(tokens);
        }
        match Instance::claim(data_dir) {
            Ok(_locked) => {
                create_private(&database).with_context(at)?;
                store::migrate(&database).await.with_context(at)?;
            }
            // It may be about to do the same.
            Err(taken @ InstanceError::Taken { .. }) if Instant::now() > until => {
                return Err(anyhow!("{}: it has no tokens yet; restart its broker ({taken})", database.display()));
            }
            Err(InstanceError::Taken { .. }) => sleep(PAUSE).await,
            Err(error @ InstanceError::Io { .. }) => return Err(error.into()),
        }
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or_default().to_string()
}

fn row(token: &Token) -> serde_json::Value {
    json!({
        "id": token.id, "role": token.authority, "name": token.identity, "project": token.project,
        "created_at": moment(token.created_at), "revoked_at": token.revoked_at.map(moment),
    })
}

fn shown(tokens: &[Token]) -> String {
    let line = |token: &Token| {
        let state = match token.revoked_at {
            None => Cell::from(format!("since {}", moment(token.created_at))),
            Some(at) => Cell::styled(format!("revoked {}", moment(at)), style::DIM),
        };
        let (name, project) = (escape(&token.identity), token.project.as_deref().map(escape));
        let project = project.as_deref().unwrap_or("all");
        [token.id.to_string().into(), token.authority.as_str().into(), name.into_owned().into(), project.into(), state]
    };
    let lines: Vec<[Cell; 5]> = tokens.iter().map(line).collect();
    table(["ID", "ROLE", "NAME", "PROJECT", "STATE"], &lines)
}

fn print(value: &serde_json::Value) -> Result<(), Failure> {
    terminal::write_json(&format!("{value}\n"))
}
