//! `countersign config`: prints the settings with the origin of each value, and edits the user's file. Only `running` needs
//! a broker.

use crate::{
    CliError,
    atomic_files::{self, FileMode},
    client::BrokerArgs,
    completion,
    config_overrides::ConfigArgs,
    render::{print, style, table},
    terminal,
    text_draft::run_editor,
    toml_edits,
};
use anyhow::{Context as _, anyhow};
use api::{
    operation::{GetConfig, NoArguments},
    settings::Setting as RunningSetting,
};
use config::{Config, ConfigError, DataDir, Loaded, SettingName, SettingsFile, Sources, display_value};
use domain::text::escape;
use serde::Serialize;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};
use toml::Value;

const NEW_FILE: &str = "\
# Settings of Countersign. `countersign config list` shows every setting, its value and where that comes from;
# docs/operations.md explains the layers. A section and a setting look like this:
#
# [claims]
# lease = \"10m\"
";

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  countersign config list pool
  countersign config set claims.lease 10m
  countersign config set pool.models 'opus, sonnet'")]
pub enum SettingsCommand {
    /// Print the path of the user's settings file
    Path {
        /// Print the files of all layers; later ones win
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        options: Options,
    },
    /// List settings with their values and where each value comes from
    List {
        /// Only this section, or settings that begin with this
        #[arg(value_name = "SECTION")]
        prefix: Option<String>,
        /// Leave out settings that have their default
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        options: Options,
    },
    /// List the settings of the running broker, as it read them when it started
    Running {
        /// Only this section, or settings that begin with this
        #[arg(value_name = "SECTION")]
        prefix: Option<String>,
        /// Leave out settings that have their default
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        broker: BrokerArgs,
    },
    /// Print the value of one setting
    Get {
        /// Setting, such as claims.lease
        #[arg(value_name = "SETTING", add = completion::setting_names())]
        name: String,
        #[command(flatten)]
        options: Options,
    },
    /// Change a setting in the user's file, or in the one of --config; comments stay
    Set {
        /// Setting, such as claims.lease
        #[arg(value_name = "SETTING", add = completion::setting_names())]
        name: String,
        /// Value: 10m, true, 3, a text, or a list with commas
        value: String,
        #[command(flatten)]
        options: Options,
    },
    /// Open the user's file, or the one of --config, in your editor; it is saved if it is valid
    Edit {
        #[command(flatten)]
        options: Options,
    },
    /// Check all settings; exit code 2 if one is invalid
    Check {
        #[command(flatten)]
        options: Options,
    },
}

#[derive(Debug, clap::Args)]
pub struct Options {
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// One setting, as `list --json` and `get --json` print it.
#[derive(Serialize)]
struct Setting<'a> {
    name: &'a str,
    value: &'a Value,
    /// File, variable or flag.
    source: String,
    is_default: bool,
}

pub(crate) async fn run(command: SettingsCommand) -> Result<(), CliError> {
    match command {
        SettingsCommand::Path { all, options } => print_paths(all, &options),
        SettingsCommand::List { prefix, changed, options } => list(prefix.as_deref(), changed, &options),
        SettingsCommand::Running { prefix, changed, broker } => running(prefix.as_deref(), changed, &broker).await,
        SettingsCommand::Get { name, options } => get(&name, &options),
        SettingsCommand::Set { name, value, options } => set(&name, &value, &options),
        SettingsCommand::Edit { options } => edit(&options).await,
        SettingsCommand::Check { options } => check(&options),
    }
}

fn print_paths(all: bool, options: &Options) -> Result<(), CliError> {
    let files = options.config.settings_sources()?.settings_files();
    if options.json {
        return terminal::write_pretty_json(&json!({ "files": files }));
    }
    if !all {
        let user = files.iter().find(|file| file.layer == "user").context("no home folder: HOME is not set")?;
        return terminal::write_raw(format!("{}\n", user.path.display()).as_bytes());
    }
    let row = |SettingsFile { layer, path, exists }: &SettingsFile| {
        let state = if *exists { "" } else { "does not exist" };
        [(*layer).to_owned(), state.to_owned(), escape(&path.to_string_lossy()).into_owned()]
    };
    terminal::write(&table(["LAYER", "", "FILE"], files.iter().map(row)))
}

fn settings(loaded: &Loaded) -> impl Iterator<Item = Setting<'_>> {
    loaded.settings().map(|(name, value, origin)| Setting {
        name,
        value,
        source: origin.to_string(),
        is_default: origin.is_default(),
    })
}

fn list(prefix: Option<&str>, changed: bool, options: &Options) -> Result<(), CliError> {
    let (loaded, _) = options.config.load(None)?;
    let prefix = prefix.unwrap_or_default();
    let settings: Vec<_> = settings(&loaded)
        .filter(|setting| setting.name.starts_with(prefix) && !(changed && setting.is_default))
        .collect();
    if settings.is_empty() && !changed {
        return Err(CliError::usage(anyhow!("no setting begins with {prefix:?}; `countersign config list` lists all")));
    }
    if options.json {
        return terminal::write_pretty_json(&json!({ "settings": settings }));
    }
    let row = |setting: &Setting<'_>| {
        let style = if setting.is_default { style::DIM } else { style::PLAIN };
        [
            (setting.name.to_owned(), style::PLAIN),
            (escape(&display_value(setting.value)).into_owned(), style),
            (setting.source.clone(), style),
        ]
        .map(|(text, style)| crate::render::Cell::styled(text, style))
    };
    terminal::page(&table(["SETTING", "VALUE", "SOURCE"], settings.iter().map(row)))
}

async fn running(prefix: Option<&str>, changed: bool, broker: &BrokerArgs) -> Result<(), CliError> {
    let client = broker.connect().await?;
    let mut config = client.execute::<GetConfig>(&NoArguments {}).await?;
    let is_wanted = |setting: &RunningSetting| {
        setting.name.starts_with(prefix.unwrap_or_default()) && !(changed && setting.source.is_none())
    };
    config.settings.retain(is_wanted);
    if config.settings.is_empty() && !changed {
        let error =
            anyhow!("no setting begins with {:?}; `countersign config running` lists all", prefix.unwrap_or_default());
        return Err(CliError::usage(error));
    }
    let row = |setting: &RunningSetting| {
        let style = if setting.source.is_none() { style::DIM } else { style::PLAIN };
        let source = setting.source.as_deref().unwrap_or("default.toml");
        [
            (escape(&setting.name).into_owned(), style::PLAIN),
            (escape(&setting.value.to_string()).into_owned(), style),
            (escape(source).into_owned(), style),
        ]
        .map(|(text, style)| crate::render::Cell::styled(text, style))
    };
    print(client.json, &config, |config| table(["SETTING", "VALUE", "SOURCE"], config.settings.iter().map(row)))
}

fn get(name: &str, options: &Options) -> Result<(), CliError> {
    let name = parse_name(name)?;
    let (loaded, _) = options.config.load(None)?;
    let missing = || anyhow!("{} is not set", name.name);
    let setting = settings(&loaded).find(|setting| setting.name == name.name).ok_or_else(missing)?;
    if options.json {
        return terminal::write_pretty_json(&setting);
    }
    terminal::write(&format!("{}\n", plain(setting.value)))
}

/// The value as scripts want it: a text without quotation marks.
fn plain(value: &Value) -> String {
    escape(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)).into_owned()
}

fn set(name: &str, text: &str, options: &Options) -> Result<(), CliError> {
    let name = parse_name(name)?;
    let value = name.parse_value(text);
    let (sources, file) = sources_and_file(options)?;
    let before = read(&file)?.unwrap_or_default();
    let edited = toml_edits::set(&before, &name.path, &value).with_context(|| file.display().to_string())?;
    let loaded = load_edited(&sources, &file, &edited)?;
    if edited != before {
        save(&file, &edited)?;
    }
    let setting = settings(&loaded).find(|setting| setting.name == name.name);
    let in_effect = setting.as_ref().map(|setting| json!(setting));
    if options.json {
        return terminal::write_pretty_json(
            &json!({ "file": file, "written": edited != before, "in_effect": in_effect }),
        );
    }
    let verb = if edited == before { "is so already in" } else { "is now in" };
    terminal::write(&format!("{} = {} {verb} {}\n", name.name, escape(&display_value(&value)), file.display()))?;
    let own = sources.origin_of(&file).to_string();
    if let Some(setting) = setting.filter(|setting| setting.source != own) {
        terminal::remark(&format!(
            "but {} says {}, which takes precedence",
            setting.source,
            display_value(setting.value)
        ));
    }
    remark_running_broker(&loaded.config.server.data_dir);
    Ok(())
}

/// A broker reads its settings when it starts.
fn remark_running_broker(data_dir: &DataDir) {
    if data_dir.running_broker().is_some() {
        terminal::remark("a running broker reads its settings when it starts: `countersign stop`, then start it again");
    }
}

/// The editor works on a draft beside the file, so an invalid text is neither used nor lost.
async fn edit(options: &Options) -> Result<(), CliError> {
    let (sources, file) = sources_and_file(options)?;
    let before = read(&file)?;
    let draft = file.with_added_extension("draft");
    let start = match read(&draft)? {
        Some(kept) => {
            terminal::remark(&format!("continuing your text in {}", draft.display()));
            kept
        }
        None => before.clone().unwrap_or_else(|| NEW_FILE.to_owned()),
    };
    atomic_files::write(&draft, &start, FileMode::Private)?;
    run_editor(&draft).await?;
    let edited = read(&draft)?.unwrap_or_default();
    let is_changed = edited != before.as_deref().unwrap_or(NEW_FILE);
    if is_changed {
        let kept = || {
            format!(
                "not saved; your text is in {}, and the next `countersign config edit` continues it",
                draft.display()
            )
        };
        load_edited(&sources, &file, &edited)
            .map_err(|failure| CliError { error: anyhow!("{:#}\n{}", failure.error, kept()), ..failure })?;
        save(&file, &edited)?;
    }
    fs::remove_file(&draft).with_context(|| draft.display().to_string())?;
    if options.json {
        return terminal::write_pretty_json(&json!({ "file": file, "written": is_changed }));
    }
    let verb = if is_changed { "saved" } else { "nothing changed in" };
    terminal::write(&format!("{verb} {}\n", file.display()))
}

fn check(options: &Options) -> Result<(), CliError> {
    let (loaded, _) = options.config.load(None)?;
    let files: Vec<_> =
        options.config.settings_sources()?.settings_files().into_iter().filter(|file| file.exists).collect();
    let changed = settings(&loaded).filter(|setting| !setting.is_default).count();
    if options.json {
        return terminal::write_pretty_json(&json!({ "valid": true, "files": files, "changed": changed }));
    }
    let mut out = format!(
        "all settings are valid; {} not the default\n",
        match changed {
            1 => "1 is".to_owned(),
            n => format!("{n} are"),
        }
    );
    for SettingsFile { layer, path, .. } in &files {
        out.push_str(&format!("  {layer:8}  {}\n", path.display()));
    }
    terminal::write(&out)
}

fn parse_name(text: &str) -> Result<SettingName, CliError> {
    SettingName::parse(text).map_err(|problem| CliError::usage(anyhow!("{text}: {problem}")))
}

/// The sources of all settings, and the file that is edited.
fn sources_and_file(options: &Options) -> Result<(Sources, PathBuf), CliError> {
    let sources = options.config.settings_sources()?;
    let file = sources.config_file.clone().or_else(|| sources.user_file.clone());
    Ok((sources, file.context("no home folder: HOME is not set")?))
}

fn read(file: &Path) -> Result<Option<String>, CliError> {
    Ok(atomic_files::load(file).with_context(|| file.display().to_string())?)
}

/// The settings as they would be with this text in the file.
fn load_edited(sources: &Sources, file: &Path, text: &str) -> Result<Loaded, CliError> {
    let edited = Sources { edited: Some((file.to_owned(), text.to_owned())), ..sources.clone() };
    Config::load(&edited).map_err(|problems: ConfigError| CliError::usage(problems))
}

fn save(file: &Path, text: &str) -> Result<(), CliError> {
    Ok(atomic_files::write(file, text, FileMode::Private)?)
}
