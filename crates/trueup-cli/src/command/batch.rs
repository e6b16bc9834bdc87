//! `trueup batch`: many queries, each answered into its own file.

mod jobs_file;

use super::block_cache::BlockCacheArgs;
use super::jobs_values::TomlAsOf;
use super::query::warn_about_unknown_fields;
use super::query_options::{warn_about_days, warn_about_unseen_values};
use super::{open_dataset, option_values};
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, Narrowing, OutputWriter, TerminalRows};
use crate::progress::Step;
use jobs_file::{JobsFile, QueryJob};
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use trueup::request::{PreparedQuery, Today};
use trueup::versions::AsOf;
use trueup::{Dataset, Day, Execution};
use trueup_ingest::Outputs;
use trueup_report::number::counted;

const EXAMPLES: &str = r#"Example of JOBS.toml:
  dataset = "my-data"              # relative to the folder of this file

  [defaults]                       # used by queries that do not set these keys
  start = 2025-01-01
  end = 2025-03-31
  format = "csv"

  [[query]]
  name = "channels"                # written to channels.csv
  fields = ["attributionChannel", "leads", "bookRate", "spend"]

  [[query]]
  name = "drains by month"
  output = "drains.parquet"
  fields = "campaign,leads,avgTicket"
  end = 2025-12-31
  interval = "month"
  account = ["seattle", "portland"]
  where = ["campaign ~* drain", "leads >= 5"]

  [[query]]
  name = "best campaigns"
  fields = "campaign,leads,avgCostPerLead"
  range = "last-month"             # or month, quarter, year or last, as in `trueup query`
  sort = ["leads:desc"]
  limit = 10
  totals = true

The keys of a query are options of `trueup query`:
  fields, interval, cohort, within, compare, attribution, account, where, filter,
  sort, limit, totals, targets, format, allow-long-total, allow-unknown, strict,
  and either start and end, or one of range, month, quarter, year and last.
A query also has a `name`, or an `output` (the name of its file), or both. Without
`output` the file has the name of the query, with the ending of its format. The
format is that of the query, or else the one for the ending of `output`, or else
that of the defaults.
The key `as-of`, next to `dataset`, names an earlier version of the dataset: by its
number, or by a time such as 2026-01-31T18:00:00Z. The option --as-of replaces it.

Example:
  trueup batch monthly.toml --into answers"#;

/// Run many queries on a dataset, each into its own file
///
/// All queries and files are checked before the first query runs. A file appears once it is complete, and must not
/// exist yet.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BatchCommand {
    /// TOML file that lists the queries
    #[arg(value_name = "JOBS")]
    jobs: PathBuf,

    /// Folder for the files; created if it does not exist
    #[arg(long, value_name = "DIR", value_parser = option_values::folder)]
    into: PathBuf,

    /// Read an earlier version of the dataset: by its number, or the newest one at a time such as 2026-01-31T18:00:00Z
    #[arg(long, value_name = "VERSION|TIME")]
    as_of: Option<AsOf>,

    /// The day that `last` and `range` count from; by default that of the clock, in the time zone of the accounts
    #[arg(long, value_name = "DATE")]
    today: Option<Day>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    /// Replace existing files; an input or a file of a dataset is never replaced
    #[arg(long)]
    force: bool,

    /// In all queries, allow names that neither the dictionary nor the dataset knows, which are empty on every row, and
    /// values in filters that no event and no spend has. Without it, such a name is refused, and such a value makes the
    /// batch fail after it has written all files
    #[arg(long)]
    allow_unknown: bool,

    /// In all queries, refuse a value in a filter that no event and no spend of the dataset has
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl BatchCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let file = JobsFile::read(&self.jobs)?;
        let folder = self.jobs.parent().unwrap_or(Path::new(""));
        let path = file.dataset_path(folder);
        self.cache.set()?;
        let as_of = match self.as_of {
            Some(as_of) => Some(as_of),
            None => TomlAsOf::parse(file.as_of.as_ref())?,
        };
        let dataset = open_dataset(&path, as_of)?;
        let outputs = Outputs::new(self.force).input(&self.jobs).dataset(path);
        let (checked, unseen_values) = self.check(&file, &dataset, &outputs)?;
        fs::create_dir_all(&self.into).map_err(|error| Failure::path(&self.into, &error))?;

        let step = Step::counted("queries", checked.len() as u64);
        checked.iter().try_for_each(|(job, query)| {
            step.rename(&job.name);
            self.answer(job, query, &dataset, &outputs)
                .map_err(|failure| failure.context(&format!("query `{}`", job.name)))?;
            step.add(1);
            Ok::<_, Failure>(())
        })?;
        drop(step);
        match unseen_values {
            0 => Ok(()),
            1 => Err(Failure::request(
                "a filter has a value that no event and no spend has; `--allow-unknown` allows it",
            )),
            more => Err(Failure::request(format!(
                "filters have {more} values that no event and no spend has; `--allow-unknown` allows them"
            ))),
        }
    }

    fn execution(&self) -> Execution {
        Execution { threads: self.threads, ..Execution::default() }
    }

    /// Returns every job with its query, and the number of values in filters that no event and no spend has and that
    /// neither `--allow-unknown` nor the key `allow-unknown` allows. Warns about each value that no event and no spend
    /// has.
    ///
    /// # Errors
    /// If the file has no query, or a job is faulty: then reports each faulty job, and refuses the whole batch.
    fn check(
        &self,
        file: &JobsFile,
        dataset: &Dataset,
        outputs: &Outputs,
    ) -> Result<(Vec<(QueryJob, PreparedQuery)>, usize), Failure> {
        let (mut checked, mut faults, mut unseen_values) = (Vec::new(), 0, 0);
        let today = Today::new(self.today);
        let mut names: HashMap<String, String> = HashMap::new();
        for (number, entry) in (1..).zip(&file.query) {
            let job = QueryJob::new(entry, &file.defaults).and_then(|mut job| {
                // Some file systems ignore the case of names.
                if let Some(other) = names.insert(job.output.to_lowercase(), job.name.clone()) {
                    return Err(Failure::request(format!("`{}` is written by query `{other}` too", job.output)));
                }
                job.request.allow_unknown |= self.allow_unknown;
                job.request.strict |= self.strict;
                let query =
                    job.request.prepare(dataset, &today).map_err(|fault| Failure::from(fault).into_request())?;
                dataset.check(query.events()).map_err(trueup::Error::from)?;
                outputs.check(self.into.join(&job.output))?;
                let step = Step::new("checking values");
                let unseen = query.unseen_values(dataset, &self.execution())?;
                drop(step);
                warn_about_unseen_values(&format!("query `{}`: ", job.name), &unseen);
                unseen_values += if job.request.allow_unknown { 0 } else { unseen.len() };
                Ok((job, query))
            });
            match job {
                Ok(job) => checked.push(job),
                Err(failure) => {
                    notice::error(&failure.context(&entry.label(number)).to_string());
                    faults += 1;
                }
            }
        }
        match (faults, file.query.len()) {
            (0, 0) => Err(Failure::request(format!("`{}` has no `[[query]]`", self.jobs.display()))),
            (0, _) => Ok((checked, unseen_values)),
            (_, 1) => Err(Failure::request("the only query cannot be run")),
            (_, all) => Err(Failure::request(format!("{faults} of {all} queries cannot be run, so none was"))),
        }
    }

    fn answer(
        &self,
        job: &QueryJob,
        query: &PreparedQuery,
        dataset: &Dataset,
        outputs: &Outputs,
    ) -> Result<(), Failure> {
        let answer = query.run(dataset, self.execution())?.with_totals_row();
        let mut file = OutputWriter::create(&self.into.join(&job.output), outputs)?;
        output::write(&answer, job.format, TerminalRows::All, Narrowing::default(), &mut file)?;
        file.keep()?;
        let prefix = format!("query `{}`: ", job.name);
        warn_about_days(&prefix, query.events(), dataset, &self.execution())?;
        warn_about_unknown_fields(&prefix, &answer, dataset);
        for text in answer.notes() {
            notice::warning(format_args!("{prefix}{text}"));
        }
        output::print(|out| writeln!(out, "{}: {}", job.output, counted(answer.len() as u64, "row")))
    }
}
