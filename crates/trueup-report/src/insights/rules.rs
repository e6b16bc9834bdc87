//! The rules. Where there is no comparison, no rule compares; what is withheld, no rule speaks of.

use super::asked::{self, Asked, WhyArguments};
use crate::benchmarks::place;
use crate::document::Text;
use crate::figure::{AnswerRow, Figure, Verdict, display_name, is_percent, sign};
use crate::period::ReportDays;
use crate::sections::METRICS;
use crate::sentences::{self, CHANNELS};
use serde::Serialize;
use serde_json::Number;
use trueup::benchmarks::{BenchmarkMetric, BenchmarkRow};
use trueup::dictionary::{self, Unit};
use trueup::query::ComparedColumn::{Change, Current, Previous, Ratio};

/// The window of the cohort, in days.
pub(super) const WINDOW_DAYS: u32 = 30;

/// The least change of a metric of the account, as a part of what it was.
const NOTABLE: f64 = 0.10;
/// The least change of a channel or a campaign; one of the account is large from here on.
const LARGE: f64 = 0.25;
/// The fewest leads whose change means anything.
const FEW_LEADS: f64 = 10.0;
/// The least spend without a lead, as a part of all spend.
const IDLE: f64 = 0.01;
/// The part of the account from which on an item is urgent.
const MAJOR: f64 = 0.10;
/// The most items of a rule about channels or campaigns.
const MOST: usize = 3;

/// The answers about an account.
#[derive(Debug)]
pub(super) struct Findings<'a> {
    pub(super) account: &'a str,
    pub(super) period: &'a ReportDays,
    /// The name of the days before; `None` if the account has no data of all of them.
    pub(super) compared_with: Option<String>,
    /// By channel, by campaign, of the cohort of the month, and of the metrics of benchmarks.
    pub(super) asked: [Asked; 4],
    /// The benchmarks, and their metrics.
    pub(super) others: Vec<BenchmarkRow>,
    pub(super) metrics: &'a [BenchmarkMetric],
    pub(super) industry: Option<String>,
    pub(super) currency: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Priority {
    High,
    Medium,
    Low,
}

/// Something to do.
#[derive(Debug, Serialize)]
pub(super) struct ActionItem {
    title: String,
    summary: String,
    action: &'static str,
    category: &'static str,
    priority: Priority,
    impact: Impact,
    why: Vec<WhyArguments>,
}

/// Something to know.
#[derive(Debug, Serialize)]
pub(super) struct DeepInsight {
    title: String,
    summary: String,
    takeaway: &'static str,
    priority: Priority,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<WhyArguments>,
}

#[derive(Debug, Serialize)]
struct Impact {
    value: Number,
    unit: String,
    display: String,
}

/// What an action is about.
struct Kind {
    action: &'static str,
    category: &'static str,
    priority: Priority,
}

impl Findings<'_> {
    /// Applies the rules, and returns what they find, the most urgent first.
    pub(super) fn items(&self) -> (Vec<ActionItem>, Vec<DeepInsight>) {
        let mut actions = self.idle_spend();
        let mut insights: Vec<DeepInsight> = self.missing_days().into_iter().chain(self.open_leads()).collect();
        if let Some(earlier) = &self.compared_with {
            actions.extend(self.costly_campaigns(earlier));
            actions.extend(self.shrinking_channels(earlier));
            insights.extend(self.changes(earlier));
        }
        actions.extend(self.worse_than_benchmarks());
        actions.sort_by_key(|item| item.priority);
        insights.sort_by_key(|item| item.priority);
        (actions, insights)
    }

    /// Returns how far the figures may be trusted: `low` if days of the account are missing, `medium` if leads are open
    /// or there is nothing to compare with.
    pub(super) fn confidence(&self) -> &'static str {
        if self.period.is_incomplete() || self.period.range.start < self.period.data.start {
            "low"
        } else if self.has_open_leads() || self.compared_with.is_none() {
            "medium"
        } else {
            "high"
        }
    }

    const fn channels(&self) -> &Asked {
        &self.asked[0]
    }

    const fn campaigns(&self) -> &Asked {
        &self.asked[1]
    }

    const fn cohort(&self) -> &Asked {
        &self.asked[2]
    }

    const fn own(&self) -> &Asked {
        &self.asked[3]
    }

    fn has_open_leads(&self) -> bool {
        sign(self.cohort().answer.value(AnswerRow::Group(0), "openLeads")) != 0
    }

    fn action(&self, title: &Text, summary: &Text, kind: Kind, impact: Option<Impact>) -> Option<ActionItem> {
        let why = asked::arguments(&[title, summary], &self.asked, self.account, self.period.range);
        let Kind { action, category, priority } = kind;
        let (title, summary) = (title.to_string(), summary.to_string());
        Some(ActionItem { title, summary, action, category, priority, impact: impact?, why })
    }

    fn insight(&self, title: &Text, summary: &Text, takeaway: &'static str, priority: Priority) -> DeepInsight {
        let why = asked::arguments(&[title, summary], &self.asked, self.account, self.period.range);
        DeepInsight { title: title.to_string(), summary: summary.to_string(), takeaway, priority, why }
    }

    /// Returns the impact that an amount is, `per` what it is paid for.
    fn money(&self, figure: &Figure, per: &str) -> Option<Impact> {
        let unit = format!("{}{per}", self.currency.as_deref().unwrap_or("currency"));
        let code = self.currency.as_ref().map_or_else(String::new, |code| format!(" {code}"));
        Impact::new(figure, unit, format!("{}{code}{per}", figure.shown))
    }

    /// The account has no data of the last days.
    fn missing_days(&self) -> Option<DeepInsight> {
        let (name, end) = (&self.period.name, self.period.data.end);
        let title = Text::of(format!("The data of this account end on {end}"));
        let summary = Text::of(format!("{name} has neither events nor spend of this account after {end}."));
        let takeaway = "Check that its sources still deliver; if they do not, draft this again once they do.";
        self.period.is_incomplete().then(|| self.insight(&title, &summary, takeaway, Priority::High))
    }

    /// Leads of the month whose window is not over.
    fn open_leads(&self) -> Option<DeepInsight> {
        let name = &self.period.name;
        let figure = |metric| self.cohort().answer.figure(AnswerRow::Group(0), metric);
        let title = Text::of(format!("Leads of {name} that are open: ")).figure(figure("openLeads"));
        let summary = Text::of(format!("Leads of {name}: ")).figure(figure("leads")).text(", of which open: ");
        let summary = summary.figure(figure("openLeads")).text(format!(
            ", because fewer than {WINDOW_DAYS} days have passed since their first event. Booked within {WINDOW_DAYS} days, so far: "
        ));
        let summary = summary.figure(figure("reachedLeadToBooked")).text(".");
        let takeaway = "Do not compare what these leads became with other months before their days are over.";
        self.has_open_leads().then(|| self.insight(&title, &summary, takeaway, Priority::Low))
    }

    /// Metrics of the account that changed.
    fn changes(&self, earlier: &str) -> Vec<DeepInsight> {
        let (asked, row) = (self.channels(), AnswerRow::Totals);
        if !has_leads(asked, row) {
            return Vec::new();
        }
        let change = |metric: &&'static str| {
            let part = asked.value(row, metric, Ratio).as_f64().map(f64::abs).filter(|part| *part >= NOTABLE)?;
            let shown = if is_percent(metric) { Change } else { Ratio };
            let title = Text::of(format!("{}: ", display_name(metric))).figure(asked.signed(row, metric, shown));
            let title = title.text(format!(" against {earlier}"));
            let summary = self.changed(asked, row, metric, display_name(metric), earlier);
            let because = sentences::contributions(metric, &asked.answer, CHANNELS);
            let is_explained = because.is_some();
            let summary = because.into_iter().fold(summary, |summary, why| summary.text(" ").then(why));
            let verdict = Verdict::of(metric, asked.value(row, metric, Change));
            let takeaway = match (verdict, is_explained) {
                (Verdict::Worse, true) => {
                    "Find out what changed in the channels that come first; they contribute most."
                }
                (Verdict::Better, true) => "See what went well in the channels that come first; they contribute most.",
                (Verdict::Worse, false) => "Find out what changed.",
                (Verdict::Better, false) => "See what went well.",
                (Verdict::Neither, _) => "Check that this was intended.",
            };
            let priority = match (verdict, part >= LARGE) {
                (Verdict::Worse, true) => Priority::High,
                (Verdict::Worse, false) | (_, true) => Priority::Medium,
                _ => Priority::Low,
            };
            Some(self.insight(&title, &summary, takeaway, priority))
        };
        METRICS.iter().filter_map(change).collect()
    }

    /// Campaigns that spent, and brought no lead.
    fn idle_spend(&self) -> Vec<ActionItem> {
        let asked = self.campaigns();
        let part = |row| asked.part_of_all(row, "spend", Current);
        let is_idle = |row: &AnswerRow| {
            sign(asked.value(*row, "leads", Current)) == 0
                && sign(asked.value(*row, "spend", Current)) > 0
                && part(*row) >= IDLE
        };
        let item = |row: AnswerRow| {
            let name = asked.name(row)?;
            let spend = asked.answer.figure(row, "spend");
            let title = Text::of(format!("{name}: spend without a lead"));
            let summary = Text::of(format!("{name} in {}: spend ", self.period.name)).figure(spend.clone());
            let summary = summary.text(", leads ").figure(asked.answer.figure(row, "leads")).text(".");
            let action = "Check that its leads are tracked; if they are, pause it or move its budget.";
            let kind = Kind { action, category: "Spend", priority: Priority::of(part(row)) };
            self.action(&title, &summary, kind, self.money(&spend, ""))
        };
        largest(asked, is_idle, part).into_iter().filter_map(item).collect()
    }

    /// Campaigns whose leads cost more than before.
    fn costly_campaigns(&self, earlier: &str) -> Vec<ActionItem> {
        let (asked, metric) = (self.campaigns(), "avgCostPerLead");
        let part = |row| asked.part_of_all(row, "spend", Current);
        let is_costly = |row: &AnswerRow| has_leads(asked, *row) && asked.number(*row, metric, Ratio) >= LARGE;
        let item = |row: AnswerRow| {
            let name = asked.name(row)?;
            let title = Text::of(format!("{name}: cost per lead ")).figure(asked.signed(row, metric, Ratio));
            let title = title.text(format!(" against {earlier}"));
            let summary = self.changed(asked, row, metric, &format!("Cost per lead of {name}"), earlier);
            let action =
                "Compare its spend and its leads with those before; lower its budget if the cost does not fall.";
            let kind = Kind { action, category: "Spend", priority: Priority::of(part(row)) };
            self.action(&title, &summary, kind, self.money(&asked.signed(row, metric, Change), " per lead"))
        };
        largest(asked, is_costly, part).into_iter().filter_map(item).collect()
    }

    /// Channels that brought fewer leads than before.
    fn shrinking_channels(&self, earlier: &str) -> Vec<ActionItem> {
        let (asked, metric) = (self.channels(), "leads");
        let is_shrinking = |row: &AnswerRow| {
            asked.number(*row, metric, Previous) >= FEW_LEADS && asked.number(*row, metric, Ratio) <= -LARGE
        };
        let lost = |row| asked.number(row, metric, Change).abs();
        let item = |row: AnswerRow| {
            let name = asked.name(row)?;
            let change = asked.signed(row, metric, Change);
            let title = Text::of(format!("{name}: leads ")).figure(change.clone());
            let title = title.text(format!(" against {earlier}"));
            let summary = self.changed(asked, row, metric, &format!("Leads of {name}"), earlier);
            let action = "Check what changed in this channel: budget, tracking, listings, and how calls are answered.";
            let part = lost(row) / asked.number(AnswerRow::Totals, metric, Previous);
            let kind = Kind { action, category: "Leads", priority: Priority::of(part) };
            let display = format!("{} {metric}", change.shown);
            self.action(&title, &summary, kind, Impact::new(&change, metric.to_owned(), display))
        };
        largest(asked, is_shrinking, lost).into_iter().filter_map(item).collect()
    }

    /// Metrics that are worse than those of three accounts in four.
    fn worse_than_benchmarks(&self) -> Vec<ActionItem> {
        let item = |(at, metric): (usize, &BenchmarkMetric)| {
            let name = metric.name();
            let mine = self.own().answer.figure(AnswerRow::Group(0), name);
            let (standing, summary) =
                place(*metric, &mine, &self.others, at).filter(|(it, _)| it.verdict == Verdict::Worse)?;
            let priority = match standing.band {
                "below the 10th percentile" | "above the 90th percentile" => Priority::High,
                band if band.contains("median") => return None,
                _ => Priority::Medium,
            };
            let title = Text::of(format!("{}: {}", display_name(name), standing.band));
            let among = match &self.industry {
                Some(industry) => format!("accounts in {industry}"),
                None => "accounts of all industries".to_owned(),
            };
            let summary = summary.text(format!(" The percentiles are those of {among}, this one included."));
            let impact = match dictionary::metric(name).map(|(_, metric)| metric.unit) {
                Some(Unit::CurrencyPerCount) => self.money(&mine, ""),
                _ => {
                    let unit = if is_percent(name) { "share" } else { "ratio" };
                    Impact::new(&mine, unit.to_owned(), mine.shown.clone())
                }
            };
            let action = "Ask for the metric by channel and by campaign, and begin where it is worst.";
            self.action(&title, &summary, Kind { action, category: "Benchmarks", priority }, impact)
        };
        self.metrics.iter().enumerate().filter_map(item).collect()
    }

    /// Says what a metric is, and how it changed.
    fn changed(&self, asked: &Asked, row: AnswerRow, metric: &str, name: &str, earlier: &str) -> Text {
        let text = Text::of(format!("{name}: ")).figure(asked.answer.figure(row, metric)).text(". ");
        text.then(sentences::change(metric, &asked.answer, row, earlier, &self.period.name))
    }
}

impl Impact {
    /// Returns the impact that a number is; `None` if there is no number.
    fn new(figure: &Figure, unit: String, display: String) -> Option<Self> {
        Some(Self { value: figure.exact.parse().ok()?, unit, display })
    }
}

impl Priority {
    /// Returns the priority of what is this part of the account.
    fn of(part: f64) -> Self {
        if part >= MAJOR { Self::High } else { Self::Medium }
    }
}

/// Returns whether a row has leads enough in both ranges for its change to mean anything.
fn has_leads(asked: &Asked, row: AnswerRow) -> bool {
    [Current, Previous].into_iter().all(|part| asked.number(row, "leads", part) >= FEW_LEADS)
}

/// Returns the groups that a rule is about, the largest first.
fn largest(asked: &Asked, is_found: impl Fn(&AnswerRow) -> bool, size: impl Fn(AnswerRow) -> f64) -> Vec<AnswerRow> {
    let mut rows: Vec<AnswerRow> =
        asked.answer.groups().filter(|row| asked.name(*row).is_some() && is_found(row)).collect();
    // Stable, so that equal groups stay in the order of the answer.
    rows.sort_by(|a, b| size(*b).total_cmp(&size(*a)));
    rows.truncate(MOST);
    rows
}
