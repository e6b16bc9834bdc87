//! A report about one month: funnel, channels, campaigns, trend, cohorts and benchmarks, with sentences that say what
//! changed and why.
//!
//! | file | step |
//! |---|---|
//! | `period` | the days of the report, and the earlier days to compare them with |
//! | `question` | a question: a query, and the command that asks the same |
//! | `figure` | a number of an answer, as people read it and in full, with the place that it comes from |
//! | `sections`, `benchmarks` | ask the questions, and make sections of the answers |
//! | `sentences` | says in words what a comparison shows |
//! | `document` | the report as plain data |
//! | `html`, `chart`, `markdown` | write it; `escaped` is what the first two share |

mod benchmarks;
mod chart;
mod document;
mod escaped;
mod figure;
mod html;
mod markdown;
mod period;
mod question;
mod sections;
mod sentences;
#[cfg(test)]
mod tests;

pub(crate) use period::months_before;

use crate::exit::Failure;
use crate::progress::Step;
use crate::terminal::printable;
use document::{Block, Document, Text};
use period::ReportDays;
use question::Questions;
use sections::Subject;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;
use trueup::query::DateRange;
use trueup::{Dataset, Day, Execution, formats, without_credentials};

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportFormat {
    /// One HTML file with everything in it.
    Html,
    /// Markdown.
    Md,
}

impl ReportFormat {
    /// Returns the format for the ending of a file name; `None` if it has no ending.
    ///
    /// # Errors
    /// If the ending is unknown.
    pub(crate) fn of_file(path: &Path) -> Result<Option<Self>, Failure> {
        match formats::Format::from_name(path) {
            Some(formats::Format::Html) => Ok(Some(Self::Html)),
            Some(formats::Format::Markdown) => Ok(Some(Self::Md)),
            None if path.extension().is_none() => Ok(None),
            _ => Err(Failure::usage(format!(
                "expected a file that ends in .html or .md, but found `{}`; or choose the format with `--format` or, in a jobs file, with the key `format`",
                without_credentials(path).display()
            ))),
        }
    }

    /// Returns the usual ending of a file name in this format.
    pub(crate) const fn ending(self) -> &'static str {
        match self {
            Self::Html => formats::Format::Html.ending(),
            Self::Md => formats::Format::Markdown.ending(),
        }
    }
}

/// What a report is about.
#[derive(Clone, Debug)]
pub(crate) struct ReportSpec {
    /// The keys of the accounts, each once; none for all of the dataset.
    accounts: Vec<String>,
    /// The calendar month.
    month: DateRange,
    /// The last day, if it is not that of the month.
    through: Option<Day>,
}

/// A report, ready to be written.
#[derive(Debug)]
pub(crate) struct Report(Document);

impl Report {
    /// Asks the questions of a report. Its accounts must be accounts of the dataset.
    ///
    /// # Errors
    /// The dataset has no data in the month, `through` is outside of it, or a question has no answer.
    pub(crate) fn ask(dataset: &Dataset, spec: &ReportSpec, execution: &Execution) -> Result<Self, Failure> {
        let period = spec.period(dataset)?;
        let subject = Subject { accounts: &spec.accounts, period: &period };
        let step = Step::counted("asking the questions", SECTIONS);
        let mut questions = Questions::new(dataset, execution.clone());
        let key_figures = sections::key_figures(&subject, &mut questions)?;
        step.add(1);
        let [changes, channels, campaigns] = sections::changes(&subject, &mut questions)?;
        step.add(3);
        let funnel = sections::funnel(&subject, &mut questions)?;
        step.add(1);
        let trend = sections::trend(&subject, &mut questions)?;
        step.add(1);
        let cohorts = sections::cohorts(&subject, &mut questions)?;
        step.add(1);
        let benchmarks = benchmarks::benchmarks(&subject, dataset, execution, &mut questions)?;
        drop(step);
        let mut all = vec![key_figures, changes, funnel, channels, campaigns, trend, cohorts, benchmarks];
        if let Some(first) = all.first_mut() {
            first.blocks.splice(0..0, warnings(&period));
        }
        let names = spec.names(dataset)?;
        Ok(Self(Document {
            title: format!("{}: {}", period.name, names.title),
            facts: vec![
                ("Days", period.range.to_string()),
                ("Accounts", names.list),
                ("Data", format!("{}, version {}", period.data, version(dataset))),
            ],
            sections: all,
            commands: questions.commands,
        }))
    }

    /// Writes the report.
    pub(crate) fn write(&self, format: ReportFormat, out: &mut impl Write) -> io::Result<()> {
        match format {
            ReportFormat::Html => html::write(&self.0, out),
            ReportFormat::Md => markdown::write(&self.0, out),
        }
    }
}

/// The number of sections.
const SECTIONS: u64 = 8;

/// The accounts of a report, for people.
struct AccountNames {
    title: String,
    list: String,
}

impl ReportSpec {
    /// Creates the report about a month. An account that is named twice counts once.
    pub(crate) fn new(accounts: &[String], month: DateRange, through: Option<Day>) -> Self {
        let mut seen = HashSet::new();
        let accounts = accounts.iter().filter(|key| seen.insert(*key)).cloned().collect();
        Self { accounts, month, through }
    }

    /// Returns the keys of the accounts, each once; none for all of the dataset.
    pub(crate) fn accounts(&self) -> &[String] {
        &self.accounts
    }

    /// Returns the days of the report.
    fn period(&self, dataset: &Dataset) -> Result<ReportDays, Failure> {
        ReportDays::new(dataset, self.month, self.through)
    }

    /// Checks the report before it is made. Returns the last day of the data, if it is before that of the report.
    ///
    /// # Errors
    /// The dataset has no data in the month, or `through` is outside of it.
    pub(crate) fn last_day_of_data(&self, dataset: &Dataset) -> Result<Option<Day>, Failure> {
        let period = self.period(dataset)?;
        Ok(period.is_incomplete().then_some(period.data.end))
    }

    fn names(&self, dataset: &Dataset) -> Result<AccountNames, Failure> {
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
