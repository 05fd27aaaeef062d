//! `countersign token`: creates, lists and revokes access tokens. It works on the database directly, with or without a
//! running broker.

use crate::{
    CliError, USAGE, completion,
    config_overrides::ConfigArgs,
    error::possible_values,
    render::{Cell, style, table},
    terminal,
};
use anyhow::{Context as _, anyhow};
use config::{Config, DataDir, LockError, data_dir::open_private};
use domain::credential::{Authority, LOCAL_OPERATOR, SecretHash};
use domain::identity::is_deceptive;
use domain::text::{count, escape, is_hidden};
use domain::{ids::VALIDATOR, time::Timestamp};
use serde::Serialize;
use serde_json::json;
use std::{
    io::{self, Write as _},
    time::Duration,
};
use store::{NewToken, Token, TokenSelector, Tokens};
use tokio::time::{Instant, sleep};

/// How long a starting broker may take to create its database.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_DELAY: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Create a token and print its secret, which is not stored
    Create(CreateArgs),
    /// List all tokens, including revoked ones
    List {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Revoke a token, effective from the next call
    Revoke {
        /// Number of the token, or a name to revoke all tokens of that name; `operator` signs out the browsers of the
        /// local user
        #[arg(value_name = "ID|NAME")]
        id_or_name: String,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Role of the holder; an operator may do everything, under any name
    #[arg(long, value_name = "ROLE", value_parser = possible_values::<Authority>())]
    role: Authority,
    /// Name under which the holder proposes or reviews
    #[arg(long, value_name = "IDENTITY")]
    name: String,
    /// Restrict the token to this project [default: all projects]
    #[arg(long, value_name = "PROJECT", add = completion::projects())]
    project: Option<String>,
    /// Print JSON instead of the bare secret
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::Create(args) => create(args).await,
        Command::List { json, config } => list(json, &config).await,
        Command::Revoke { id_or_name, config } => revoke(&id_or_name, &config).await,
    }
}

async fn create(args: CreateArgs) -> Result<(), CliError> {
    let config = args.config.resolve(None)?.config;
    check_name("--name", &args.name, &config)?;
    if args.name == LOCAL_OPERATOR || args.name == VALIDATOR || args.name.bytes().all(|byte| byte.is_ascii_digit()) {
        let error = anyhow!("--name {}: numbers and names of the broker are reserved; choose another", args.name);
        return Err(CliError::new(USAGE, error));
    }
    if let Some(project) = &args.project {
        check_name("--project", project, &config)?;
    }
    let mut tokens = open_or_create(&config.server.data_dir).await?;
    let secret = store::new_secret();
    let token = NewToken {
        hash: &SecretHash::from_secret(&secret),
        authority: args.role,
        identity: &args.name,
        project: args.project.as_deref(),
    };
    let id = tokens.create(token, now()).await?;
    tokens.close().await?;
    let authority = token.authority;
    if args.json {
        let answer = json!({
            "id": id, "role": authority, "name": args.name, "project": args.project, "token": secret,
        });
        terminal::write_json(&format!("{answer}\n"))?;
    } else {
        terminal::write_raw(format!("{secret}\n").as_bytes())?;
    }
    let _ = writeln!(
        io::stderr(),
        "token {id} for {authority} {}; the secret cannot be shown again. Send it as \"Authorization: Bearer TOKEN\", \
         or set COUNTERSIGN_TOKEN for `countersign mcp`",
        args.name
    );
    Ok(())
}

async fn list(json: bool, config: &ConfigArgs) -> Result<(), CliError> {
    let all = match open(&config.resolve(None)?.config.server.data_dir).await? {
        Some(mut tokens) => {
            let all = tokens.list().await?;
            tokens.close().await?;
            all
        }
        None => Vec::new(),
    };
    if json {
        let rows: Vec<_> = all.iter().map(row).collect();
        terminal::write_json(&format!("{}\n", json!({ "tokens": rows })))?;
    } else if all.is_empty() {
        writeln!(io::stderr(), "no tokens; `countersign token create` creates one")?;
    } else {
        terminal::write(&render(&all))?;
    }
    Ok(())
}

async fn revoke(id_or_name: &str, config: &ConfigArgs) -> Result<(), CliError> {
    let data_dir = config.resolve(None)?.config.server.data_dir;
    let selector = match id_or_name.parse() {
        Ok(id) => TokenSelector::Id(id),
        Err(_) => TokenSelector::Identity(id_or_name.to_owned()),
    };
    let (revoked, sessions) = match open(&data_dir).await? {
        Some(mut tokens) => {
            let revoked = tokens.revoke(&selector, now()).await?;
            // The local operator's token is not in the table and ends with the broker, but its browsers stay signed in.
            let sessions = if id_or_name == LOCAL_OPERATOR { tokens.end_local_sessions().await? } else { 0 };
            tokens.close().await?;
            (revoked, sessions)
        }
        None => (0, 0),
    };
    if sessions > 0 {
        writeln!(io::stderr(), "signed out {} of the local operator", count(sessions, "browser"))?;
        return Ok(());
    }
    if revoked == 0 {
        let name = escape(id_or_name);
        return Err(anyhow!("no active token {name:?}; `countersign token list` shows all").into());
    }
    writeln!(io::stderr(), "revoked {}", count(revoked, "token"))?;
    Ok(())
}

/// Applies the limits that the broker sets on the names of callers.
fn check_name(flag: &str, name: &str, config: &Config) -> Result<(), CliError> {
    let max = config.limits.id_chars;
    let fits = !name.trim().is_empty() && name.chars().count() <= max && !name.contains(is_hidden);
    let problem = || anyhow!("{flag} {:?}: expected 1 to {max} visible characters", escape(name));
    if !fits {
        return Err(CliError::new(USAGE, problem()));
    }
    if is_deceptive(name) {
        let mixed = "has letters of one script that look like those of another; use letters of one script";
        return Err(CliError::new(USAGE, anyhow!("{flag} {name:?}: {mixed}")));
    }
    Ok(())
}

/// Opens the tokens of a data folder. `None` if there is no database; nothing is created.
async fn open(data_dir: &DataDir) -> anyhow::Result<Option<Tokens>> {
    if data_dir.database().exists() { open_or_create(data_dir).await.map(Some) } else { Ok(None) }
}

/// Opens the tokens and creates or migrates the database if needed. Only under the lock: a running broker migrates its
/// own database.
async fn open_or_create(data_dir: &DataDir) -> anyhow::Result<Tokens> {
    let database = data_dir.database();
    let until = Instant::now() + DATABASE_TIMEOUT;
    loop {
        let at = || format!("cannot open {}", database.display());
        if let Some(tokens) = Tokens::open(&database).await.with_context(at)? {
            return Ok(tokens);
        }
        match data_dir.lock() {
            Ok(_locked) => {
                open_private(&database).with_context(at)?;
                store::migrate(&database).await.with_context(at)?;
            }
            // A broker that is starting may be creating the database.
            Err(taken @ LockError::Taken { .. }) if Instant::now() > until => {
                return Err(anyhow!(
                    "{}: the database has no token table; restart the broker ({taken})",
                    database.display()
                ));
            }
            Err(LockError::Taken { .. }) => sleep(RETRY_DELAY).await,
            Err(error @ LockError::Io { .. }) => return Err(error.into()),
        }
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

fn row(token: &Token) -> impl Serialize {
    json!({
        "id": token.id, "role": token.authority, "name": token.identity, "project": token.project,
        "created_at": token.created_at.to_string(), "revoked_at": token.revoked_at.map(|at| at.to_string()),
    })
}

fn render(tokens: &[Token]) -> String {
    let line = |token: &Token| {
        let state = match token.revoked_at {
            None => Cell::from(format!("since {}", token.created_at)),
            Some(at) => Cell::styled(format!("revoked {at}"), style::DIM),
        };
        let (name, project) = (escape(&token.identity), token.project.as_deref().map(escape));
        let project = project.as_deref().unwrap_or("all");
        [token.id.to_string().into(), token.authority.as_str().into(), name.into_owned().into(), project.into(), state]
    };
    let lines: Vec<[Cell; 5]> = tokens.iter().map(line).collect();
    table(["ID", "ROLE", "NAME", "PROJECT", "STATE"], lines)
}
