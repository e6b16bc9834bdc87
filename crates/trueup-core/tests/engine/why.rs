//! Explained rows: the lines behind each number of the oracle's answers are those of the oracle, and add up to it,
//! customer by customer.

use crate::disk::write;
use crate::run::{dataset, requested};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueup_core::dataset::Tables as CanonicalTables;
use trueup_core::dictionary::{self, Formula, Measure};
use trueup_core::query::{EventsQuery, Filter, Interval, LineOrder, MAX_FILTER_OPERANDS, WhyQuery, WhyRowFault};
use trueup_core::{
    Dataset, Error, Execution, ExplainedMeasure, MemoryBudget, QueryError, ResultTable, Value, Why, money,
};
use trueup_ingest::Ingest;
use trueup_testkit::cases::{case, cohort_case, duration_case};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{AnsweredRow, ExplainedLine, METRICS, Request, Tables, answer, explained};

pub(crate) type JsonRow = serde_json::Map<String, serde_json::Value>;

fn oracle_rows(tables: &Tables, request: &Request) -> Option<Vec<JsonRow>> {
    serde_json::from_str(&answer(tables, request).ok()?).ok()
}

fn is_metric(name: &str) -> bool {
    dictionary::metric(name).is_some()
}

/// Returns the question for a row of an answer.
fn question(query: &EventsQuery, row: &JsonRow) -> WhyQuery {
    let values = row.iter().filter(|(name, _)| !is_metric(name));
    values.fold(WhyQuery::new(query.clone()), |why, (name, value)| why.value(name, value.as_str().unwrap()))
}

/// Returns the text of a value in a row.
pub(crate) fn text(table: &ResultTable, row: usize, column: &str) -> String {
    match table.value(row, column) {
        Some(Value::Text(text)) => text.to_owned(),
        Some(Value::Day(day)) => day.to_string(),
        other => panic!("{column}: {other:?}"),
    }
}

/// Returns what a line adds.
pub(crate) fn adds(lines: &ResultTable, row: usize) -> i128 {
    let count = match lines.value(row, "count") {
        Some(Value::Count(count)) => i128::from(count),
        Some(Value::Integer(change)) => i128::from(change),
        _ => 0,
    };
    let amount = match lines.value(row, "amount") {
        Some(Value::Money(amount)) => amount,
        _ => 0,
    };
    // A line adds a count or an amount, never both.
    assert!(count == 0 || amount == 0);
    count + amount
}

/// Returns the sum of the lines of some measures: a number, or money in currency units.
fn sum(lines: &ResultTable, measures: &[Measure]) -> f64 {
    let is_added = |row: &usize| measures.iter().any(|measure| measure.name() == text(lines, *row, "measure"));
    let total: i128 = (0..lines.len()).filter(is_added).map(|row| adds(lines, row)).sum();
    let is_money = |measure: &Measure| {
        use Measure as M;
        matches!(measure, M::Total | M::EstimatedRevenue | M::SoldRevenue | M::ClosedRevenue)
            || matches!(measure, M::AdSpend | M::ManagementFee | M::CampaignSpend)
    };
    if measures.iter().any(is_money) { money::to_f64(total) } else { total.to_string().parse().unwrap() }
}

/// Returns the value of a metric that the lines make up.
fn value(lines: &ResultTable, metric: &str) -> f64 {
    match dictionary::metric(metric).unwrap().1.formula {
        Formula::Amount(measures) => sum(lines, measures),
        Formula::Ratio { numerator, denominator } => match sum(lines, denominator) {
            0.0 => 0.0,
            denominator => sum(lines, numerator) / denominator,
        },
        Formula::Percentile { .. } => panic!("{metric} is no sum"),
    }
}

pub(crate) fn why(dataset: &Dataset, question: &WhyQuery) -> Why {
    dataset.why(question, Execution::default()).unwrap()
}

/// Returns the lines as texts.
pub(crate) fn lines(why: &Why) -> Vec<String> {
    let table = why.lines();
    table.rows().map(|row| row.values().map(|(_, value)| format!("{value:?}")).collect::<Vec<_>>().join(" ")).collect()
}

/// Returns a line, with the name of its measure.
pub(crate) fn line(lines: &ResultTable, row: usize) -> (String, ExplainedLine) {
    let line = ExplainedLine {
        account: text(lines, row, "account"),
        opportunity_id: text(lines, row, "opportunityId"),
        event_id: text(lines, row, "eventId"),
        date: text(lines, row, "date").parse().unwrap(),
        kind: text(lines, row, "type"),
        adds: adds(lines, row),
        rule: text(lines, row, "rule"),
    };
    (text(lines, row, "measure"), line)
}

/// Returns the lines of the oracle behind a row of its answer, for some measures.
pub(crate) fn oracle_lines(
    (tables, request): (&Tables, &Request),
    row: &JsonRow,
    measures: &[ExplainedMeasure],
) -> Vec<(String, ExplainedLine)> {
    let day = |name: &str, whole| row.get(name).map_or(whole, |day| day.as_str().unwrap().parse().unwrap());
    let mut dimensions: Vec<&String> = Vec::new();
    for name in request.fields.iter().filter(|name| !is_metric(name)) {
        if !dimensions.contains(&name) {
            dimensions.push(name);
        }
    }
    let key: Vec<String> = dimensions.iter().map(|name| row[*name].as_str().unwrap().to_owned()).collect();
    let row = AnsweredRow { start: day("start", request.start), end: day("end", request.end), key: &key };
    let measures: Vec<&str> = measures.iter().map(|measure| measure.measure.name()).collect();
    let lines = explained(tables, request, row, &measures).unwrap();
    lines.into_iter().map(|(measure, line)| (measure.to_owned(), line)).collect()
}

/// Generates plain queries, cohorts, and days between stages, without percentiles.
fn any_case() -> impl Strategy<Value = (Tables, Request)> {
    let case = prop_oneof![2 => case().boxed(), 1 => cohort_case().boxed(), 1 => duration_case().boxed()];
    case.prop_map(|(tables, mut request)| {
        request.fields.retain(|name| !name.starts_with("median") && !name.starts_with("p90"));
        (tables, request)
    })
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn lines_add_up_to_each_number_of_the_oracle((tables, request) in any_case()) {
        let (Ok(query), Some(rows)) = (requested(&request), oracle_rows(&tables, &request)) else { return Ok(()) };
        let dataset = dataset(&tables, 7);
        for row in rows {
            let why = why(&dataset, &question(&query, &row));
            let metrics: Vec<&String> = row.keys().filter(|name| is_metric(name)).collect();
            prop_assert_eq!(why.metrics.len(), metrics.len());
            prop_assert_eq!(why.lines().len() as u64, why.total_lines());
            for metric in metrics {
                prop_assert_eq!(Some(value(why.lines(), metric)), row[metric].as_f64(), "{} of {:?}", metric, row);
            }
        }
    }

    #[test]
    fn lines_and_rules_are_those_of_the_oracle((tables, request) in any_case()) {
        let (Ok(query), Some(rows)) = (requested(&request), oracle_rows(&tables, &request)) else { return Ok(()) };
        let dataset = dataset(&tables, 7);
        for row in rows {
            let why = why(&dataset, &question(&query, &row));
            let found: Vec<_> = (0..why.lines().len()).map(|at| line(why.lines(), at)).collect();
            prop_assert_eq!(found, oracle_lines((&tables, &request), &row, &why.measures), "{:?}", row);
        }
    }

    /// The lines of a customer add up to the numbers of that customer alone.
    #[test]
    fn lines_add_up_for_each_customer((tables, request) in any_case(), metric in prop::sample::select(METRICS.to_vec())) {
        let Formula::Amount(measures) = dictionary::metric(metric).unwrap().1.formula else { return Ok(()) };
        // An agent has several customers, and spend has none.
        if measures.iter().any(|measure| measure.is_spend() || *measure == Measure::OpportunityAgents) {
            return Ok(());
        }
        let dimensions: Vec<String> = request.fields.iter().filter(|name| !is_metric(name)).cloned().collect();
        let of = |more: &[&str]| Request {
            fields: dimensions.iter().cloned().chain(more.iter().map(|name| (*name).to_owned())).collect(),
            filters: Vec::new(),
            filter: Vec::new(),
            ..request.clone()
        };
        let request = of(&[metric]);
        let Ok(query) = requested(&request) else { return Ok(()) };
        let (rows, finer) = (oracle_rows(&tables, &request), oracle_rows(&tables, &of(&["account", "opportunityId", metric])));
        let dataset = dataset(&tables, 7);
        let mut expected: BTreeMap<String, f64> = BTreeMap::new();
        let place = |row: &JsonRow| -> Vec<String> {
            let names = ["start"].into_iter().chain(dimensions.iter().map(String::as_str));
            names.map(|name| row.get(name).map(ToString::to_string).unwrap_or_default()).collect()
        };
        for row in finer.unwrap() {
            let key = format!("{:?} {} {}", place(&row), row["account"], row["opportunityId"]);
            *expected.entry(key).or_default() += row[metric].as_f64().unwrap();
        }
        expected.retain(|_, value| *value != 0.0);
        let mut found: BTreeMap<String, i128> = BTreeMap::new();
        let is_money = matches!(dictionary::metric(metric).unwrap().1.unit, dictionary::Unit::Currency);
        for row in rows.unwrap() {
            let why = why(&dataset, &question(&query, &row));
            for line in 0..why.lines().len() {
                let quoted = |column| serde_json::Value::from(text(why.lines(), line, column));
                let key = format!("{:?} {} {}", place(&row), quoted("account"), quoted("opportunityId"));
                *found.entry(key).or_default() += adds(why.lines(), line);
            }
        }
        found.retain(|_, sum| *sum != 0);
        let double = |sum: i128| if is_money { money::to_f64(sum) } else { sum.to_string().parse().unwrap() };
        let found: BTreeMap<String, f64> = found.into_iter().map(|(key, sum)| (key, double(sum))).collect();
        prop_assert_eq!(found, expected);
    }

    /// For each measure, a limited list has the first lines of the whole list. Neither list depends on row groups.
    #[test]
    fn limits_and_row_groups_change_no_line(
        (tables, request) in any_case(),
        (limit, order) in (0_usize..4, prop::sample::select(vec![LineOrder::Oldest, LineOrder::Newest, LineOrder::Largest])),
    ) {
        let (Ok(query), Some(rows)) = (requested(&request), oracle_rows(&tables, &request)) else { return Ok(()) };
        let (many, one) = (dataset(&tables, 3), dataset(&tables, 10_000));
        for row in rows {
            let question = question(&query, &row).order(order);
            let (all, limited) = (why(&one, &question), why(&many, &question.clone().limit(limit)));
            prop_assert_eq!(lines(&why(&many, &question)), lines(&all));
            prop_assert_eq!(&limited.metrics, &all.metrics);
            for (limited_to, whole) in limited.measures.iter().zip(&all.measures) {
                prop_assert_eq!((limited_to.measure, limited_to.lines, limited_to.sum), (whole.measure, whole.lines, whole.sum));
                let name = limited_to.measure.name();
                let is_of = |row: &usize| text(limited.lines(), *row, "measure") == name;
                prop_assert_eq!(limited_to.listed, (0..limited.lines().len()).filter(is_of).count() as u64);
            }
            prop_assert_eq!(limited.measures.len(), all.measures.len());
            let mut left: BTreeMap<String, usize> = BTreeMap::new();
            let all = all.lines();
            let texts = all.rows().map(|row| row.values().map(|(_, value)| format!("{value:?}")).collect::<Vec<_>>().join(" "));
            let is_listed = |row: usize| {
                let listed = left.entry(text(all, row, "measure")).or_default();
                *listed += 1;
                *listed <= limit
            };
            let listed = (0..all.len()).map(is_listed).collect::<Vec<_>>();
            let expected: Vec<String> = texts.zip(listed).filter(|(_, listed)| *listed).map(|(line, _)| line).collect();
            prop_assert_eq!(lines(&limited), expected);
        }
    }

    /// A row is explained if and only if the answer has it.
    #[test]
    fn rows_that_the_answer_does_not_have_are_refused((tables, request) in any_case(), emptied in any::<prop::sample::Index>()) {
        let (Ok(query), Some(rows)) = (requested(&request), oracle_rows(&tables, &request)) else { return Ok(()) };
        let unfiltered = Request { filters: Vec::new(), filter: Vec::new(), ..request.clone() };
        let dataset = dataset(&tables, 7);
        let key = |row: &JsonRow| -> BTreeMap<String, String> {
            let values = row.iter().filter(|(name, _)| !is_metric(name));
            values.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
        };
        let present: BTreeSet<_> = rows.iter().map(key).collect();
        for row in oracle_rows(&tables, &unfiltered).unwrap() {
            let mut other = row.clone();
            let dimensions = row.keys().filter(|name| !is_metric(name) && *name != "start" && *name != "end");
            let dimensions: Vec<&String> = dimensions.collect();
            if !dimensions.is_empty() {
                other.insert((*emptied.get(&dimensions)).clone(), "".into());
            }
            for row in [row, other] {
                match dataset.why(&question(&query, &row), Execution::default()) {
                    Ok(_) => prop_assert!(present.contains(&key(&row)), "explained {:?}", row),
                    Err(Error::Query(QueryError::Row(WhyRowFault::NoSuchRow { .. }))) => {
                        prop_assert!(!present.contains(&key(&row)), "refused {:?}", row);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
}

#[test]
fn a_question_that_no_lines_can_answer_is_refused() {
    let dataset = Dataset::from_tables(&trueup_core::dataset::Tables::default()).unwrap();
    let query =
        EventsQuery::new(["campaign", "leads", "spend"], "2025-01-01".parse().unwrap(), "2025-03-31".parse().unwrap());
    let months = query.clone().interval(Interval::Month);
    let percentile = EventsQuery::new(["medianDaysLeadToSold"], query.range().start, query.range().end);
    let of = |query: &EventsQuery, row: &[(&str, &str)]| {
        let question = WhyQuery::new(query.clone());
        row.iter().fold(question, |question, (column, value)| question.value(*column, *value))
    };
    let refused = |question: WhyQuery| dataset.why(&question, Execution::default()).unwrap_err().to_string();
    for (question, expected) in [
        (
            of(&query, &[]),
            "expected a value for each column by which a row of the answer is known (`campaign`), but `campaign` has none",
        ),
        (of(&query, &[("zip", "1")]), "a row of the answer is known by `campaign`, not by `zip`"),
        (of(&query, &[("campaign", "a"), ("campaign", "b")]), "two values are given for `campaign`: `a` and `b`"),
        (
            of(&months, &[("campaign", "a")]),
            "expected a value for each column by which a row of the answer is known (`start`, `campaign`), but `start` has none",
        ),
        (
            of(&months, &[("campaign", "a"), ("start", "2025-02-02")]),
            "expected the first day of a sub-range between 2025-01-01 and 2025-03-31, but found `2025-02-02`",
        ),
        (
            of(&months, &[("campaign", "a"), ("start", "2025-02-01"), ("end", "2025-03-31")]),
            "expected the last day of a sub-range between 2025-01-01 and 2025-03-31, but found `2025-03-31`",
        ),
        (
            of(&query, &[("campaign", "a")]).metric("bookRate"),
            "expected one of the metrics of the query (`leads`, `spend`), but found `bookRate`",
        ),
        (
            of(&percentile, &[]),
            "`medianDaysLeadToSold` is a percentile, not a sum of what single customers add; add the average of these days to \
             the query and explain that: its lines are the days of each customer",
        ),
        (
            of(&query, &[("campaign", "Drains")]),
            "the answer has no row with campaign = `Drains`, days from 2025-01-01 to 2025-03-31",
        ),
    ] {
        assert_eq!(refused(question), expected);
    }
}

fn repeated(text: &str, rows: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, rows)))
}

#[test]
fn a_row_of_a_query_with_the_most_operands_is_explained() {
    let events = RecordBatch::try_from_iter([
        ("account", repeated("a", 1)),
        ("opportunityId", repeated("1", 1)),
        ("type", repeated("lead-originated", 1)),
        ("date", repeated("2025-01-01", 1)),
        ("campaign", repeated("Drains", 1)),
    ]);
    let tables = CanonicalTables { events: vec![events.unwrap()], ..CanonicalTables::default() };
    let dataset = Dataset::from_tables(&tables).unwrap();
    let day = "2025-01-01".parse().unwrap();
    let of = |operands: usize| {
        let others = (1..operands).map(|number| Filter::equals("campaign", number.to_string()));
        let filter = Filter::Any(others.chain([Filter::equals("campaign", "Drains")]).collect());
        let query = EventsQuery::new(["campaign", "leads"], day, day).filter(filter);
        dataset.why(&WhyQuery::new(query).value("campaign", "Drains"), Execution::default())
    };
    let why = of(MAX_FILTER_OPERANDS).unwrap();
    assert_eq!((why.metrics[0].value, why.total_lines()), (Value::Count(1), 1));
    assert!(matches!(of(MAX_FILTER_OPERANDS + 1), Err(Error::Query(QueryError::Filter { .. }))));
}

/// Explains a metric of January. Returns the most bytes that the explanation took.
fn peak(dataset: &Dataset, metric: &str, limit: Option<usize>) -> usize {
    let days = ["2025-01-01", "2025-01-31"].map(|day| day.parse().unwrap());
    let question = WhyQuery::new(EventsQuery::new([metric], days[0], days[1]));
    let question = limit.into_iter().fold(question, WhyQuery::limit);
    let budget = MemoryBudget::new(1 << 30);
    let memory = Some(Arc::new(budget.reserve(0).unwrap()));
    drop(dataset.why(&question, Execution { memory, ..Execution::default() }).unwrap());
    assert_eq!(budget.held(), 0);
    budget.peak()
}

#[test]
fn lines_of_spend_take_memory() {
    let spend = RecordBatch::try_from_iter([
        ("account", repeated("a", 100)),
        ("date", repeated("2025-01-01", 100)),
        ("campaign", repeated(&"x".repeat(1_000), 100)),
        ("clicks", Arc::new(Int64Array::from(vec![1; 100])) as ArrayRef),
    ]);
    let tables = CanonicalTables { spend: vec![spend.unwrap()], ..CanonicalTables::default() };
    let bytes = peak(&Dataset::from_tables(&tables).unwrap(), "clicks", None);
    assert!(bytes > 100_000, "{bytes}");
}

#[test]
fn the_ids_of_a_row_group_with_a_listed_line_take_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (input, into) = (folder.path().join("events.parquet"), folder.path().join("dataset"));
    let ids = Arc::new(StringArray::from_iter_values((0..500).map(|row| format!("{row:01000}")))) as ArrayRef;
    let events = RecordBatch::try_from_iter([
        ("account", repeated("a", 500)),
        ("opportunityId", ids.clone()),
        ("type", repeated("lead-originated", 500)),
        ("date", repeated("2025-01-01", 500)),
        ("eventId", ids),
    ]);
    write(&input, &events.unwrap(), 500);
    Ingest::into(&into).events(input).run().unwrap();
    let bytes = peak(&Dataset::open(into).unwrap(), "leads", Some(1));
    assert!(bytes > 1_000_000, "{bytes}");
}
