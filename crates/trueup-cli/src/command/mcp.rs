//! `trueup mcp`: the tools for agents over stdin and stdout, from a dataset or from a service.

use super::block_cache::BlockCacheArgs;
use super::{open_dataset, option_values};
use crate::exit::Failure;
use crate::{notice, output};
use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use trueup::request::RequestError;
use trueup::{Day, is_url};
use trueup_mcp::{Caller, Client, LocalDataset, ServeError, Settings, configuration, relay_stdio, serve_stdio};

const EXAMPLES: &str = "\
Examples:
  trueup mcp my-data --install claude
  trueup mcp my-data --account north --export-dir ~/exports
  trueup mcp my-data --today 2026-05-31
  trueup mcp --url https://trueup.example.com --key-file anna.key --install cursor

A client starts the command by itself; `--install` prints what to paste into its configuration.";

/// The memory for results of earlier queries, because agents ask some questions several times.
const RESULT_BYTES: usize = 64 << 20;

/// Answer agents: a server of the Model Context Protocol on stdin and stdout
///
/// Ten tools that read and never change the dataset: what there is, metrics by dimensions, comparisons, what changed
/// and why, benchmarks, insights, and exports into one folder. Answers are short, and say what they do not show.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct McpCommand {
    /// Folder or URL of the dataset
    #[arg(required_unless_present = "url")]
    dataset: Option<PathBuf>,

    /// Ask a service (`trueup serve --mcp`) at this URL, with the key in --key-file, in place of a dataset
    #[arg(
        long,
        requires = "key_file",
        conflicts_with_all = ["dataset", "accounts", "export_dir", "allow_personal", "today", "cache_dir"]
    )]
    url: Option<String>,

    /// File with the key for --url
    #[arg(long, value_name = "FILE", requires = "url")]
    key_file: Option<PathBuf>,

    /// Show only the account with this key. Repeat the option for several
    #[arg(long = "account", value_name = "KEY")]
    accounts: Vec<String>,

    /// Let agents export answers as new files into this folder; by default they can write nothing
    #[arg(long, value_name = "DIR", value_parser = option_values::folder)]
    export_dir: Option<PathBuf>,

    /// Answer questions about names, phones, e-mails, transcripts and recordings of customers
    #[arg(long)]
    allow_personal: bool,

    /// The day that ranges such as `last-month` count from; by default that of the clock, in the time zone of the
    /// accounts
    #[arg(long, value_name = "DATE")]
    today: Option<Day>,

    /// Print the configuration with which this client starts the command, and do nothing else
    #[arg(long, value_name = "CLIENT", value_parser = Client::NAMES)]
    install: Option<String>,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl McpCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        if let Some(client) = &self.install {
            return self.print_configuration(client.parse().map_err(Failure::usage)?);
        }
        if let (Some(url), Some(key_file)) = (&self.url, &self.key_file) {
            let key = option_values::read_key(key_file)?;
            return relay_stdio(url, key.reveal()).map_err(failure);
        }
        // Without a URL there is a dataset.
        let Some(folder) = self.dataset else { return Ok(()) };
        self.cache.set()?;
        let dataset = open_dataset(&folder, None)?.with_result_budget(RESULT_BYTES);
        if !self.accounts.is_empty() {
            RequestError::check_accounts(&dataset, &self.accounts)?;
        }
        if let Some(folder) = self.export_dir.as_deref().filter(|folder| !folder.is_dir()) {
            return Err(Failure::path(folder, &"expected a folder that exists"));
        }
        let accounts = (!self.accounts.is_empty()).then(|| self.accounts.into_iter().collect());
        let caller = Caller { accounts, ..Caller::default() };
        let settings = Settings {
            export_dir: self.export_dir,
            allow_personal: self.allow_personal,
            today: self.today,
            folder: Some(folder),
            ..Settings::default()
        };
        serve_stdio(LocalDataset::new(dataset, caller, settings)).map_err(failure)
    }

    /// Prints the configuration of a client, with paths that hold wherever the client runs.
    fn print_configuration(&self, client: Client) -> Result<(), Failure> {
        let whole = |path: &Path| {
            let path = if is_url(path) { Ok(path.to_owned()) } else { std::path::absolute(path) };
            path.map(|path| path.display().to_string()).map_err(Failure::fault)
        };
        let mut arguments = vec!["mcp".to_owned()];
        if let Some(dataset) = &self.dataset {
            arguments.push(whole(dataset)?);
        }
        if let (Some(url), Some(key_file)) = (&self.url, &self.key_file) {
            arguments.extend(["--url".to_owned(), url.clone(), "--key-file".to_owned(), whole(key_file)?]);
        }
        arguments.extend(self.accounts.iter().flat_map(|key| ["--account".to_owned(), key.clone()]));
        if let Some(folder) = &self.export_dir {
            arguments.extend(["--export-dir".to_owned(), whole(folder)?]);
        }
        if self.allow_personal {
            arguments.push("--allow-personal".to_owned());
        }
        arguments.extend(self.today.iter().flat_map(|today| ["--today".to_owned(), today.to_string()]));
        // In a process of Python, the executable is not the program, which is then on the path.
        let program = env::current_exe().ok().filter(|path| path.file_stem().is_some_and(|stem| stem == "trueup"));
        let program = program.map_or_else(|| "trueup".to_owned(), |path| path.display().to_string());
        output::print(|out| write!(out, "{}", configuration(client, &program, &arguments)))?;
        notice::aside(format_args!("paste this into {}", client.place()));
        Ok(())
    }
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::Io(error) => Failure::fault(error),
        error => Failure::request(error),
    }
}
