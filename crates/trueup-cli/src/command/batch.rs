//! `trueup batch`: many queries, a file of its own for each answer.

mod job;
mod jobs_file;

use super::{question, threads};
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, OutputWriter, number::counted};
use crate::progress;
use indicatif::ProgressBar;
use job::QueryJob;
use jobs_file::JobsFile;
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Execution};
use trueup_ingest::Outputs;

const EXAMPLES: &str = r#"Example of JOBS.toml:
  dataset = "my-data"              # from the folder of this file

  [defaults]                       # for every query that does not say otherwise
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
  where = ['campaign=["regex", "drain", "i"]']
  filter = '{"leads": ["gte", 5]}'

The keys are the options of `trueup query`: fields, start, end, interval, account, where, filter, format, allow-long-total; beside dataset
there may be as-of.

Example:
  trueup batch monthly.toml --into answers"#;

/// Run many queries of one dataset, each into a file of its own
///
/// All queries and files are checked before the first query is run. A file is there whole, or not at all, and takes the place of no
/// other.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BatchCommand {
    /// A TOML file that says what to ask
    #[arg(value_name = "JOBS")]
    jobs: PathBuf,

    /// The folder that the files are written to; made if it is not there
    #[arg(long, value_name = "DIR")]
    into: PathBuf,

    /// Work with so many threads; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = threads::parse)]
    threads: Option<NonZeroUsize>,

    /// Replace files that are there; an input or a file of a dataset is never replaced
    #[arg(long)]
    force: bool,
}

impl BatchCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let at_jobs = |error: std::io::Error| Failure::path(&self.jobs, &error);
        let text = fs::read_to_string(&self.jobs).map_err(at_jobs)?;
        let declaration: JobsFile =
            toml::from_str(&text).map_err(|error| Failure::request(format!("`{}`: {error}", self.jobs.display())))?;
        let folder = self.jobs.parent().unwrap_or(Path::new(""));
        let path = declaration.dataset(folder);
        let dataset = declaration.open(&path)?;
        let outputs = Outputs::new(self.force).input(&self.jobs).dataset(path);
        let checked = self.check(&declaration, &dataset, &outputs)?;
        fs::create_dir_all(&self.into).map_err(|error| Failure::path(&self.into, &error))?;

        let bar = progress::counting("queries", checked.len() as u64);
        let ran = checked.iter().try_for_each(|(job, query)| {
            self.answer(job, query, &dataset, &outputs, &bar)
                .map_err(|failure| failure.of(&format!("query `{}`", job.name)))?;
            bar.inc(1);
            Ok(())
        });
        bar.finish_and_clear();
        ran
    }

    /// Every job with its query; if any is at fault, each of those is told, and the batch is refused.
    fn check(
        &self,
        declaration: &JobsFile,
        dataset: &Dataset,
        outputs: &Outputs,
    ) -> Result<Vec<(QueryJob, EventsQuery)>, Failure> {
        let (mut checked, mut faults) = (Vec::new(), 0);
        let mut names: HashMap<String, String> = HashMap::new();
        for (number, declared) in (1..).zip(&declaration.query) {
            let job = QueryJob::new(declared, &declaration.defaults).and_then(|job| {
                // Some file systems take names in other case for the same.
                if let Some(other) = names.insert(job.output.to_lowercase(), job.name.clone()) {
                    return Err(Failure::request(format!("`{}` is written by query `{other}` too", job.output)));
                }
                let query = job.question.query(dataset)?;
                // What only a plan shows to be at fault.
                dataset.explain(&query)?;
                outputs.check(self.into.join(&job.output))?;
                Ok((job, query))
            });
            match job {
                Ok(job) => checked.push(job),
                Err(failure) => {
                    notice::error(&failure.of(&declared.label(number)).to_string());
                    faults += 1;
                }
            }
        }
        match (faults, declaration.query.len()) {
            (0, 0) => Err(Failure::request(format!("`{}` has no `[[query]]`", self.jobs.display()))),
            (0, _) => Ok(checked),
            (_, all) => Err(Failure::request(format!("of {all} queries {faults} cannot be run, so that none was"))),
        }
    }

    fn answer(
        &self,
        job: &QueryJob,
        query: &EventsQuery,
        dataset: &Dataset,
        outputs: &Outputs,
        bar: &ProgressBar,
    ) -> Result<(), Failure> {
        let answer = dataset.run(query, Execution { threads: self.threads, ..Execution::default() })?;
        let mut sink = OutputWriter::create(&self.into.join(&job.output), outputs)?;
        output::write(&answer, job.format, &mut sink)?;
        sink.keep()?;
        bar.suspend(|| {
            question::warn_of_unknown(&format!("query `{}`: ", job.name), &answer, dataset);
            let mut sink = OutputWriter::stdout();
            let rows = counted(answer.len() as u64, "row");
            let written = writeln!(sink, "{}: {rows}", job.output).map_err(Failure::fault);
            sink.finish(written)
        })
    }
}
