//! The arguments that all tools about numbers share, as a `QueryRequest`.

use crate::answer::Draft;
use crate::cell::{Cell, quoted, visible_command};
use crate::notes;
use crate::schema::{Argument, Kind};
use crate::toolbox::{Call, MAX_NAMED_ACCOUNTS};
use crate::{Fault, personal};
use serde_json::{Value, json};
use std::sync::Arc;
use trueup::filter::TypedCondition;
use trueup::query::{DateRange, NamedRange, SortKey};
use trueup::request::{ComparedWith, PreparedQuery, QueryRequest};
use trueup::versions::AsOf;
use trueup::{Dataset, Day, ResultTable, Shown};
use trueup_report::{MONTH_NAMES, months_before, query_command};

/// The metrics, dimensions and days.
pub(crate) static SUBJECT: [Argument; 3] = [
    Argument::new("metrics", Kind::Names, "Names of metrics, such as `leads`, `bookRate`; `find_fields` has them all.").required(),
    Argument::new("by", Kind::Names, "Dimensions to group by, such as `attributionChannel`, `campaign`, `account`."),
    Argument::new(
        "days",
        Kind::Days,
        "Two dates, which are included, or a name: `last-month`, `month-to-date`, `yesterday`, `2026-05`, `2026-Q2`, `2026`, \
         `last 90d`.",
    )
    .required(),
];

/// How the range is split.
pub(crate) static INTERVAL: [Argument; 1] = [Argument::of_parameter("interval", "interval")];

/// Conditions, and how leads are counted.
pub(crate) static DETAILS: [Argument; 6] = [
    Argument::of_parameter("where", "where"),
    Argument::new(
        "having",
        Kind::Strings,
        "Conditions on metrics of the rows, in the form of `where`, such as `leads >= 5`.",
    ),
    Argument::new(
        "cohort",
        Kind::Pattern("^([0-9]+d|all)$"),
        "Selects leads by the day of their first event, and counts what becomes of them within this window, such as `90d` or \
         `all`.",
    ),
    Argument::new(
        "attribution",
        Kind::OneOf(&["recorded", "first", "last"]),
        "The event that attribution dimensions are taken from: `recorded` (the default), the event itself; the customer's `first` \
         conversion; or the `last` one up to the event.",
    ),
    Argument::new(
        "as_of",
        Kind::Text,
        "An earlier version of the data: its number, or a time such as 2026-01-31T18:00:00Z.",
    ),
    Argument::of_parameter("accounts", "account"),
];

/// The order of rows, and how many there are.
pub(crate) static ROWS: [Argument; 3] = [
    Argument::new(
        "sort",
        Kind::Names,
        "Columns to sort by, such as `leads:desc`; rows without a value come last. By default the first metric, descending; with an \
         interval, start and dimensions.",
    ),
    Argument::new("limit", Kind::Count { default: 25, most: 500 }, "The most rows; what the others hold is said."),
    Argument::new(
        "totals",
        Kind::Flag { default: true },
        "Adds totals, computed over the whole range and not added up. Conditions on metrics do not change them.",
    ),
];

/// Whether the answer has targets.
pub(crate) static TARGETS: [Argument; 1] = [Argument::of_parameter("targets", "targets")];

/// A question about numbers, checked and ready to run.
pub(crate) struct Question {
    /// The dataset, in the version that is asked for.
    pub(crate) dataset: Arc<Dataset>,
    pub(crate) version: u64,
    /// The query, which has every row.
    pub(crate) request: QueryRequest,
    pub(crate) prepared: PreparedQuery,
    pub(crate) metrics: Vec<String>,
    pub(crate) by: Vec<String>,
    /// The rows to show.
    pub(crate) limit: usize,
    /// Whether the days were given by name.
    name: Option<String>,
    /// The earlier version that is asked for.
    as_of: Option<String>,
}

/// The days of a call: the parts of a request that say them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Days {
    pub(crate) named: Option<NamedRange>,
    pub(crate) dates: Option<DateRange>,
    /// The name, as it is given.
    pub(crate) name: Option<String>,
}

impl Days {
    /// Reads `days`.
    ///
    /// # Errors
    /// It is neither two days nor the name of a range, or a month or a quarter without its year.
    pub(crate) fn read(value: &Value, today: Day) -> Result<Self, Fault> {
        let fault = |message: String, fix: String| {
            Fault::new("invalid-days", format!("`days`: {message}"), fix)
                .example(r#"{"days": {"start": "2026-05-01", "end": "2026-05-31"}}"#)
        };
        let refused = |message: String| fault(message, "give two dates as YYYY-MM-DD, or a name".to_owned());
        let day = |text: &str| text.parse::<Day>().map_err(|error| refused(error.to_string()));
        if let Value::Object(days) = value {
            let get = |name: &str| {
                days.get(name).and_then(Value::as_str).ok_or_else(|| refused(format!("`{name}` is missing")))
            };
            if let Some(other) = days.keys().find(|name| !matches!(name.as_str(), "start" | "end")) {
                return Err(refused(format!("expected `start` and `end`, but found `{}`", Shown(other))));
            }
            let (start, end) = (day(get("start")?)?, day(get("end")?)?);
            return Ok(Self { dates: Some(DateRange { start, end }), ..Self::default() });
        }
        let text = value.as_str().unwrap_or_default().trim();
        if let Some((start, end)) = text.split_once("..") {
            return Ok(Self { dates: Some(DateRange { start: day(start)?, end: day(end)? }), ..Self::default() });
        }
        if let Ok(day) = text.parse::<Day>() {
            return Ok(Self { dates: Some(DateRange { start: day, end: day }), ..Self::default() });
        }
        let name = range_name(text);
        let year = |back: u16| today.to_string().get(..4).and_then(|year| year.parse::<u16>().ok()?.checked_sub(back));
        let of_year = |back| format!("{}-{name}", year(back)?).parse::<NamedRange>().ok();
        let begun = |range: &NamedRange| range.days(today).is_ok_and(|days| days.start <= today);
        if let Some(newest) = [0, 1].into_iter().filter_map(of_year).find(begun) {
            let message = format!("`{}` has no year", Shown(text));
            return Err(fault(message, format!("the newest one that has begun is `{newest}`")));
        }
        let named = name.parse::<NamedRange>().map_err(|error| refused(error.to_string()))?;
        Ok(Self { named: Some(named), dates: None, name: Some(text.to_owned()) })
    }

    /// Returns the first and the last day.
    pub(crate) fn range(&self, today: Day) -> Result<DateRange, Fault> {
        match (self.named, self.dates) {
            (Some(named), _) => Ok(named.days(today).map_err(trueup::request::RequestError::from)?),
            (None, Some(dates)) => Ok(dates),
            (None, None) => Err(Fault::new("missing-argument", "the argument `days` is missing", "give `days`")),
        }
    }
}

/// Returns the same days of the month before. A day that it does not have is its last one, and whole months are whole.
pub(crate) fn month_before(range: DateRange) -> Option<DateRange> {
    let months = |day: Day| Some((months_before(day, 0)?, months_before(day, 1)?));
    let ((first, first_before), (last, last_before)) = (months(range.start)?, months(range.end)?);
    let same = |day: Day, month: DateRange, before: DateRange| {
        let days = day.number() - month.start.number();
        Day::from_number(before.start.number().saturating_add(days)).min(before.end)
    };
    let is_whole = range.start == first.start && range.end == last.end;
    let end = if is_whole { last_before.end } else { same(range.end, last, last_before) };
    Some(DateRange { start: same(range.start, first, first_before), end })
}

/// Returns the name of the range that words say: `14d` for `last 14 days`, `2026-Q3` for `Q3 2026`, `2026-09` for
/// `September 2026`, and `09` for `September`. Other words are as they are, with hyphens.
fn range_name(text: &str) -> String {
    const UNITS: [(&str, &str); 4] = [("day", "d"), ("week", "w"), ("month", "mo"), ("year", "y")];
    let lower = text.to_lowercase();
    let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    let is_month = |word: &str, name: &str| [name, &name[..3]].iter().any(|name| name.eq_ignore_ascii_case(word));
    let words: Vec<String> = lower
        .split(|between: char| between.is_whitespace() || "_-,".contains(between))
        .filter(|word| !word.is_empty())
        .map(|word| match MONTH_NAMES.iter().position(|month| is_month(word, month)) {
            Some(month) => format!("{:02}", month + 1),
            None if matches!(word, "q1" | "q2" | "q3" | "q4") => word.to_uppercase(),
            None => word.to_owned(),
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["last" | "past", span] if is_number(span) => (*span).to_owned(),
        ["last" | "past", count, unit] if is_number(count) => {
            let unit = unit.strip_suffix('s').unwrap_or(unit);
            let unit = UNITS.iter().find(|(name, _)| *name == unit).map_or(unit, |(_, short)| *short);
            format!("{count}{unit}")
        }
        [part, year] if year.len() == 4 && is_number(year) => format!("{year}-{part}"),
        words => words.join("-"),
    }
}

impl Question {
    /// Reads the question of a call. `compare` is what the answer is compared with.
    ///
    /// # Errors
    /// An argument has a fault, or the caller may not ask for something.
    pub(crate) fn read(call: &Call<'_>, compare: Option<ComparedWith>) -> Result<Self, Fault> {
        let arguments = &call.arguments;
        let names = |name: &str| arguments.texts(name).unwrap_or_default();
        let (mut metrics, by) = (names("metrics"), names("by"));
        let days = Days::read(arguments.value("days").unwrap_or(&Value::Null), call.toolbox.today())?;
        let (dataset, version) = dataset(call)?;
        check_kinds(&dataset, &metrics, &by)?;
        let within =
            arguments.text("cohort").map(|text| text.parse().map_err(|error| invalid("cohort", &error))).transpose()?;
        // Without it nobody sees whether a row is final.
        if within.is_some() && !metrics.iter().any(|name| name == notes::OPEN_LEADS) {
            metrics.push(notes::OPEN_LEADS.to_owned());
        }
        let interval = arguments
            .text("interval")
            .map_or(Ok(Default::default()), |text| text.parse().map_err(|error| invalid("interval", &error)))?;
        let attribution = arguments
            .text("attribution")
            .map_or(Ok(Default::default()), |text| text.parse().map_err(|error| invalid("attribution", &error)))?;
        let mut conditions: Vec<TypedCondition> = Vec::new();
        for name in ["where", "having"] {
            for text in names(name) {
                conditions.push(text.parse().map_err(|error| condition_fault(name, &error))?);
            }
        }
        let mut sort: Vec<SortKey> = names("sort").into_iter().map(SortKey::from).collect();
        // The rows that are left out are then the smallest.
        if sort.is_empty() && !by.is_empty() && interval == trueup::query::Interval::Total {
            sort.extend(metrics.first().map(SortKey::descending));
        }
        let rest = QueryRequest {
            interval,
            cohort: within.is_some(),
            within,
            compare,
            attribution,
            conditions,
            sort,
            totals: arguments.flag("totals"),
            targets: arguments.flag("targets"),
            ..QueryRequest::default()
        };
        let question = Self::new(call, (dataset, version), metrics, by, days, rest)?;
        Ok(Self { limit: arguments.count("limit"), ..question })
    }

    /// Returns the question for metrics by dimensions. `rest` has what else the request says.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn new(
        call: &Call<'_>,
        (dataset, version): (Arc<Dataset>, u64),
        metrics: Vec<String>,
        by: Vec<String>,
        days: Days,
        rest: QueryRequest,
    ) -> Result<Self, Fault> {
        let request = QueryRequest {
            fields: by.iter().chain(&metrics).cloned().collect(),
            start: days.dates.map(|range| range.start),
            end: days.dates.map(|range| range.end),
            range: days.named,
            accounts: call.toolbox.accounts(call.arguments.texts("accounts"))?,
            // A question is about the days that it names; a note says what a long range means.
            allow_long_total: days
                .dates
                .is_some_and(|range| range.start <= range.end && range.days() > trueup::ATTRIBUTION_WINDOW_DAYS),
            ..rest
        };
        let prepared = request.prepare(&dataset, &call.toolbox.clock())?;
        if !call.toolbox.settings.allow_personal {
            personal::refuse(&dataset, prepared.events().names())?;
        }
        if let Some(limit) = call.toolbox.settings.account_intervals {
            let accounts = match &request.accounts {
                Some(keys) => keys.len(),
                None => call.toolbox.account_keys()?.len(),
            };
            let sub_ranges = prepared.events().sub_ranges().len();
            if accounts.saturating_mul(sub_ranges) > limit {
                let message = format!("{accounts} accounts times {sub_ranges} sub-ranges are more than {limit}");
                return Err(Fault::new(
                    "too-many-intervals",
                    message,
                    "name fewer accounts, or ask for a longer interval",
                ));
            }
        }
        let as_of = call.arguments.text("as_of").map(str::to_owned);
        Ok(Self { dataset, version, request, prepared, metrics, by, limit: usize::MAX, name: days.name, as_of })
    }

    /// Returns the days.
    pub(crate) const fn range(&self) -> DateRange {
        self.prepared.events().range()
    }

    /// Returns the days that the answer is compared with.
    pub(crate) fn earlier(&self) -> Result<Option<DateRange>, Fault> {
        match self.request.compare {
            Some(ComparedWith::Earlier(earlier)) => {
                Ok(Some(earlier.range(self.range()).map_err(trueup::QueryError::from)?))
            }
            _ => Ok(None),
        }
    }

    /// Returns whether a condition chooses rows, and not events.
    pub(crate) fn chooses_rows(&self, condition: &TypedCondition) -> bool {
        condition.field() != "total" && self.dataset.is_metric(condition.field())
    }

    /// Runs the query.
    pub(crate) fn run(&self, call: &Call<'_>) -> Result<ResultTable, Fault> {
        Ok(self.prepared.run(&self.dataset, call.execution.clone())?)
    }

    /// Returns the days as a person says them.
    pub(crate) fn days_text(&self) -> String {
        let range = self.range();
        match &self.name {
            Some(name) => format!("{range} (`{}`)", Shown(name)),
            None => range.to_string(),
        }
    }

    /// Begins an answer: what is asked, which days, accounts and version it is of, and what a reader could get wrong
    /// about the days and the conditions.
    pub(crate) fn draft(&self, call: &Call<'_>, subject: &str) -> Result<Draft, Fault> {
        let mut draft = Draft::default();
        let by = if self.by.is_empty() { String::new() } else { format!(" by {}", self.by.join(", ")) };
        let interval = match self.request.interval {
            trueup::query::Interval::Total => String::new(),
            interval => format!(" per {interval}"),
        };
        let conditions = self.request.conditions.iter().map(|condition| format!("`{condition}`"));
        let conditions: Vec<String> = conditions.collect();
        let conditions =
            if conditions.is_empty() { String::new() } else { format!(", where {}", conditions.join(" and ")) };
        draft.head.push(format!("{subject}{by}{interval}, {}{conditions}", self.days_text()));
        draft.head.push(format!(
            "{}, version {}",
            accounts_text(call, self.request.accounts.as_deref())?,
            self.version
        ));
        let range = self.range();
        draft.data.insert("days".to_owned(), json!({ "start": range.start.to_string(), "end": range.end.to_string() }));
        draft.data.insert("accounts".to_owned(), accounts_json(self.request.accounts.as_deref()));
        draft.data.insert("version".to_owned(), self.version.into());
        notes::days(&mut draft, self, call)?;
        notes::unseen_values(&mut draft, self, call)?;
        Ok(draft)
    }

    /// Returns the command that asks the same, with the rows that are shown.
    pub(crate) fn command(&self) -> String {
        let shown = QueryRequest { limit: Some(self.limit), ..self.request.clone() };
        let as_of = self.as_of.as_ref().map(|version| format!(" --as-of {version}")).unwrap_or_default();
        visible_command(&query_command(&shown)) + &as_of
    }

    /// Ends an answer with the command that asks the same.
    pub(crate) fn end(&self, draft: &mut Draft) {
        let command = self.command();
        draft.tail.push(format!("Command: {command}"));
        draft.data.insert("command".to_owned(), command.into());
    }

    /// Returns the values of a table's rows, the first ones that are shown.
    pub(crate) fn rows(&self, table: &ResultTable) -> Vec<Vec<Cell>> {
        let definitions = self.dataset.definitions();
        (0..table.len().min(self.limit)).map(|row| crate::cell::row(definitions, table, row)).collect()
    }
}

/// Returns the dataset of a call, in the version that it asks for, and the number of the version.
pub(crate) fn dataset(call: &Call<'_>) -> Result<(Arc<Dataset>, u64), Fault> {
    let toolbox = call.toolbox;
    let Some(text) = call.arguments.text("as_of") else { return Ok((Arc::clone(&call.dataset), toolbox.version())) };
    let as_of: AsOf = text.parse().map_err(|error| invalid("as_of", &error))?;
    if as_of == AsOf::Version(toolbox.version()) {
        return Ok((Arc::clone(&call.dataset), toolbox.version()));
    }
    let Some(folder) = &toolbox.settings.folder else {
        return Err(Fault::new(
            "no-versions",
            "this server answers about the newest version only",
            "leave `as_of` out",
        ));
    };
    let missing = |error: &trueup::Error| {
        tracing::info!("{}", trueup::message_with_causes(error));
        let message = format!("there is no version `{}`", Shown(text));
        Fault::new("unknown-version", message, format!("the newest version is {}", toolbox.version()))
    };
    let dataset = Dataset::open_as_of(folder, as_of).map_err(|error| missing(&error))?;
    let version = dataset.manifest().map_or(0, |manifest| manifest.version);
    Ok((Arc::new(toolbox.seen_version(dataset, &call.execution)?), version))
}

fn invalid(name: &str, error: &dyn std::fmt::Display) -> Fault {
    Fault::new("invalid-argument", format!("`{name}`: {error}"), "correct the argument")
}

fn condition_fault(name: &str, error: &dyn std::fmt::Display) -> Fault {
    Fault::new(
        "invalid-filter",
        format!("`{name}`: {error}"),
        "write conditions as `field = value`, with single quotes around a value that has blanks",
    )
    .example(r#"{"where": ["campaign = 'Spring Sale'", "total >= 500"]}"#)
}

/// Checks that metrics are named as metrics, and dimensions as dimensions.
fn check_kinds(dataset: &Dataset, metrics: &[String], by: &[String]) -> Result<(), Fault> {
    let fault = |name: &str, is: &str, belongs: &str| {
        Err(Fault::new("wrong-argument", format!("`{}` is a {is}", Shown(name)), format!("name it in `{belongs}`")))
    };
    if metrics.is_empty() {
        return Err(Fault::new("missing-metric", "`metrics` is empty", "name at least one metric")
            .example(r#"{"metrics": ["leads"]}"#));
    }
    if let Some(name) = metrics.iter().find(|name| dataset.has_field(name) && !dataset.is_metric(name)) {
        return fault(name, "dimension", "by");
    }
    if let Some(name) = by.iter().find(|name| dataset.is_metric(name)) {
        return fault(name, "metric", "metrics");
    }
    Ok(())
}

/// Says which accounts an answer is of.
pub(crate) fn accounts_text(call: &Call<'_>, keys: Option<&[String]>) -> Result<String, Fault> {
    let Some(keys) = keys else {
        return Ok(match call.toolbox.account_keys()?.len() {
            1 => "the only account".to_owned(),
            count => format!("all {count} accounts"),
        });
    };
    let named: Vec<String> = keys.iter().take(MAX_NAMED_ACCOUNTS).map(|key| quoted(key)).collect();
    let more = keys.len().saturating_sub(named.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Ok(format!("accounts {}{more}", named.join(", ")))
}

/// Returns the accounts of an answer as data: `all`, their keys, or their number if they are many.
pub(crate) fn accounts_json(keys: Option<&[String]>) -> Value {
    match keys {
        None => "all".into(),
        Some(keys) if keys.len() <= MAX_NAMED_ACCOUNTS => keys.to_vec().into(),
        Some(keys) => keys.len().into(),
    }
}
