//! Insights about one month, drafted by rules: a document for each account, in the shape in which the service publishes
//! them. Each number of a text is one that a question answers, and each item has the arguments with which the tool
//! `why` of agents explains its numbers. The figures of other accounts have none.

mod asked;
mod rules;

use crate::period::ReportDays;
use crate::question::{Question, Questions};
use crate::sections::Subject;
use crate::sentences::{CAMPAIGNS, CHANNELS};
use crate::text::printable;
use crate::{ReportError, ReportSpec};
use asked::Asked;
use rules::{Findings, WINDOW_DAYS};
use serde::Serialize;
use std::collections::BTreeSet;
use trueup::benchmarks::{BenchmarkData, BenchmarkQuery, BenchmarkSelection, Privacy};
use trueup::query::{Attribution, DateRange};
use trueup::{Dataset, Day, Execution};

/// What the section `drafted_by` of a document says.
const DRAFTED_BY: &str = "rules";

/// When documents are published, and when they were drafted.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The day of publication.
    pub date: Day,
    /// The time of the draft, in RFC 3339.
    pub generated_at: String,
}

/// The drafts of the insights about one month.
#[derive(Debug)]
pub struct InsightDrafts<'a> {
    dataset: &'a Dataset,
    accounts: Vec<String>,
    month: DateRange,
    through: Option<Day>,
    publication: Publication,
    /// The selection of all metrics, and their amounts in the days of the drafts.
    benchmarks: (BenchmarkSelection, BenchmarkData),
    execution: Execution,
}

/// A line of an insights file.
#[derive(Serialize)]
struct Line<'a> {
    account: &'a str,
    date: Day,
    insight: Document<'a>,
}

#[derive(Serialize)]
struct Document<'a> {
    account: String,
    period: &'a str,
    generated_at: &'a str,
    confidence: &'static str,
    /// No rule reads graded calls.
    graded_calls: u32,
    drafted_by: &'static str,
    action_items: Vec<rules::ActionItem>,
    deep_insights: Vec<rules::DeepInsight>,
}

impl<'a> InsightDrafts<'a> {
    /// Prepares the drafts about the month and the accounts of a report; without accounts, about each of the dataset.
    ///
    /// # Errors
    /// The dataset has no data in the month, or they end before its last day and `spec` does not say so; the last day
    /// of `spec` is outside of the month, or a question has no answer.
    pub fn new(
        dataset: &'a Dataset,
        spec: &ReportSpec,
        publication: Publication,
        execution: Execution,
    ) -> Result<Self, ReportError> {
        let period = spec.period(dataset, &execution)?;
        if period.is_incomplete() {
            return Err(ReportError::NotOver { range: period.range, end: period.data.end });
        }
        let accounts = match spec.accounts() {
            [] => dataset.account_keys().map_err(trueup::Error::from)?.into_iter().collect(),
            keys => keys.to_vec(),
        };
        let amounts = BenchmarkData::gather(dataset, period.range, &execution)?;
        let benchmarks = (BenchmarkSelection::default(), amounts);
        let (month, through) = (spec.month, spec.through);
        Ok(Self { dataset, accounts, month, through, publication, benchmarks, execution })
    }

    /// Returns the accounts.
    #[must_use]
    pub fn accounts(&self) -> &[String] {
        &self.accounts
    }

    /// Drafts the document about an account, as a line of an insights file; `None` if the account has neither events
    /// nor spend in the days of the drafts.
    ///
    /// # Errors
    /// A question has no answer.
    pub fn line(&self, account: &str) -> Result<Option<String>, ReportError> {
        let own = [account.to_owned()];
        let days = self.dataset.days_of(&own, &self.execution)?;
        let period = match ReportDays::new(days, self.month, self.through) {
            Err(ReportError::Empty | ReportError::NoData { .. }) => return Ok(None),
            period => period?,
        };
        let findings =
            self.findings(account, &Subject { accounts: &own, period: &period, attribution: Attribution::Recorded })?;
        let (action_items, deep_insights) = findings.items();
        let line = Line {
            account,
            date: self.publication.date,
            insight: Document {
                account: printable(self.dataset.accounts().name(account)),
                period: &period.name,
                generated_at: &self.publication.generated_at,
                confidence: findings.confidence(),
                graded_calls: 0,
                drafted_by: DRAFTED_BY,
                action_items,
                deep_insights,
            },
        };
        // Texts, numbers and lists are always JSON.
        Ok(serde_json::to_string(&line).ok())
    }

    /// Asks the questions about an account.
    fn findings<'f>(&'f self, account: &'f str, subject: &Subject<'f>) -> Result<Findings<'f>, ReportError> {
        let mut questions = Questions::new(self.dataset, self.execution.clone(), Attribution::Recorded);
        let period = subject.period;
        let mut before = period.month_before.clone();
        // An account that begins within the earlier days has nothing to be compared with.
        before.compare = before.compare.filter(|_| !before.is_partial);
        let earlier = before.compare.and_then(|compare| compare.range(period.range).ok());
        let [channels, campaigns] = [CHANNELS, CAMPAIGNS].map(|group| {
            let answer = subject.by_group(&mut questions, group, &before)?;
            Ok::<_, ReportError>(Asked { answer, dimension: Some(group.dimension), earlier, within: None })
        });
        let (channels, campaigns) = (channels?, campaigns?);
        let mut ask = |question: Question, within| {
            let answer = questions.ask(&question)?;
            Ok::<_, ReportError>(Asked { answer, dimension: None, earlier: None, within })
        };
        let cohort = subject.question(["leads", "openLeads", "reachedLeadToBooked"]).within(WINDOW_DAYS);
        let cohort = ask(cohort, Some(WINDOW_DAYS))?;
        let (selection, amounts) = &self.benchmarks;
        let own = ask(subject.question(selection.metrics().iter().map(|metric| metric.name())), None)?;
        let scope = BTreeSet::from([account.to_owned()]);
        // As in a report, the reader is taken for one who may see this account alone.
        let query = BenchmarkQuery { selection, scope: &scope, reach: &scope, privacy: Privacy::default() };
        let described = self.dataset.accounts().get(account);
        Ok(Findings {
            account,
            period,
            compared_with: before.compare.map(|_| before.name),
            asked: [channels, campaigns, cohort, own],
            others: amounts.answer(&query),
            metrics: selection.metrics(),
            industry: described.and_then(|account| account.industry.as_deref()).map(printable),
            currency: described.and_then(|account| account.currency).map(|code| code.to_string()),
        })
    }
}
