//! The tools of one caller, over one version of a dataset.

use crate::answer::Answer;
use crate::schema::{Arguments, Group, schema};
use crate::{Fault, tools};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use trueup::benchmarks::Privacy;
use trueup::query::{AccountFilter, DateRange, current_day};
use trueup::request::Today;
use trueup::{Dataset, Day, Error, Execution, Shown, most_similar};

/// The time that a call may take, unless the settings say otherwise.
const DEADLINE: Duration = Duration::from_secs(30);
/// The most rows of an answer before it is cut.
const MAX_ROWS: usize = 1_000_000;
/// The most accounts that an error or a line of an answer names.
pub(crate) const MAX_NAMED_ACCOUNTS: usize = 8;

/// Who asks, and what they may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The login; `None` in a process of the owner of the dataset, where nobody signs in.
    pub user: Option<String>,
    /// The organizations that the login reaches.
    pub organizations: Vec<Organization>,
    /// The keys of the accounts that the caller may see; `None` for all.
    pub accounts: Option<BTreeSet<String>>,
}

/// An organization that a caller reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    /// The id.
    pub id: String,
    /// The keys of its accounts that the caller may see.
    pub accounts: Vec<String>,
}

/// What tools may do.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The folder into which `export` writes; `None` writes nothing.
    pub export_dir: Option<PathBuf>,
    /// Whether personal columns may be asked for.
    pub allow_personal: bool,
    /// The day that named ranges count from; `None` is that of the clock.
    pub today: Option<Day>,
    /// The folder or URL of the dataset, for earlier versions of it; `None` answers about one version only.
    pub folder: Option<PathBuf>,
    /// Which benchmarks are anonymous enough to be shown.
    pub privacy: Privacy,
    /// The largest number of accounts times sub-ranges of a question; `None` sets no limit.
    pub account_intervals: Option<usize>,
    /// How long a call may take; `None` is half a minute.
    pub deadline: Option<Duration>,
}

/// The tools of one caller, over one version of a dataset. Nothing that they do changes the dataset.
#[derive(Debug)]
pub struct Toolbox {
    /// The dataset with the columns of all accounts. A tool gets that of its [`Call`].
    whole: Arc<Dataset>,
    pub(crate) caller: Caller,
    pub(crate) settings: Settings,
    known: KnownData,
}

/// What is known of the accounts of a caller in a version, once it is computed: the first and the last day of their
/// data, and the columns in which they have values. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct KnownData(Arc<DataOfAccounts>);

#[derive(Debug, Default)]
struct DataOfAccounts {
    days: OnceLock<Option<DateRange>>,
    columns: OnceLock<Arc<BTreeSet<String>>>,
}

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// The name.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it does, for a model.
    pub description: &'static str,
    pub(crate) groups: &'static [Group],
    pub(crate) run: fn(&Call<'_>) -> Result<Answer, Fault>,
}

/// A call of a tool.
pub(crate) struct Call<'a> {
    pub(crate) toolbox: &'a Toolbox,
    /// The dataset as the caller sees it: without the columns in which only accounts of others have values.
    pub(crate) dataset: Arc<Dataset>,
    pub(crate) arguments: Arguments,
    pub(crate) execution: Execution,
}

/// All tools.
pub(crate) static TOOLS: [&Tool; 10] = [
    &tools::overview::TOOL,
    &tools::find_fields::TOOL,
    &tools::find_values::TOOL,
    &tools::query::TOOL,
    &tools::compare::TOOL,
    &tools::what_changed::TOOL,
    &tools::benchmarks::TOOL,
    &tools::why::TOOL,
    &tools::insights::TOOL,
    &tools::export::TOOL,
];

impl Tool {
    /// Returns the JSON Schema of the arguments, in the dialect of 2020-12.
    #[must_use]
    pub fn schema(&self) -> serde_json::Map<String, Value> {
        schema(self.groups)
    }

    /// Returns the tool as lists of tools have it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "name": self.name, "title": self.title, "description": self.description, "inputSchema": self.schema() })
    }
}

impl Toolbox {
    /// Returns the tools of a caller over a dataset.
    #[must_use]
    pub fn new(dataset: Arc<Dataset>, caller: Caller, settings: Settings) -> Self {
        Self { whole: dataset, caller, settings, known: KnownData::default() }
    }

    /// Shares what is known of the data with other tools over the same version for a caller with the same accounts.
    #[must_use]
    pub fn sharing(self, known: &KnownData) -> Self {
        Self { known: known.clone(), ..self }
    }

    /// Returns the dataset, with the columns of all accounts. A caller who sees only some accounts must learn of none
    /// of the others, so that no tool takes names from it.
    #[must_use]
    pub const fn whole(&self) -> &Arc<Dataset> {
        &self.whole
    }

    /// Returns the dataset as the caller sees it.
    fn seen(&self, execution: &Execution) -> Result<Arc<Dataset>, Error> {
        let Some(keys) = &self.caller.accounts else { return Ok(Arc::clone(&self.whole)) };
        let columns = match self.known.0.columns.get() {
            Some(columns) => columns,
            None => {
                let columns = Arc::new(self.whole.columns_of(keys, execution)?);
                self.known.0.columns.get_or_init(|| columns)
            }
        };
        Ok(Arc::new(Dataset::clone(&self.whole).with_columns(Arc::clone(columns))))
    }

    /// Returns another version of the dataset as the caller sees it.
    pub(crate) fn seen_version(&self, version: Dataset, execution: &Execution) -> Result<Dataset, Error> {
        let Some(keys) = &self.caller.accounts else { return Ok(version) };
        let columns = version.columns_of(keys, execution)?;
        Ok(version.with_columns(columns))
    }

    /// Returns all tools.
    #[must_use]
    pub fn tools() -> &'static [&'static Tool] {
        &TOOLS
    }

    /// Returns the tool with a name.
    #[must_use]
    pub fn tool(name: &str) -> Option<&'static Tool> {
        TOOLS.iter().find(|tool| tool.name == name).copied()
    }

    /// Calls a tool. `execution` says how queries run; a call takes no longer than [`Settings::deadline`], whatever it
    /// says.
    ///
    /// # Errors
    /// There is no such tool, the arguments have a fault, the caller may not see what they name, or the dataset fails.
    pub fn call(&self, tool: &str, arguments: Value, execution: &Execution) -> Result<Answer, Fault> {
        let Some(found) = Self::tool(tool) else {
            let names = TOOLS.iter().map(|tool| tool.name);
            let similar = most_similar(tool, names.clone());
            let fix = similar.first().map_or_else(
                || format!("the tools are {}", names.collect::<Vec<_>>().join(", ")),
                |similar| format!("did you mean `{similar}`?"),
            );
            return Err(Fault::new("unknown-tool", format!("there is no tool `{}`", Shown(tool)), fix));
        };
        let arguments = Arguments::read(found.groups, arguments)?;
        let mut execution = execution.clone();
        execution.max_rows = Some(execution.max_rows.unwrap_or(MAX_ROWS).min(MAX_ROWS));
        execution.interrupt = execution.interrupt.within(self.settings.deadline.unwrap_or(DEADLINE));
        let dataset = self.seen(&execution)?;
        (found.run)(&Call { toolbox: self, dataset, arguments, execution })
    }

    /// Returns the clock of a call.
    pub(crate) fn clock(&self) -> Today {
        Today::new(self.settings.today)
    }

    /// Returns what today is for the accounts of the caller.
    pub(crate) fn today(&self) -> Day {
        let today = || current_day(self.whole.accounts(), &self.account_filter(), SystemTime::now());
        self.settings.today.unwrap_or_else(today)
    }

    /// Returns the number of the version; 0 for a dataset in memory.
    pub(crate) fn version(&self) -> u64 {
        self.whole.manifest().map_or(0, |manifest| manifest.version)
    }

    /// Returns the accounts of the caller.
    pub(crate) fn account_filter(&self) -> AccountFilter {
        self.caller.accounts.clone().map_or(AccountFilter::All, AccountFilter::Only)
    }

    /// Returns the keys of the accounts of the caller.
    pub(crate) fn account_keys(&self) -> Result<BTreeSet<String>, Fault> {
        match &self.caller.accounts {
            Some(keys) => Ok(keys.clone()),
            None => Ok(self.whole.account_keys()?),
        }
    }

    /// Returns the keys of the accounts that a call is about: the accounts that it names, or else all of the caller.
    /// `None` is all accounts of the dataset.
    ///
    /// # Errors
    /// The caller names an account that they may not see, whether it exists or not.
    pub(crate) fn accounts(&self, named: Option<Vec<String>>) -> Result<Option<Vec<String>>, Fault> {
        let Some(named) = named.filter(|named| !named.is_empty()) else {
            return Ok(self.caller.accounts.as_ref().map(|keys| keys.iter().cloned().collect()));
        };
        let keys = self.account_keys()?;
        let missing: Vec<&String> = named.iter().filter(|key| !keys.contains(*key)).take(MAX_NAMED_ACCOUNTS).collect();
        if missing.is_empty() {
            return Ok(Some(named));
        }
        let listed = |keys: &[&str]| keys.iter().map(|key| format!("`{}`", Shown(key))).collect::<Vec<_>>().join(", ");
        let fixes: Vec<String> = missing
            .iter()
            .map(|missing| match self.similar_accounts(&keys, missing).as_slice() {
                [] => {
                    let first: Vec<&str> = keys.iter().take(MAX_NAMED_ACCOUNTS).map(String::as_str).collect();
                    format!("keys of accounts are {}; `overview` lists them", listed(&first))
                }
                similar => format!("did you mean {}?", listed(similar)),
            })
            .collect();
        let fix = match fixes.as_slice() {
            [fix] => fix.clone(),
            fixes => {
                let each = missing.iter().zip(fixes).map(|(missing, fix)| format!("`{}`: {fix}", Shown(missing)));
                each.collect::<Vec<_>>().join(" ")
            }
        };
        let missing: Vec<&str> = missing.into_iter().map(String::as_str).collect();
        Err(Fault::new("inaccessible-accounts", format!("there is no account with the key {}", listed(&missing)), fix))
    }

    /// Returns the keys of accounts that somebody may mean: those with that name, or else similar ones.
    pub(crate) fn similar_accounts<'k>(&self, keys: &'k BTreeSet<String>, meant: &str) -> Vec<&'k str> {
        let accounts = self.whole.accounts();
        // A name is mostly what a person says, and the key is what tools take.
        let by_name = keys.iter().filter(|key| accounts.name(key).eq_ignore_ascii_case(meant));
        let by_name: Vec<&str> = by_name.map(String::as_str).collect();
        if !by_name.is_empty() {
            return by_name;
        }
        let similar = most_similar(meant, keys.iter().map(String::as_str));
        if !similar.is_empty() {
            return similar;
        }
        let names = most_similar(meant, keys.iter().map(|key| accounts.name(key)));
        keys.iter().filter(|key| names.contains(&accounts.name(key))).map(String::as_str).collect()
    }

    /// Returns the first and the last day of the data of the caller's accounts; `None` if they have none.
    pub(crate) fn days(&self, execution: &Execution) -> Result<Option<DateRange>, Error> {
        if let Some(days) = self.known.0.days.get() {
            return Ok(*days);
        }
        let all = self.whole.date_range();
        let days = match (&self.caller.accounts, all) {
            // The days of other accounts are nobody else's business.
            (Some(keys), Some(_)) => self.whole.days_of(keys, execution)?,
            _ => all,
        };
        Ok(*self.known.0.days.get_or_init(|| days))
    }
}
