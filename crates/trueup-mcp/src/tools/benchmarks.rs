//! `benchmarks`: where accounts stand among the accounts of their own industries.

use crate::Fault;
use crate::answer::{Answer, Draft, Grid};
use crate::cell::{Cell, quoted};
use crate::question::{accounts_json, accounts_text};
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use serde_json::Number;
use std::collections::BTreeSet;
use std::sync::Arc;
use trueup::benchmarks::{
    BenchmarkData, BenchmarkMetric, BenchmarkPeriod, BenchmarkQuery, BenchmarkRow, BenchmarkSelection, Series, read,
};
use trueup::query::EventsQuery;
use trueup::{ResultTable, Value};
use trueup_report::number::readable;
use trueup_report::{Verdict, standing, value_of};

/// The most months of a call.
const MAX_MONTHS: usize = 12;
/// The most accounts of a call.
const MAX_ACCOUNTS: usize = 50;

static ARGUMENTS: [Argument; 4] = [
    Argument::new("metrics", Kind::Names, "Metrics that have benchmarks; by default all of them."),
    Argument::new("months", Kind::Names, "Months as YYYY-MM, or `previous-mtd`: the month before, up to the same day.")
        .required(),
    Argument::new(
        "by",
        Kind::Names,
        "`attributionCategory`, `attributionChannel`, `customerStatus` or `normalizedBusinessUnit`.",
    ),
    Argument::of_parameter("accounts", "account"),
];

pub(crate) static TOOL: Tool = Tool {
    name: "benchmarks",
    title: "Benchmarks",
    description: "Each account compared with all accounts of its own industry, for calendar months: value, benchmark, the percentiles that it is \
                  between, and whether that is better. Null with the reason where there is no figure.",
    groups: &[Group { arguments: &ARGUMENTS, is_described: true }],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let toolbox = call.toolbox;
    let (metrics, by) =
        (call.arguments.texts("metrics").unwrap_or_default(), call.arguments.texts("by").unwrap_or_default());
    let months = call.arguments.texts("months").unwrap_or_default();
    if months.is_empty() || months.len() > MAX_MONTHS {
        let message = format!("expected from 1 to {MAX_MONTHS} months, but found {}", months.len());
        return Err(
            Fault::new("invalid-month", message, "give months as YYYY-MM").example(r#"{"months": ["2026-05"]}"#)
        );
    }
    let accounts = toolbox.accounts(call.arguments.texts("accounts"))?;
    let keys: Vec<String> = match &accounts {
        Some(keys) => keys.clone(),
        None => toolbox.account_keys()?.into_iter().collect(),
    };
    if keys.len() > MAX_ACCOUNTS {
        let message = format!("expected at most {MAX_ACCOUNTS} accounts, but found {}", keys.len());
        return Err(Fault::new("too-many-accounts", message, "name accounts in `accounts`"));
    }
    let fields: Vec<&str> = metrics.iter().chain(&by).map(String::as_str).collect();
    // Dimensions alone would be refused; they are by all metrics.
    let all = BenchmarkSelection::default();
    let names = all.metrics().iter().map(|metric| metric.name());
    let fields: Vec<&str> = if metrics.is_empty() { names.chain(fields).collect() } else { fields };
    let mut draft = Draft::default();
    let mut rows = Vec::new();
    let mut ranges = Vec::new();
    for month in &months {
        let (period, selection) = read(&fields, &[], Some(month), toolbox.today())?;
        ranges.push(period.range.to_string());
        if !period.is_whole() {
            draft.note(format!("{} is a part of its month, for the account and for the benchmark", period.range));
        }
        // Of all accounts, but of fields of the dictionary alone.
        let data = BenchmarkData::gather(toolbox.whole(), period.range, &call.execution)?;
        let of_month = Month { call, period: &period, selection: &selection, data: &data };
        for key in &keys {
            of_month.compare(key, &mut draft, &mut rows)?;
        }
    }
    draft.head.push(format!(
        "benchmarks of {}; benchmark: the sums of all accounts divided, percentiles: of single accounts",
        ranges.join(", ")
    ));
    draft.head.push(format!("{}, version {}", accounts_text(call, accounts.as_deref())?, toolbox.version()));
    draft.data.insert("months".to_owned(), ranges.into());
    draft.data.insert("accounts".to_owned(), accounts_json(accounts.as_deref()));
    draft.data.insert("version".to_owned(), toolbox.version().into());
    let columns: Vec<&str> = ["month", "account"]
        .into_iter()
        .chain(by.iter().map(String::as_str))
        .chain(["metric", "value", "benchmark", "band", "standing"])
        .collect();
    let count = rows.len();
    draft.grid = Some(Grid::new(&columns, rows, count, "name fewer `accounts`, `metrics` or `months`"));
    Ok(draft.finish())
}

/// The benchmarks of one month.
struct Month<'a> {
    call: &'a Call<'a>,
    period: &'a BenchmarkPeriod,
    selection: &'a BenchmarkSelection,
    data: &'a BenchmarkData,
}

impl Month<'_> {
    /// Adds the rows of one account.
    fn compare(&self, key: &str, draft: &mut Draft, rows: &mut Vec<Vec<Cell>>) -> Result<(), Fault> {
        let toolbox = self.call.toolbox;
        let scope = BTreeSet::from([key.to_owned()]);
        // Without a login, a reader is taken for one who may see only this account, as in a report.
        let reach = toolbox.caller.accounts.as_ref().unwrap_or(&scope);
        let selection = self.selection;
        let query = BenchmarkQuery { selection, scope: &scope, reach, privacy: toolbox.settings.privacy };
        let others = self.data.answer(&query);
        if self.call.dataset.accounts().get(key).is_none_or(|account| account.industry.is_none()) {
            draft.note(format!(
                "the account {} has no industry, and is compared with accounts of all industries",
                quoted(key)
            ));
        }
        let dimensions = selection.dimensions().iter().map(|dimension| dimension.name());
        let metrics = selection.metrics().iter().map(|metric| metric.name());
        let range = self.period.range;
        let own = EventsQuery::new(dimensions.clone().chain(metrics), range.start, range.end).accounts([key]);
        let own = self.call.dataset.run(&own, self.call.execution.clone())?;
        let dimensions: Vec<&str> = dimensions.collect();
        for row in 0..own.len() {
            let segment: Vec<&str> = dimensions.iter().map(|name| text(&own, row, name)).collect();
            let of_segment: Vec<&BenchmarkRow> = others
                .iter()
                .filter(|other| other.dimensions.iter().map(Arc::as_ref).eq(segment.iter().copied()))
                .collect();
            for (at, metric) in selection.metrics().iter().enumerate() {
                let mut cells = vec![Cell::word(self.period.month.to_string()), Cell::text(key)];
                cells.extend(segment.iter().map(|text| Cell::text(text)));
                cells.push(Cell::word(metric.name()));
                cells.extend(figures(&own, row, *metric, &of_segment, at));
                rows.push(cells);
            }
        }
        Ok(())
    }
}

fn text<'t>(table: &'t ResultTable, row: usize, name: &str) -> &'t str {
    match table.value(row, name) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

/// Returns the value of an account, the benchmark, the percentiles that it is between, and whether that is better; a
/// reason in place of what there is not.
fn figures(own: &ResultTable, row: usize, metric: BenchmarkMetric, others: &[&BenchmarkRow], at: usize) -> [Cell; 4] {
    let column = own.column(metric.name());
    let mine = column.filter(|column| !column.is_over_nothing(row)).and_then(|column| column.value(row));
    let mine = mine.and_then(Value::as_f64);
    let series = |series| value_of(others.iter().copied(), series, at);
    let number = |number: Option<f64>| match number.and_then(|number| Some((number, Number::from_f64(number)?))) {
        Some((number, json)) => Cell { text: readable(metric.name(), Value::Ratio(number)), value: json.into() },
        None => Cell::null(),
    };
    let pooled = series(Series::Benchmark);
    let (band, side) = match (mine, mine.and_then(|mine| standing(metric, mine, series))) {
        (None, _) => (Cell::null(), Cell::word("no value: the denominator of the account is 0")),
        (Some(_), None) if others.is_empty() => {
            (Cell::null(), Cell::word("no benchmark: too few other accounts to compare with"))
        }
        (Some(_), None) => (Cell::null(), Cell::word("withheld: it could reveal the figure of a single account")),
        (Some(_), Some(standing)) => {
            let side = match standing.verdict {
                Verdict::Better => "better than the median",
                Verdict::Worse => "worse than the median",
                Verdict::Neither => "neither better nor worse",
            };
            (Cell::word(standing.band), Cell::word(side))
        }
    };
    [number(mine), number(pooled), band, side]
}
