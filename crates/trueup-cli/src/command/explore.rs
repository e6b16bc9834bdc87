//! `trueup explore`: the explorer over a dataset of one's own, without a directory of users.
//!
//! The server listens on a loopback address and knows one user, who reaches every account. The page signs in by a link
//! that works once ([`SignInLinks`]), so that no key is in a log, in the list of processes or in the browser's history.

use super::block_cache::BlockCacheArgs;
use super::open_dataset;
use super::option_values::bytes;
use super::serve::{background, memory_budget, start_log};
use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use std::collections::BTreeSet;
use std::env;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::filter::{LevelFilter, Targets};
use trueup::Dataset;
use trueup::access::{Directory, DirectorySettings, Grant, MemoryDirectory, Organization};
use trueup::service::{Limits, Service};
use trueup_server::{Server, Settings, SignInLinks};

const EXAMPLES: &str = "\
Examples:
  trueup explore my-data
  trueup explore s3://bucket/my-data --cache-dir ~/.cache/trueup
  ssh -L 8080:127.0.0.1:8080 host trueup explore my-data --port 8080

Opens a browser if there is one to open; otherwise prints the link. A link works once, for one browser tab, which can be \
reloaded. For another tab, run the command again.
Only programs on this machine can connect. Ctrl-C stops the command.
To let others explore, with keys of their own, use `serve`.";

/// The user of the page, and the organization of all accounts.
const USER: &str = "you";
const ORGANIZATION: &str = "all";

/// Time between two checks for a new version of the dataset.
const REFRESH: Duration = Duration::from_secs(1);

/// Explore a dataset in a browser
///
/// Shows metrics by dimensions as tables and charts, for all accounts of the dataset, without users and keys.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExploreCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// Port to listen on; by default any free one
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// Print the link and open no browser
    #[arg(long)]
    no_browser: bool,

    /// Memory for decoded columns, results of earlier queries, running queries and unsent answers, such as 512MiB or
    /// 4GiB
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "2GiB")]
    memory: usize,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl ExploreCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        // One line per request would be noise here.
        start_log(Some(Targets::new().with_default(LevelFilter::WARN)))?;
        self.cache.set()?;
        let dataset = open_dataset(&self.dataset, None)?;
        let dataset = dataset.with_column_budget(self.memory / 2).with_result_budget(self.memory / 8);
        super::check_footers(&dataset)?;
        // One user at one page needs no limit per hour.
        let directory: Arc<dyn Directory> =
            Arc::new(MemoryDirectory::new(DirectorySettings::default().hourly_limit(u32::MAX))?);
        directory.add_organization(&Organization::new(ORGANIZATION))?;
        directory.add_user(USER)?;
        directory.grant(USER, &Grant::Organization(ORGANIZATION.to_owned()))?;
        add_accounts(&*directory, &dataset)?;
        let settings = Settings { shutdown_grace: Duration::from_secs(1), ..Settings::default() };
        let limits = Limits { memory_queue: settings.max_requests_at_once / 2, ..Limits::default() };
        let service = Service::builder(Arc::new(dataset), Arc::clone(&directory))
            .limits(limits)
            .memory(memory_budget(self.memory))
            .on_failure(trueup_server::log_failure);
        let service = Arc::new(service.build());
        let links = SignInLinks::new(Arc::clone(&directory), USER);
        let server = Server::bind((Ipv4Addr::LOCALHOST, self.port), Arc::clone(&service), settings)
            .map_err(|error| Failure::request(format!("cannot listen on 127.0.0.1:{}: {error}", self.port)))?;
        let server = server.sign_in_links(links.clone()).hear_signals().map_err(Failure::fault)?;
        let new_accounts =
            move |dataset: &Dataset| add_accounts(&*directory, dataset).map_err(|error| error.to_string());
        let report = server.refresh_report();
        let _versions = background::watch_versions(service, REFRESH, report, new_accounts).map_err(Failure::fault)?;
        let _purge = background::purge_memory().map_err(Failure::fault)?;
        let address = format!("http://{}", server.local_addr());
        let link = format!("{address}/{}", links.issue()?);
        if !self.no_browser && can_open_browser() && open::that_detached(&link).is_ok() {
            notice::note(format_args!("opened {address}/explore in your browser; press Ctrl-C to stop"));
            notice::note("if nothing opens, run the command again with `--no-browser`, and open the printed link");
        } else {
            let mut out = OutputWriter::stdout();
            let written = writeln!(out, "{link}").map_err(Failure::fault);
            out.finish(written)?;
            notice::note("open this link in a browser on this machine; it works once. Press Ctrl-C to stop");
        }
        server.run().map_err(Failure::fault)?;
        notice::note("stopped");
        Ok(())
    }
}

/// Puts into the organization the accounts of a dataset that are not in it yet.
fn add_accounts(directory: &dyn Directory, dataset: &Dataset) -> Result<(), Failure> {
    let known: BTreeSet<String> = directory.accounts()?.into_iter().collect();
    let keys = dataset.account_keys().map_err(trueup::Error::from)?;
    for key in keys.iter().filter(|key| !known.contains(*key)) {
        directory.add_account(key)?;
        directory.place_account(key, ORGANIZATION)?;
    }
    Ok(())
}

/// Returns whether somebody sits at a screen of this machine, as far as the environment tells.
fn can_open_browser() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_remote = is_set("SSH_CONNECTION");
    let has_display = if cfg!(any(target_os = "macos", windows)) {
        !is_remote
    } else {
        // With `ssh -X`, the display is that of the person; WSL opens the browser of Windows.
        is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("WSL_DISTRO_NAME")
    };
    stderr().is_terminal() && has_display
}
