//! `trueup report`: a report about one month, or the reports of a jobs file.

mod jobs_file;

use super::block_cache::BlockCacheArgs;
use super::branding::BrandingArgs;
use super::jobs_values::TomlAsOf;
use super::{open_dataset, option_values, query_options};
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, OutputWriter};
use crate::progress::Step;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jobs_file::{ReportJob, ReportJobsFile};
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use trueup::query::{Attribution, NamedRange};
use trueup::request::RequestError;
use trueup::versions::AsOf;
use trueup::{Dataset, Day, Execution};
use trueup_ingest::Outputs;
use trueup_report::{Report, ReportFormat, ReportSpec, SECTIONS};

const EXAMPLES: &str = r#"Examples:
  trueup report my-data --month 2026-05 -o may.html
  trueup report my-data --month 2026-05 --account seattle -o seattle.md
  trueup report my-data --month 2026-05 --attribution first -o by-first-conversion.html
  trueup report my-data --month 2026-05 --through 2026-05-20 -o may-so-far.html
  trueup report --jobs report.toml --into reports

Example of report.toml:
  dataset = "my-data"              # relative to the folder of this file

  [defaults]                       # used by reports that do not set these keys
  month = "2026-05"
  format = "html"

  [[report]]
  name = "all"                     # written to all.html

  [[report]]
  output = "seattle.md"
  account = "seattle"              # or a list of accounts

The keys of a report are month, through, account, attribution and format, and a
`name`, or an `output` (the name of its file), or both. The key `as-of`, next to `dataset`, names
an earlier version of the dataset."#;

/// Write a report about one month: what changed and why, funnel, channels, campaigns, trend, cohorts, benchmarks
///
/// The report compares the month with the month before and with the same month a year earlier. It is one file, which
/// needs no network, and is the same for the same version of a dataset. At its end it lists the queries that its
/// numbers come from, except the figures of other accounts in the benchmarks.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportCommand {
    /// Folder or URL of the dataset
    #[arg(required_unless_present = "jobs", conflicts_with = "jobs")]
    dataset: Option<PathBuf>,

    /// The calendar month; with --jobs, that of the reports for which the file names none
    #[arg(long, value_name = "YYYY-MM", value_parser = NamedRange::month, required_unless_present = "jobs")]
    month: Option<NamedRange>,

    /// End the report with this day of the month, and compare it with the same days of the other months
    #[arg(long, value_name = "DATE", conflicts_with = "jobs")]
    through: Option<Day>,

    /// Report on this account alone; repeat the option for several together. By default all accounts are read
    #[arg(long = "account", value_name = "KEY", conflicts_with = "jobs")]
    accounts: Vec<String>,

    #[arg(long, value_name = "EVENT", help = query_options::help_of("attribution"), conflicts_with = "jobs")]
    attribution: Option<Attribution>,

    /// Format of the report; by default the one for the ending of FILE, or html
    #[arg(long, value_parser = PossibleValuesParser::new(ReportFormat::NAMES).try_map(|name| name.parse::<ReportFormat>()), conflicts_with = "jobs")]
    format: Option<ReportFormat>,

    /// Write the report to this file instead of stdout. The file appears once it is complete, and must not exist yet
    #[arg(short, long, value_name = "FILE", conflicts_with = "jobs")]
    output: Option<PathBuf>,

    /// Write the reports of this TOML file, each into a file of its own. All are checked before the first is made
    #[arg(long, value_name = "JOBS", requires = "into")]
    jobs: Option<PathBuf>,

    /// Folder for the reports of --jobs; created if it does not exist
    // With a dataset, the parser would not require `jobs`, because the two conflict.
    #[arg(long, value_name = "DIR", value_parser = option_values::folder, requires = "jobs", conflicts_with = "dataset")]
    into: Option<PathBuf>,

    /// Replace existing files; an input or a file of a dataset is never replaced
    #[arg(long)]
    force: bool,

    /// Read an earlier version of the dataset: by its number, or the newest one at a time such as 2026-01-31T18:00:00Z;
    /// `trueup versions` lists them
    #[arg(long, value_name = "VERSION|TIME", conflicts_with = "jobs")]
    as_of: Option<AsOf>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    branding: BrandingArgs,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl ReportCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.cache.set()?;
        match (&self.jobs, &self.into, &self.dataset, self.month) {
            (Some(jobs), Some(into), ..) => self.run_jobs(jobs, into),
            (None, _, Some(dataset), Some(month)) => self.run_one(dataset, month),
            // The parser refuses this.
            _ => Err(Failure::usage("expected a dataset and a month, or a jobs file and a folder")),
        }
    }

    fn execution(&self) -> Execution {
        Execution { threads: self.threads, ..Execution::default() }
    }

    fn ask(&self, dataset: &Dataset, spec: &ReportSpec) -> Result<Report, Failure> {
        let step = Step::counted("asking the questions", SECTIONS);
        Ok(Report::ask(dataset, spec, &self.execution(), || step.add(1))?)
    }

    fn run_one(&self, path: &Path, month: NamedRange) -> Result<(), Failure> {
        let format = match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, Some(path)) => ReportFormat::of_file(path)?.unwrap_or(ReportFormat::Html),
            (None, None) => ReportFormat::Html,
        };
        let outputs = Outputs::new(self.force).dataset(path);
        if let Some(output) = &self.output {
            outputs.check(output)?;
        }
        let dataset = open_dataset(path, self.as_of)?;
        let spec = ReportSpec::new(&self.accounts, days(month)?, self.through)
            .attribution(self.attribution.unwrap_or_default())
            .branded(self.branding.read()?);
        check(&spec, &dataset, "")?;
        let report = self.ask(&dataset, &spec)?;
        write(&report, format, self.output.as_deref(), &outputs)
    }

    fn run_jobs(&self, path: &Path, into: &Path) -> Result<(), Failure> {
        let file = ReportJobsFile::read(path)?;
        let dataset_path = file.dataset_path(path.parent().unwrap_or(Path::new("")));
        let dataset = open_dataset(&dataset_path, TomlAsOf::parse(file.as_of.as_ref())?)?;
        let outputs = Outputs::new(self.force).input(path).dataset(dataset_path);
        let branding = self.branding.read()?;
        let jobs = self.check_jobs(path, into, &file, &dataset, &outputs)?;
        fs::create_dir_all(into).map_err(|error| Failure::path(into, &error))?;
        let step = Step::counted("reports", jobs.len() as u64);
        for job in jobs {
            step.rename(&job.name);
            let written = self
                .ask(&dataset, &job.spec.branded(branding.clone()))
                .and_then(|report| write(&report, job.format, Some(&into.join(&job.output)), &outputs));
            written.map_err(|failure| failure.context(&format!("report `{}`", job.name)))?;
            step.add(1);
            output::print(|out| writeln!(out, "{}", job.output))?;
        }
        Ok(())
    }

    /// Returns every job.
    ///
    /// # Errors
    /// If the file has no report, or a job is faulty: then says what is wrong with each, and refuses them all.
    fn check_jobs(
        &self,
        path: &Path,
        into: &Path,
        file: &ReportJobsFile,
        dataset: &Dataset,
        outputs: &Outputs,
    ) -> Result<Vec<ReportJob>, Failure> {
        let (mut jobs, mut faults) = (Vec::new(), 0);
        let mut names: HashMap<String, String> = HashMap::new();
        for (number, entry) in (1..).zip(&file.report) {
            let job = ReportJob::new(entry, &file.defaults, self.month).and_then(|job| {
                // Some file systems ignore the case of names.
                if let Some(other) = names.insert(job.output.to_lowercase(), job.name.clone()) {
                    return Err(Failure::request(format!("`{}` is written by report `{other}` too", job.output)));
                }
                outputs.check(into.join(&job.output))?;
                check(&job.spec, dataset, &format!("report `{}`: ", job.name))?;
                Ok(job)
            });
            match job {
                Ok(job) => jobs.push(job),
                Err(failure) => {
                    notice::error(&failure.context(&entry.label(number)).to_string());
                    faults += 1;
                }
            }
        }
        match (faults, file.report.len()) {
            (0, 0) => Err(Failure::request(format!("`{}` has no `[[report]]`", path.display()))),
            (0, _) => Ok(jobs),
            (_, 1) => Err(Failure::request("the only report cannot be made")),
            (_, all) => Err(Failure::request(format!("{faults} of {all} reports cannot be made, so none was"))),
        }
    }
}

/// Returns the days of a month.
fn days(month: NamedRange) -> Result<trueup::query::DateRange, Failure> {
    month.days(Day::MIN).map_err(Failure::request)
}

/// Checks that a report can be made, and warns if its month is not over in the data. `prefix` names the report if there
/// are several.
fn check(spec: &ReportSpec, dataset: &Dataset, prefix: &str) -> Result<(), Failure> {
    RequestError::check_accounts(dataset, spec.accounts())?;
    if let Some(last) = spec.last_day_of_data(dataset)? {
        notice::warning(format_args!(
            "{prefix}the data end on {last}, before the last day of the report; if they are not complete, `--through {last}` \
             (in a jobs file: `through = {last}`) compares the same days of each month"
        ));
    }
    Ok(())
}

fn write(report: &Report, format: ReportFormat, path: Option<&Path>, outputs: &Outputs) -> Result<(), Failure> {
    let mut out = match path {
        Some(path) => OutputWriter::create(path, outputs)?,
        None => OutputWriter::stdout(),
    };
    let written = report.write(format, &mut out).map_err(Failure::fault);
    out.finish(written)?;
    out.keep()
}
