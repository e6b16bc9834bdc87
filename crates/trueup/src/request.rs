//! A query as people and programs ask it: [`QueryRequest`], all of whose parts are optional, and what a dataset makes
//! of it, [`PreparedQuery`].
//!
//! [`PARAMETERS`] describes the parts. The options of the program, the keys of jobs files, the keyword arguments of
//! Python, and the parameters of the HTTP service that `API.md` does not have are made from it.

mod parameter;
mod prepared;

pub use parameter::{InvalidParameter, Parameter, ValueType};
pub use prepared::{ComparedWith, NotCompared, PreparedQuery, RequestError, Today};

use crate::Day;
use crate::definitions::Definitions;
use crate::filter::TypedCondition;
use crate::query::{
    AccountFilter, Attribution, CohortWindow, DateRange, EventsQuery, Filter, Interval, NamedRange, ParseRangeError,
    SortKey,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A query as it is asked. A part that is `None`, empty or `false` is not given.
///
/// As JSON it is an object with the names of [`PARAMETERS`].
///
/// ```
/// use trueup::request::{QueryRequest, Today};
/// # let dataset = trueup::Dataset::from_tables(&trueup::Tables::default())?;
///
/// let request = QueryRequest {
///     fields: vec!["campaign".to_owned(), "leads".to_owned()],
///     month: Some("2025-01".parse()?),
///     conditions: vec!["total >= 500".parse()?],
///     allow_unknown: true,
///     ..QueryRequest::default()
/// };
/// let query = request.prepare(&dataset, &Today::now())?;
/// assert_eq!(query.events().range().to_string(), "2025-01-01 to 2025-01-31");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct QueryRequest {
    /// Metrics, and dimensions to group by.
    pub fields: Vec<String>,
    /// The first day.
    pub start: Option<Day>,
    /// The last day, which is included.
    pub end: Option<Day>,
    /// A calendar month, in place of the first and the last day, like all of the following ranges.
    #[serde(deserialize_with = "month")]
    pub month: Option<NamedRange>,
    /// A calendar quarter.
    #[serde(deserialize_with = "quarter")]
    pub quarter: Option<NamedRange>,
    /// A calendar year.
    #[serde(deserialize_with = "year")]
    pub year: Option<NamedRange>,
    /// The last days, weeks, months or years up to today.
    #[serde(deserialize_with = "last")]
    pub last: Option<NamedRange>,
    /// A range of any name.
    pub range: Option<NamedRange>,
    /// How the range is split.
    pub interval: Interval,
    /// Whether leads are selected by the day of their first event; needs `within`.
    pub cohort: bool,
    /// The window of a cohort.
    pub within: Option<CohortWindow>,
    /// What the answer is compared with.
    pub compare: Option<ComparedWith>,
    /// The event that is credited.
    pub attribution: Attribution,
    /// The keys of the accounts to read; `None` reads all, and an empty list none.
    #[serde(rename = "account")]
    pub accounts: Option<Vec<String>>,
    /// Conditions as people type them.
    #[serde(rename = "where")]
    pub conditions: Vec<TypedCondition>,
    /// Conditions that were built by hand.
    #[serde(skip)]
    pub filters: Vec<Filter>,
    /// An expression across fields, as the JSON text of the parameter `filter` of the HTTP service.
    pub filter: Option<String>,
    /// The columns to sort by, the first of which decides first.
    pub sort: Vec<SortKey>,
    /// The most rows to return.
    pub limit: Option<usize>,
    /// Whether the answer has totals.
    pub totals: bool,
    /// Whether the answer has targets.
    pub targets: bool,
    /// Whether one sub-range, or the range of the totals, may be longer than the attribution window. That of a named
    /// range always may.
    pub allow_long_total: bool,
    /// Whether a name may be unknown to both the dictionary and the dataset.
    pub allow_unknown: bool,
    /// Whether a value in a condition that no event and no spend has is refused.
    pub strict: bool,
}

const PATTERN_OF_COMPARISONS: &str =
    "^(previous-period|previous-year|benchmarks|[0-9]{4}-[0-9]{2}-[0-9]{2}\\.\\.[0-9]{4}-[0-9]{2}-[0-9]{2})$";

pub(crate) const FIELDS: Parameter = Parameter::new(
    "fields",
    ValueType::Names,
    "Metrics and dimensions, separated by commas, at least one of them a metric. Rows are grouped by the dimensions. Any \
     name that is not a metric is a dimension.",
    "attributionChannel,leads,spend,avgCostPerLead",
)
.value_name("FIELDS");

pub(crate) const START: Parameter =
    Parameter::new("start", ValueType::Date, "The first day, as YYYY-MM-DD.", "2025-01-01").value_name("DATE");

pub(crate) const END: Parameter =
    Parameter::new("end", ValueType::Date, "The last day, as YYYY-MM-DD, which is included.", "2025-03-31")
        .value_name("DATE");

pub(crate) const INTERVAL: Parameter = Parameter::new(
    "interval",
    ValueType::Interval,
    "How the range is split into sub-ranges: `total` (not at all, the default), calendar `month`, `week` from Monday, or \
     `day`. Each sub-range is computed by itself.",
    "month",
)
.value_name("INTERVAL");

pub(crate) const FILTER: Parameter = Parameter::new(
    "filter",
    ValueType::Filter,
    "A filter across fields: an object of fields and expressions that must all hold, or `or`, `and`, `not` over such \
     objects, such as '[\"or\", {\"zip\": \"00123\"}, {\"total\": [\"gte\", 500]}]'.",
    r#"["or", {"attributionCategory": "Advertising"}, {"total": ["gte", 50000]}]"#,
)
.value_name("JSON");

/// The parameters of a query that the HTTP service has in addition to those of the service whose answers it mirrors.
pub(crate) static ADDITIONS: [Parameter; 4] = [
    Parameter::new(
        "cohort",
        ValueType::Flag,
        "Select leads by the day of their first event, and count what becomes of them: each as if its history ended with \
         the window that @within names. Spend is that of the days themselves. The metric `openLeads` counts the leads \
         whose window is not over; a table of the program shows it unasked. The range may be longer than 90 days.",
        "true",
    )
    .requires("within"),
    Parameter::new(
        "within",
        ValueType::Pattern("^([0-9]+d|all)$"),
        "The window of @cohort: the number of days after the first event of a lead that count, such as `90d`, or `all`.",
        "90d",
    )
    .value_name("WINDOW")
    .requires("cohort"),
    Parameter::new(
        "compare",
        ValueType::Pattern(PATTERN_OF_COMPARISONS),
        "Compare the range with an earlier one: `previous-period`, `previous-year`, or two days as START..END. After each \
         metric m come m.previous, m.change, m.ratio and, for a ratio, m.rateEffect and m.mixEffect, which say what the row \
         contributes to the change of the whole. Or compare the accounts of the query with others: `benchmarks`. After each \
         metric m that has benchmarks come m.benchmark, m.difference and m.ratio; the range is then one calendar month, the \
         current one up to today, or the one before up to the same day. Only without @interval.",
        "previous-period",
    )
    .value_name("RANGE|benchmarks"),
    Parameter::new(
        "attribution",
        ValueType::Pattern("^(recorded|first|last)$"),
        "The event from which the attribution dimensions of each event are taken: `recorded` (the default), the event \
         itself; `first`, the customer's first conversion; `last`, the customer's last conversion at or before the event, \
         or else the first one. They are attributionCategory, attributionChannel, campaign, and every column whose name \
         begins with attribution. Spend keeps its own.",
        "first",
    )
    .value_name("EVENT"),
];

/// Whether the answer has targets.
pub(crate) const TARGETS: Parameter = Parameter::new(
    "targets",
    ValueType::Flag,
    "Add the targets that were ingested: after each metric m that has one come m.target, with the share of its month that \
     the days have, and m.pace, which is m divided by m.target. A row whose group and filters do not select whole targets \
     has none. Not with @cohort or @compare.",
    "true",
);

const SORT: Parameter = Parameter::new(
    "sort",
    ValueType::Names,
    "Sort the rows by this field of the result, or by start or end; further fields decide ties. Rows without a value \
     come last. By default rows are sorted by start, then by each dimension.",
    "leads:desc",
)
.value_name("FIELD[:asc|:desc]");

const LIMIT: Parameter =
    Parameter::new("limit", ValueType::Rows, "Return only the first rows; the totals are of all rows.", "10")
        .value_name("ROWS");

const TOTALS: Parameter = Parameter::new(
    "totals",
    ValueType::Flag,
    "Add a last row for the whole range, computed by itself and not added up from the rows. The result gets a first \
     column rowType, which is `total` in this row and `group` in the others (empty in a table). Conditions on metrics \
     do not change the totals.",
    "true",
);

/// Whether a response of the HTTP service says how many requests are left.
pub(crate) const REMAINING: Parameter = Parameter::new(
    "$remaining",
    ValueType::Flag,
    "Whether the header `Trueup-Remaining-Requests` says how many more requests the hour allows.",
    "true",
);

/// [`TARGETS`] in a query string.
pub(crate) const TARGETS_OVER_HTTP: Parameter = TARGETS.named_over_http("$targets");

/// More parameters that the HTTP service has in addition: parts of a query with `$` before their names, because any
/// other name in a query string is that of a field.
pub(crate) static MARKED_ADDITIONS: [Parameter; 4] = [
    SORT.named_over_http("$sort"),
    LIMIT.named_over_http("$limit"),
    TOTALS.named_over_http("$totals"),
    TARGETS_OVER_HTTP,
];

/// The parts of a [`QueryRequest`], in the order in which they are listed.
pub static PARAMETERS: [Parameter; 23] = [
    FIELDS,
    START,
    END,
    Parameter::new("month", ValueType::Range, "A calendar month, in place of @start and @end.", "2026-05")
        .value_name("YYYY-MM"),
    Parameter::new("quarter", ValueType::Range, "A calendar quarter, such as 2026-Q2.", "2026-Q2").value_name("YYYY-Qn"),
    Parameter::new("year", ValueType::Range, "A calendar year.", "2026").value_name("YYYY"),
    Parameter::new(
        "last",
        ValueType::Range,
        "The last days, weeks, months or years, such as 90d, 12w, 6mo or 1y; today is the last day.",
        "90d",
    )
    .value_name("SPAN"),
    Parameter::new(
        "range",
        ValueType::Range,
        "`today`, `yesterday`, `this-week`, `last-week`, `week-to-date`, and the same for month, quarter and year; or a \
         value of @month, @quarter, @year or @last. `this-month` is the whole month, `month-to-date` ends today.",
        "last-month",
    )
    .value_name("NAME"),
    INTERVAL,
    ADDITIONS[0],
    ADDITIONS[1],
    ADDITIONS[2],
    ADDITIONS[3],
    Parameter::new(
        "account",
        ValueType::Strings,
        "Read only the account with this key, or with one of several keys. By default all accounts are read.",
        "north",
    )
    .value_name("KEY"),
    Parameter::new(
        "where",
        ValueType::Strings,
        "Keep only events whose dimension or `total` passes this condition (customers' revenue stays whole) or, on any other \
         metric, only rows of the result that pass it: 'field = value', '!=', '<', '<=', '>', '>=', 'field ~ regex', '~*' \
         (ignores case), 'field in (a, b)', 'not in', 'field is empty', 'is not empty'. A value with blanks is in single quotes. \
         Without a blank before '=', as in 'field=value', the value is all of the text after it; a JSON array is an \
         expression. Of several conditions all must hold, but equalities on the same field are alternatives.",
        "leads >= 5",
    )
    .value_name("CONDITION"),
    FILTER,
    SORT,
    LIMIT,
    TOTALS,
    TARGETS,
    Parameter::new(
        "allow-long-total",
        ValueType::Flag,
        "Allow the interval total, and totals, of @start and @end to span more than 90 days, the attribution window. A \
         named range, such as @quarter, @year or @last, always may.",
        "true",
    ),
    Parameter::new(
        "allow-unknown",
        ValueType::Flag,
        "Allow names that neither the dictionary nor the dataset knows; such a field is empty on every row.",
        "true",
    ),
    Parameter::new(
        "strict",
        ValueType::Flag,
        "Refuse a value in @where or @filter that no event and no spend of the dataset has, instead of warning about it.",
        "true",
    ),
];

impl Parameter {
    /// Returns the part of a [`QueryRequest`] with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PARAMETERS.iter().find(|parameter| parameter.name == name)
    }

    /// Checks the texts that spell a value.
    ///
    /// # Errors
    /// They spell none.
    pub fn check(&self, texts: &[String]) -> Result<(), InvalidParameter> {
        self.read(texts).map(drop)
    }

    fn read(&self, texts: &[String]) -> Result<Value, InvalidParameter> {
        let value = self.json(texts)?;
        match QueryRequest::deserialize(Value::Object(Map::from_iter([(self.name.to_owned(), value.clone())]))) {
            Ok(_) => Ok(value),
            Err(error) => Err(InvalidParameter { name: self.name, fault: error.to_string() }),
        }
    }
}

/// The days of a request.
enum AskedDays {
    Named(NamedRange),
    Dates(DateRange),
}

impl QueryRequest {
    /// Reads a request from the texts that spell the values of its parts. A list is one text or several; fields and
    /// columns to sort by may be separated by commas. A part that is given twice has the last value.
    ///
    /// # Errors
    /// The first part that has an invalid value; then the first that is given without another that it needs.
    ///
    /// ```
    /// use trueup::request::{Parameter, QueryRequest};
    ///
    /// let read = |name, text: &str| {
    ///     let parameter = Parameter::named(name).unwrap();
    ///     QueryRequest::from_texts([(parameter, vec![text.to_owned()])])
    /// };
    /// assert_eq!(read("fields", "campaign, leads")?.fields, ["campaign", "leads"]);
    ///
    /// let refused = read("month", "May").unwrap_err();
    /// assert_eq!(refused.to_string(), "`month`: expected a month as YYYY-MM, but found `May`");
    /// # Ok::<(), trueup::request::InvalidParameter>(())
    /// ```
    pub fn from_texts(
        given: impl IntoIterator<Item = (&'static Parameter, Vec<String>)>,
    ) -> Result<Self, InvalidParameter> {
        let mut values = Map::new();
        for (parameter, texts) in given {
            values.insert(parameter.name.to_owned(), parameter.read(&texts)?);
        }
        let is_given = |name: &str| values.get(name).is_some_and(|value| *value != Value::Bool(false));
        for parameter in PARAMETERS.iter().filter(|parameter| is_given(parameter.name)) {
            if let Some(other) = parameter.requires.filter(|other| !is_given(other)).and_then(Parameter::named) {
                let fault = format!("needs `{}`, such as `{}`", other.name, other.example);
                return Err(InvalidParameter { name: parameter.name, fault });
            }
        }
        let request = Self::deserialize(Value::Object(values));
        request.map_err(|error| InvalidParameter { name: "fields", fault: error.to_string() })
    }

    /// Returns the parts that are given, in the order of [`PARAMETERS`], each with the texts that spell its value.
    /// [`from_texts`](Self::from_texts) reads them.
    #[must_use]
    pub fn texts(&self) -> Vec<(&'static Parameter, Vec<String>)> {
        let default = values(&Self::default());
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let mut values = values(self);
        values.retain(|name, value| default.get(name) != Some(value));
        let given = PARAMETERS.iter().filter_map(|parameter| Some((parameter, values.remove(parameter.name)?)));
        given
            .map(|(parameter, value)| match value {
                Value::Array(values) => (parameter, values.into_iter().map(text).collect()),
                value => (parameter, vec![text(value)]),
            })
            .collect()
    }

    /// Returns the range that is named; `None` if its first and last day are given.
    ///
    /// # Errors
    /// The days are not given, or are given in two ways.
    pub fn named_range(&self) -> Result<Option<NamedRange>, InvalidParameter> {
        Ok(match self.asked_days()? {
            AskedDays::Named(named) => Some(named),
            AskedDays::Dates(_) => None,
        })
    }

    fn asked_days(&self) -> Result<AskedDays, InvalidParameter> {
        let ranges = [
            ("month", self.month),
            ("quarter", self.quarter),
            ("year", self.year),
            ("last", self.last),
            ("range", self.range),
        ];
        let days = [("start", self.start), ("end", self.end)];
        let named = ranges.iter().filter_map(|(name, range)| range.map(|_| *name));
        let given: Vec<&str> = named.chain(days.iter().filter_map(|(name, day)| day.map(|_| *name))).collect();
        match (ranges.into_iter().find_map(|(_, range)| range), self.start, self.end) {
            (Some(named), None, None) if given.len() == 1 => Ok(AskedDays::Named(named)),
            (None, Some(start), Some(end)) => Ok(AskedDays::Dates(DateRange { start, end })),
            _ => {
                let expected =
                    "expected either `start` and `end`, or one of `month`, `quarter`, `year`, `last` and `range`";
                let found = given.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
                let found = if given.is_empty() { "nothing" } else { &found };
                Err(InvalidParameter { name: "range", fault: format!("{expected}, but found {found}") })
            }
        }
    }

    /// Returns the days. `today` is called only if they depend on it.
    fn days(&self, today: impl FnOnce() -> Day) -> Result<DateRange, RequestError> {
        match self.asked_days()? {
            AskedDays::Named(named) => Ok(named.days(if named.is_relative() { today() } else { Day::MIN })?),
            AskedDays::Dates(range) => Ok(range),
        }
    }

    fn account_filter(&self) -> AccountFilter {
        match &self.accounts {
            Some(keys) => AccountFilter::Only(keys.iter().cloned().collect()),
            None => AccountFilter::All,
        }
    }

    /// Returns the query for these days, without its conditions and its order.
    pub(crate) fn query(&self, range: DateRange, definitions: &Definitions) -> EventsQuery {
        let query = EventsQuery::new(&self.fields, range.start, range.end)
            .interval(self.interval)
            .attribution(self.attribution)
            .allow_unknown(self.allow_unknown)
            .definitions(definitions);
        let query = self.within.into_iter().fold(query, EventsQuery::cohort);
        let query = self.accounts.iter().fold(query, EventsQuery::accounts);
        let query = match self.compare {
            Some(ComparedWith::Earlier(earlier)) => query.compare(earlier),
            _ => query,
        };
        if self.totals { query.totals() } else { query }
    }

    /// Adds the order of the rows, and how many there are.
    pub(crate) fn ordered(&self, query: EventsQuery) -> EventsQuery {
        let query = self.sort.iter().cloned().fold(query, EventsQuery::sort);
        self.limit.into_iter().fold(query, EventsQuery::limit)
    }
}

fn values(request: &QueryRequest) -> BTreeMap<String, Value> {
    let value = serde_json::to_value(request).and_then(serde_json::from_value);
    debug_assert!(value.is_ok(), "a request is an object with names for keys");
    value.unwrap_or_default()
}

fn named<'de, D: Deserializer<'de>>(
    deserializer: D,
    parse: fn(&str) -> Result<NamedRange, ParseRangeError>,
) -> Result<Option<NamedRange>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    text.map(|text| parse(&text).map_err(serde::de::Error::custom)).transpose()
}

/// Declares what reads a range of each of these forms.
macro_rules! forms {
    ($($form:ident),*) => {
        $(fn $form<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NamedRange>, D::Error> {
            named(deserializer, NamedRange::$form)
        })*
    };
}
forms!(month, quarter, year, last);

#[cfg(test)]
mod tests {
    use super::*;

    /// A part that the table lacks could not be given; one that the type lacks would be refused everywhere.
    #[test]
    fn the_table_has_the_parts_of_the_type() {
        let mut names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
        names.sort_unstable();
        assert!(values(&QueryRequest::default()).keys().eq(names));
    }

    #[test]
    fn every_example_is_read_and_written_again() {
        for parameter in &PARAMETERS {
            let read = parameter.read(&[parameter.example.to_owned()]).unwrap();
            let request = QueryRequest::deserialize(Value::Object(Map::from_iter([(parameter.name.to_owned(), read)])));
            let texts = request.unwrap().texts();
            assert!(texts.iter().all(|(one, _)| one.name == parameter.name), "{texts:?}");
            assert_eq!(texts.first().map(|(_, texts)| texts.join(",")).as_deref(), Some(parameter.example));
        }
    }

    #[test]
    fn what_a_part_needs_is_named() {
        let read = |given: &[(&str, &str)]| {
            let given = given.iter().map(|(name, text)| (Parameter::named(name).unwrap(), vec![(*text).to_owned()]));
            QueryRequest::from_texts(given)
        };
        let refused = |given: &[(&str, &str)]| read(given).unwrap_err().to_string();
        assert_eq!(refused(&[("cohort", "true")]), "`cohort`: needs `within`, such as `90d`");
        assert_eq!(refused(&[("within", "90d"), ("cohort", "false")]), "`within`: needs `cohort`, such as `true`");
        assert_eq!(refused(&[("limit", "-1")]), "`limit`: expected a whole number, but found `-1`");
        assert_eq!(refused(&[("totals", "yes")]), "`totals`: expected `true` or `false`, but found `yes`");
        assert!(read(&[("cohort", "false")]).is_ok());
        let twice = read(&[("month", "2025-01"), ("last", "9d")]).unwrap();
        assert!(twice.named_range().is_err());
    }
}
