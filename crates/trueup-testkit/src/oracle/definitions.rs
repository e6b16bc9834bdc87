//! Section 15: metrics and dimensions that users define.

use chrono::{Datelike, NaiveDate};
use regex::{Regex, RegexBuilder};

use super::duration;
use super::metric::{MetricGroup, MetricValue, needs_spend, spend_carries, spend_dimension};
use super::request::{METRICS, OPEN_LEADS};
use super::segment::EnrichedEvent;
use super::tables::{SpendRow, Tables, local_date, local_time};
use super::values::{ExactAmount, decimal_number};

/// The definitions of a dataset version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definitions {
    /// `[[metric]]`
    pub metrics: Vec<OwnMetric>,
    /// `[[dimension]]`
    pub dimensions: Vec<OwnDimension>,
}

/// A metric: "lists of built-in metrics that are counts or sums (not ratios), of one unit per list, each optionally
/// with a leading `-`".
#[derive(Clone, Debug, PartialEq)]
pub struct OwnMetric {
    /// The name in queries.
    pub name: String,
    /// What is added.
    pub numerator: Vec<String>,
    /// What it is divided by, "for a ratio".
    pub denominator: Option<Vec<String>>,
}

/// A dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnDimension {
    /// The name in queries.
    pub name: String,
    /// "a stored or computed dimension".
    pub from: String,
    /// Cases, or a part of a date.
    pub rule: OwnRule,
}

/// What a dimension makes of its source.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnRule {
    /// "`cases` ... of which the first that holds gives the value", and `otherwise`.
    Cases(Vec<(CaseTest, String)>, Otherwise),
    /// `year`, `quarter`, `weekday` or `hour`.
    Part(String),
}

/// When a case holds.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseTest {
    /// `equals = [..]`
    Equals(Vec<String>),
    /// `regex = "..", flags = ".."`
    Matches(String, String),
    /// `from = n, below = n`: "n <= v < n, either may be left out".
    Range(Option<f64>, Option<f64>),
}

/// What a text that fits no case becomes.
#[derive(Clone, Debug, PartialEq)]
pub enum Otherwise {
    /// Without `otherwise`.
    Empty,
    /// A text.
    Text(String),
    /// `{ keep = true }`
    Keep,
}

impl Definitions {
    pub(super) const NONE: &'static Self = &Self { metrics: Vec::new(), dimensions: Vec::new() };

    fn metric(&self, name: &str) -> Option<&OwnMetric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    fn dimension(&self, name: &str) -> Option<&OwnDimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }

    /// Returns whether a field is a metric, built in or defined.
    pub(super) fn is_metric(&self, name: &str) -> bool {
        METRICS.contains(&name)
            || name == OPEN_LEADS
            || duration::pair_of(name).is_some()
            || self.metric(name).is_some()
    }

    /// Returns the metrics that a metric is made of: itself, if it is built in.
    pub(super) fn parts<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        let Some(metric) = self.metric(name) else { return vec![name] };
        let parts = metric.numerator.iter().chain(metric.denominator.iter().flatten());
        parts.map(|part| part.trim_start_matches('-')).collect()
    }

    /// Returns whether a metric is computed from the spend table.
    pub(super) fn needs_spend(&self, name: &str) -> bool {
        self.parts(name).into_iter().any(needs_spend)
    }

    /// Returns whether a metric is `openLeads`, or made of it.
    pub(super) fn needs_cohort(&self, name: &str) -> bool {
        self.parts(name).contains(&OPEN_LEADS)
    }

    /// Returns whether what a metric is made of adds up over dimensions: "over none, everything adds up"; otherwise
    /// spend adds up over the dimensions that it carries, distinct customers and agents add up over none, and all else
    /// adds up over any (section 6). "A sum adds up where all of its parts do" (section 15).
    pub(super) fn adds_up(&self, name: &str, dimensions: &[&str]) -> bool {
        self.parts(name).into_iter().all(|part| match part {
            "opportunityCount" | "opportunityAgents" => dimensions.is_empty(),
            part => !needs_spend(part) || dimensions.iter().all(|dimension| self.spend_carries(dimension)),
        })
    }

    /// Returns the value of any metric in a group.
    pub(super) fn value_of(&self, name: &str, group: &MetricGroup<'_>) -> MetricValue {
        let Some(metric) = self.metric(name) else { return group.value_of(name) };
        let numerator = sum(&metric.numerator, group);
        match &metric.denominator {
            None => MetricValue::Plain(numerator),
            Some(denominator) => MetricValue::Ratio(numerator, sum(denominator, group)),
        }
    }

    /// Returns the value of any dimension on an event.
    pub(super) fn dimension_of(&self, name: &str, row: &EnrichedEvent<'_>) -> String {
        let Some(OwnDimension { from, rule, .. }) = self.dimension(name) else { return row.dimension(name) };
        match rule {
            // "of a date or of `dateTime` ..., in the account's time zone; no date gives the empty text."
            OwnRule::Part(part) if from == "dateTime" => {
                let zone = &row.segment.customer.account.time_zone;
                let text = |micros: i64| match part.as_str() {
                    "hour" => Some(format!("{:02}", local_time(micros, zone)?.hour())),
                    part => Some(part_of(part, local_date(micros, zone)?)),
                };
                row.event().date_time.and_then(text).unwrap_or_default()
            }
            rule => rule.text(&row.dimension(from)),
        }
    }

    /// Returns whether spend carries a dimension: "A dimension derived from one that spend carries is carried by
    /// spend."
    pub(super) fn spend_carries(&self, name: &str) -> bool {
        spend_carries(self.dimension(name).map_or(name, |dimension| &dimension.from))
    }

    /// Returns the value of a dimension on a spend row; `None` if spend does not carry it.
    pub(super) fn spend_dimension(&self, tables: &Tables, row: &SpendRow, name: &str) -> Option<String> {
        match self.dimension(name) {
            None => spend_dimension(tables, row, name),
            Some(OwnDimension { from, rule, .. }) => Some(rule.text(&spend_dimension(tables, row, from)?)),
        }
    }

    /// Returns the definitions as a file.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut text = String::new();
        for OwnMetric { name, numerator, denominator } in &self.metrics {
            text.push_str(&format!("[[metric]]\nname = {name:?}\nnumerator = {numerator:?}\n"));
            if let Some(denominator) = denominator {
                text.push_str(&format!("denominator = {denominator:?}\n"));
            }
        }
        for OwnDimension { name, from, rule } in &self.dimensions {
            text.push_str(&format!("[[dimension]]\nname = {name:?}\nfrom = {}\n", quoted(from)));
            match rule {
                OwnRule::Part(part) => text.push_str(&format!("part = {part:?}\n")),
                OwnRule::Cases(cases, otherwise) => {
                    text.push_str(&match otherwise {
                        Otherwise::Empty => String::new(),
                        Otherwise::Text(value) => format!("otherwise = {}\n", quoted(value)),
                        Otherwise::Keep => "otherwise = { keep = true }\n".to_owned(),
                    });
                    let cases: Vec<String> = cases.iter().map(|(test, value)| test.toml(value)).collect();
                    text.push_str(&format!("cases = [{}]\n", cases.join(", ")));
                }
            }
        }
        text
    }
}

/// Returns the sum of a list.
fn sum(parts: &[String], group: &MetricGroup<'_>) -> ExactAmount {
    let (mut sum, mut is_money) = (0, false);
    for part in parts {
        let value = group.value_of(part.trim_start_matches('-'));
        let (amount, of_money) = match value {
            MetricValue::Plain(ExactAmount::Money(micros)) => (micros, true),
            MetricValue::Plain(ExactAmount::Count(count)) => (count, false),
            // Only counts and sums are parts.
            _ => (0, false),
        };
        sum += if part.starts_with('-') { -amount } else { amount };
        is_money |= of_money;
    }
    if is_money { ExactAmount::Money(sum) } else { ExactAmount::Count(sum) }
}

impl OwnRule {
    /// Returns the text for a text of the source.
    fn text(&self, source: &str) -> String {
        match self {
            Self::Part(part) => {
                let date = NaiveDate::parse_from_str(source, "%Y-%m-%d");
                date.map_or_else(|_| String::new(), |date| part_of(part, date))
            }
            Self::Cases(cases, otherwise) => match cases.iter().find(|(test, _)| test.holds(source)) {
                Some((_, value)) => value.clone(),
                None => match otherwise {
                    Otherwise::Empty => String::new(),
                    Otherwise::Text(text) => text.clone(),
                    Otherwise::Keep => source.to_owned(),
                },
            },
        }
    }
}

impl CaseTest {
    fn holds(&self, source: &str) -> bool {
        match self {
            Self::Equals(texts) => texts.iter().any(|text| text == source),
            Self::Matches(pattern, flags) => compiled(pattern, flags).is_some_and(|regex| regex.is_match(source)),
            // "a text that is no decimal number never holds"
            Self::Range(from, below) => decimal_number(source).is_some_and(|number| {
                from.is_none_or(|from| from <= number) && below.is_none_or(|below| number < below)
            }),
        }
    }

    fn toml(&self, value: &str) -> String {
        let test = match self {
            Self::Equals(texts) => {
                format!("equals = [{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
            }
            Self::Matches(pattern, flags) => format!("regex = {}, flags = {}", quoted(pattern), quoted(flags)),
            Self::Range(from, below) => {
                let from = from.map(|from| format!("from = {from:?}"));
                let below = below.map(|below| format!("below = {below:?}"));
                from.into_iter().chain(below).collect::<Vec<_>>().join(", ")
            }
        };
        format!("{{ {test}, value = {} }}", quoted(value))
    }
}

fn compiled(pattern: &str, flags: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).case_insensitive(flags.contains('i')).build().ok()
}

/// Returns a part of a date: `year`, `quarter` (`2026-Q2`) or `weekday` (`1` Monday to `7` Sunday).
fn part_of(part: &str, date: NaiveDate) -> String {
    match part {
        "year" => format!("{:04}", date.year()),
        "quarter" => format!("{:04}-Q{}", date.year(), date.month0() / 3 + 1),
        "weekday" => (date.weekday().num_days_from_monday() + 1).to_string(),
        _ => String::new(),
    }
}

/// Returns a string of TOML.
fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => written.extend(['\\', character]),
            control if control < ' ' || control == '\u{7f}' => {
                written.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => written.push(other),
        }
    }
    written.push('"');
    written
}
