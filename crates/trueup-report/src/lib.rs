//! A report about one month of a [`Dataset`]: funnel, channels, campaigns, trend, cohorts and benchmarks, with
//! sentences that say what changed and why. It asks its questions as anybody can who links [`trueup`].
//!
//! ```no_run
//! use trueup::query::DateRange;
//! use trueup::{Dataset, Execution};
//! use trueup_report::{Report, ReportFormat, ReportSpec};
//!
//! let dataset = Dataset::open("my-data")?;
//! let may = DateRange { start: "2026-05-01".parse()?, end: "2026-05-31".parse()? };
//! let report = Report::ask(&dataset, &ReportSpec::new(&[], may, None), &Execution::default(), || ())?;
//! report.write(ReportFormat::Html, &mut std::fs::File::create("may.html")?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | step |
//! |---|---|
//! | `period` | the days of the report, and the earlier days to compare them with |
//! | `question` | a question: a query, and the command that asks the same |
//! | `figure` | a number of an answer, as people read it and in full, with the place that it comes from |
//! | `sections`, `targets`, `benchmarks` | ask the questions, and make sections of the answers |
//! | `sentences` | says in words what a comparison shows; [`Change`] does so for others than reports |
//! | `explained` | says which customers made a number change, as `why` explains it |
//! | `branding` | what whoever makes the report puts on it |
//! | `document` | the report as plain data |
//! | `insights` | drafts documents about single accounts by rules, from the same questions and sentences |
//! | `html`, `chart`, `markdown` | write it; `escaped` is what the first two share |
//! | [`number`], [`text`] | numbers and texts of the data as people read them, in reports and on a terminal |

mod benchmarks;
mod branding;
mod change;
mod chart;
mod document;
mod escaped;
mod explained;
mod figure;
mod html;
mod insights;
mod markdown;
pub mod number;
mod period;
mod question;
mod sections;
mod sentences;
mod shell_word;
mod targets;
#[cfg(test)]
mod tests;
pub mod text;

pub use benchmarks::{Standing, standing, value_of};
pub use branding::{Branding, BrandingFault};
pub use change::{Across, Change};
pub use explained::ExplainedChange;
pub use figure::Verdict;
pub use insights::{InsightDrafts, Publication};
pub use period::{MONTH_NAMES, months_before};
pub use question::query_command;
pub use shell_word::shell_word;

use document::{Block, Document, Text};
use period::ReportDays;
use question::Questions;
use sections::Subject;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;
use text::printable;
use trueup::benchmarks::Privacy;
use trueup::query::{Attribution, DateRange};
use trueup::request::RequestError;
use trueup::{Dataset, Day, Execution, Shown, without_credentials};

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// One HTML file with everything in it.
    Html,
    /// Markdown.
    Md,
}

/// A text or the ending of a file that names no format of a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownReportFormat {
    /// The text.
    #[error("expected a format (`html`, `md`), but found `{}`", Shown(.0))]
    Name(String),
    /// The file.
    #[error("expected a file that ends in .html or .md, but found `{0}`")]
    File(String),
}

impl ReportFormat {
    /// The names of the formats.
    pub const NAMES: [&str; 2] = ["html", "md"];

    /// Returns the format for the ending of a file name; `None` if it has no ending.
    ///
    /// # Errors
    /// The ending is unknown.
    pub fn of_file(path: &Path) -> Result<Option<Self>, UnknownReportFormat> {
        let ending = path.extension().map(OsStr::to_ascii_lowercase);
        match ending.as_ref().map(|ending| ending.to_str().unwrap_or_default()) {
            None => Ok(None),
            Some("html" | "htm") => Ok(Some(Self::Html)),
            Some("md") => Ok(Some(Self::Md)),
            Some(_) => Err(UnknownReportFormat::File(without_credentials(path).display().to_string())),
        }
    }

    /// Returns the usual ending of a file name in this format.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Md => "md",
        }
    }
}

impl FromStr for ReportFormat {
    type Err = UnknownReportFormat;

    fn from_str(text: &str) -> Result<Self, UnknownReportFormat> {
        match text {
            "html" => Ok(Self::Html),
            "md" => Ok(Self::Md),
            other => Err(UnknownReportFormat::Name(other.to_owned())),
        }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The dataset is empty.
    #[error("the dataset has neither events nor spend")]
    Empty,
    /// The last day of the report is not in its month.
    #[error("expected the last day of the report in {}, from {month}, but found `{end}`", .month.start.month())]
    OutsideOfMonth {
        /// The days of the month.
        month: DateRange,
        /// The last day.
        end: Day,
    },
    /// The days of the report are all before those of the dataset, or all after them.
    #[error("the dataset has neither events nor spend in {}, from {range}; its days are {data}", .range.start.month())]
    NoData {
        /// The days of the report.
        range: DateRange,
        /// The first and the last day of the dataset.
        data: DateRange,
    },
    /// The data end before the last day of insights, which would compare a part of a month with a whole one.
    #[error(
        "the data end on {end}, before the last day of {range}; if they are complete, end with {end} (`--through {end}`)"
    )]
    NotOver {
        /// The days of the insights.
        range: DateRange,
        /// The last day of the dataset.
        end: Day,
    },
    /// A question is refused.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A question cannot be answered.
    #[error(transparent)]
    Engine(#[from] trueup::Error),
}

/// What a report is about.
#[derive(Clone, Debug)]
pub struct ReportSpec {
    /// The keys of the accounts, each once; none for all of the dataset.
    accounts: Vec<String>,
    /// The calendar month.
    month: DateRange,
    /// The last day, if it is not that of the month.
    through: Option<Day>,
    attribution: Attribution,
    reader: Option<Reader>,
    branding: Branding,
}

/// Somebody who may see only some accounts.
#[derive(Clone, Debug)]
struct Reader {
    reach: BTreeSet<String>,
    privacy: Privacy,
}

/// A report, ready to be written.
#[derive(Debug)]
pub struct Report(Document);

impl Report {
    /// Asks the questions of a report. `progress` is called after each of the [`SECTIONS`]; targets, if there are any,
    /// belong to the first.
    ///
    /// # Errors
    /// The dataset has no data in the month, `through` is outside of it, or a question has no answer.
    pub fn ask(
        dataset: &Dataset,
        spec: &ReportSpec,
        execution: &Execution,
        mut progress: impl FnMut(),
    ) -> Result<Self, ReportError> {
        let period = spec.period(dataset, execution)?;
        let subject = Subject { accounts: &spec.accounts, period: &period, attribution: spec.attribution };
        let mut questions = Questions::new(dataset, execution.clone(), spec.attribution);
        let key_figures = sections::key_figures(&subject, &mut questions)?;
        let targets = targets::targets(&subject, dataset, &mut questions)?;
        progress();
        let [changes, channels, campaigns] = sections::changes(&subject, &mut questions)?;
        (0..3).for_each(|_| progress());
        let funnel = sections::funnel(&subject, &mut questions)?;
        progress();
        let trend = sections::trend(&subject, &mut questions)?;
        progress();
        let cohorts = sections::cohorts(&subject, &mut questions)?;
        progress();
        let reader = spec.reader.as_ref().map(|reader| (&reader.reach, reader.privacy));
        let benchmarks = benchmarks::benchmarks(&subject, reader, dataset, execution, &mut questions)?;
        progress();
        let mut all: Vec<_> = spec.branding.section().into_iter().collect();
        all.push(key_figures);
        all.extend(targets);
        all.extend([changes, funnel, channels, campaigns, trend, cohorts, benchmarks]);
        if let Some(figures) = all.iter_mut().find(|section| section.id == "figures") {
            figures.blocks.splice(0..0, warnings(&period));
        }
        let names = spec.names(dataset)?;
        let from = spec.branding.name.as_deref().map(|name| ("From", printable(name)));
        let mut facts: Vec<_> = from.into_iter().collect();
        facts.extend([
            ("Days", period.range.to_string()),
            ("Accounts", names.list),
            ("Data", format!("{}, version {}", period.data, version(dataset))),
            ("Attribution", format!("{}, {}", spec.attribution, credited(spec.attribution))),
        ]);
        Ok(Self(Document {
            title: format!("{}: {}", period.name, names.title),
            logo: spec.branding.logo.clone(),
            facts,
            sections: all,
            commands: questions.commands,
        }))
    }

    /// Writes the report.
    ///
    /// # Errors
    /// `out` fails.
    pub fn write(&self, format: ReportFormat, out: &mut impl Write) -> io::Result<()> {
        match format {
            ReportFormat::Html => html::write(&self.0, out),
            ReportFormat::Md => markdown::write(&self.0, out),
        }
    }
}

/// The number of sections of a report.
pub const SECTIONS: u64 = 8;

/// The accounts of a report, for people.
struct AccountNames {
    title: String,
    list: String,
}

impl ReportSpec {
    /// Creates the report about a month. An account that is named twice counts once.
    #[must_use]
    pub fn new(accounts: &[String], month: DateRange, through: Option<Day>) -> Self {
        let mut seen = HashSet::new();
        let accounts = accounts.iter().filter(|key| seen.insert(*key)).cloned().collect();
        let (attribution, branding) = (Attribution::default(), Branding::default());
        Self { accounts, month, through, attribution, reader: None, branding }
    }

    /// Sets the event from which channels and campaigns are taken, in place of [`Attribution::Recorded`].
    #[must_use]
    pub fn attribution(self, attribution: Attribution) -> Self {
        Self { attribution, ..self }
    }

    /// Puts a name, a logo and a comment on the report.
    #[must_use]
    pub fn branded(self, branding: Branding) -> Self {
        Self { branding, ..self }
    }

    /// Makes the report for a reader who may see the accounts of `reach`, those of the report included, and no others:
    /// it has the days of the data of its own accounts, and benchmarks as such a reader may see them. The report must
    /// name accounts, and the dataset must have each.
    #[must_use]
    pub fn for_reader(self, reach: BTreeSet<String>, privacy: Privacy) -> Self {
        Self { reader: Some(Reader { reach, privacy }), ..self }
    }

    /// Returns the keys of the accounts, each once; none for all of the dataset.
    #[must_use]
    pub fn accounts(&self) -> &[String] {
        &self.accounts
    }

    /// Returns the days of the report. Its data begin on the first day of its own accounts, because days on which only
    /// other accounts had data say nothing about these.
    fn period(&self, dataset: &Dataset, execution: &Execution) -> Result<ReportDays, ReportError> {
        let all = dataset.date_range();
        let own = if self.accounts.is_empty() { all } else { dataset.days_of(&self.accounts, execution)? };
        let data = match (&self.reader, own) {
            // This reader must not learn which days other accounts have.
            (Some(_), own) => own,
            // Until which day the data are complete is what all accounts say; these may have had quiet days.
            (None, Some(own)) if own.start <= self.month.end => {
                all.map(|all| DateRange { start: own.start, end: all.end })
            }
            // The accounts begin after the month, which a report says; the days of the dataset are not at fault.
            (None, _) => all,
        };
        ReportDays::new(data, self.month, self.through)
    }

    /// Checks the report before it is made. Returns the last day of the data, if it is before that of the report.
    ///
    /// # Errors
    /// The dataset has no data in the month, or `through` is outside of it.
    pub fn last_day_of_data(&self, dataset: &Dataset) -> Result<Option<Day>, ReportError> {
        let period = self.period(dataset, &Execution::default())?;
        Ok(period.is_incomplete().then_some(period.data.end))
    }

    fn names(&self, dataset: &Dataset) -> Result<AccountNames, ReportError> {
        let name = |key: &str| {
            let name = dataset.accounts().name(key);
            if name == key { printable(key) } else { printable(&format!("{name} ({key})")) }
        };
        Ok(match self.accounts.as_slice() {
            [] => {
                let keys = dataset.account_keys().map_err(trueup::Error::from)?;
                let all = if keys.len() == 1 {
                    "the only account".to_owned()
                } else {
                    format!("all {} accounts", keys.len())
                };
                AccountNames { title: all.clone(), list: all }
            }
            [key] => AccountNames { title: printable(dataset.accounts().name(key)), list: name(key) },
            keys => AccountNames {
                title: format!("{} accounts", keys.len()),
                list: keys.iter().map(|key| name(key)).collect::<Vec<_>>().join(", "),
            },
        })
    }
}

/// Says which event the channels and campaigns of a report are taken from.
const fn credited(attribution: Attribution) -> &'static str {
    match attribution {
        Attribution::Recorded => "so that each event counts for the channel and campaign that it names",
        Attribution::First => {
            "so that each event counts for the channel and campaign of its customer's first conversion"
        }
        Attribution::Last => {
            "so that each event counts for the channel and campaign of its customer's last conversion at or before it"
        }
    }
}

fn version(dataset: &Dataset) -> u64 {
    dataset.manifest().map_or(0, |manifest| manifest.version)
}

/// Says which days the data lack, so that a comparison could mislead.
fn warnings(period: &ReportDays) -> Vec<Block> {
    let mut texts = Vec::new();
    let comparisons = [&period.month_before, &period.year_before];
    let is_compared = comparisons.iter().any(|earlier| earlier.compare.is_some());
    if period.is_incomplete() {
        let are_complete = is_compared && comparisons.iter().all(|earlier| !earlier.is_partial);
        let others = if are_complete { ", but the days that it is compared with are" } else { "" };
        texts.push(format!(
            "The data end on {}. If events or spend of later days are still to come, {} is not complete{others}.",
            period.data.end, period.name
        ));
    } else if !period.is_whole_month() {
        let others = if is_compared { ", and compares it with the same days of other months" } else { "" };
        texts.push(format!("The report is about {}{others}.", period.name));
    }
    for earlier in comparisons {
        if earlier.is_partial {
            texts.push(format!("The data begin on {}, so that {} is not complete.", period.data.start, earlier.name));
        }
    }
    if period.range.start < period.data.start {
        texts.push(format!("The data begin on {}, so that {} is not complete.", period.data.start, period.name));
    }
    texts.into_iter().map(|text| Block::Warning(Text::of(text))).collect()
}
