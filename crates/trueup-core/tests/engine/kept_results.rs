//! Results that are kept of earlier queries: whatever happens to a dataset in between, a query gives the answer of a
//! dataset that has just been opened.

use crate::comparison::{engine_earlier, has_days};
use crate::disk::{demo, demo_settings, ingest_settings, on_disk, supersede, with_distinct_events, write};
use crate::run::{Refused, ask, dataset, requested_of};
use arrow_array::RecordBatch;
use proptest::prelude::*;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use trueup_core::dataset::{Dataset, ResultCacheCounts, Tables as CanonicalTables};
use trueup_core::definitions::Definitions;
use trueup_core::query::{Attribution, CohortWindow, EventsQuery, Filter, Interval, SortKey, WhyQuery};
use trueup_core::{Day, Execution, MemoryBudget, ResultTable, Value};
use trueup_demo::Generator;
use trueup_ingest::Ingest;
use trueup_testkit::cases::{
    account_batches, case, cohort_case, definitions_case, duration_case, event_batches, spend_batches,
};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{self, Request, Tables};

/// What happens to a dataset between two rounds of questions.
#[derive(Clone, Copy, Debug)]
enum Update {
    /// Some customers and days of spend are superseded, and nothing takes their place.
    Supersede(u32),
    /// Further events are ingested, mostly of customers that have some.
    Events(usize),
    /// Further spend is ingested.
    Spend(usize),
    /// The accounts are ingested with other names and without lead grading.
    Accounts,
    /// Other definitions are used from now on.
    Define,
    /// Everything that is kept is dropped.
    Evict,
    /// Nothing.
    Ask,
}

fn update() -> impl Strategy<Value = Update> {
    prop_oneof![
        3 => any::<u32>().prop_map(Update::Supersede),
        3 => (0_usize..4).prop_map(Update::Events),
        1 => (0_usize..2).prop_map(Update::Spend),
        1 => Just(Update::Accounts),
        1 => Just(Update::Define),
        1 => Just(Update::Evict),
        1 => Just(Update::Ask),
    ]
}

/// Generates tables, some of whose rows come with updates, two sets of definitions, and requests.
fn tables_and_requests() -> impl Strategy<Value = (Tables, [oracle::Definitions; 2], Vec<Request>)> {
    let others = prop_oneof![
        case().prop_map(|(_, request)| request).boxed(),
        cohort_case().prop_map(|(_, request)| request).boxed(),
        duration_case().prop_map(|(_, request)| request).boxed(),
    ];
    let defined = definitions_case().prop_map(|(_, _, definitions)| definitions);
    let cases = (definitions_case().boxed(), defined.boxed(), prop::collection::vec(others, 1..4));
    cases.prop_map(|((tables, request, definitions), other, others)| {
        let of_tables = |other: Request| Request { start: request.start, end: request.end, ..other };
        let others = others.into_iter().map(of_tables);
        (tables, [definitions, other], std::iter::once(request.clone()).chain(others).collect())
    })
}

/// Returns a request in forms of which some share a result: plain, sorted and limited, with totals, and compared.
fn forms(definitions: &Definitions, request: &Request) -> Vec<Result<EventsQuery, Refused>> {
    let asked = requested_of(definitions, request);
    let metric = request.fields.iter().find(|name| trueup_core::dictionary::metric(name).is_some());
    let sorted = |query: EventsQuery| match metric {
        Some(name) => query.sort(SortKey::descending(name)).limit(2),
        None => query.limit(2),
    };
    let earlier = oracle::Earlier::PreviousPeriod;
    let compared = |query: EventsQuery| query.compare(engine_earlier(earlier));
    let is_comparable = request.interval == "total" && asked.is_ok() && has_days(request, earlier);
    let mut forms = vec![asked.clone(), asked.clone().map(sorted), asked.clone().map(EventsQuery::totals)];
    forms.extend(is_comparable.then(|| asked.map(compared)));
    forms
}

/// Returns what a dataset answers to requests, each in all its forms.
fn answers(dataset: &Dataset, requests: &[Request], execution: &Execution) -> Vec<Result<ResultTable, Refused>> {
    let queries = requests.iter().flat_map(|request| forms(dataset.definitions(), request));
    queries.map(|query| ask(dataset, &query?, execution.clone())).collect()
}

/// Returns the rows of a batch of which `is_taken` holds, given their numbers.
fn rows(batch: &RecordBatch, is_taken: impl Fn(usize) -> bool) -> RecordBatch {
    let taken = (0..batch.num_rows()).map(|row| Some(is_taken(row))).collect();
    arrow_select::filter::filter_record_batch(batch, &taken).unwrap()
}

/// Ingests rows into a dataset that has others.
fn ingest_more(folder: &Path, batch: &RecordBatch, into: impl FnOnce(Ingest, &Path) -> Ingest) {
    let path = folder.join("more.parquet");
    write(&path, batch, 1_000);
    into(Ingest::into(folder.join("dataset")), &path).run().unwrap();
}

/// Updates the dataset in a folder.
fn apply(update: Update, folder: &Path, tables: &Tables) {
    match update {
        Update::Supersede(number) => supersede(&folder.join("dataset"), &|account, key| {
            let sum = account
                .bytes()
                .chain(key.bytes())
                .fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            sum % 12 == number % 12
        }),
        Update::Events(part) => {
            let batch = rows(&event_batches(tables)[0], |row| row % 8 == 2 * part + 1);
            ingest_more(folder, &batch, |ingest, path| ingest.events(path));
        }
        Update::Spend(part) => {
            let batch = rows(&spend_batches(tables)[0], |row| row % 4 == 2 * part + 1);
            ingest_more(folder, &batch, |ingest, path| ingest.spend(path));
        }
        Update::Accounts => {
            let mut tables = tables.clone();
            for account in &mut tables.accounts {
                account.account_name = account.account_name.take().map(|name| name + " Inc.");
                account.lead_grading = !account.lead_grading;
            }
            ingest_more(folder, &account_batches(&tables)[0], |ingest, path| ingest.accounts(path));
        }
        Update::Define | Update::Evict | Update::Ask => {}
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_kept_result_changes_no_byte(
        (tables, definitions, requests) in tables_and_requests(),
        settings in ingest_settings(),
        updates in prop::collection::vec(update(), 1..6),
        (results, columns) in (
            prop::sample::select(vec![9_000_usize, 60_000, 1 << 30]),
            prop::sample::select(vec![0_usize, 5_000, 1 << 30]),
        ),
        (threads, keeps_all) in (1_usize..=2, any::<bool>()),
    ) {
        let tables = with_distinct_events(tables);
        let folder = tempfile::tempdir().unwrap();
        let mut first = tables.clone();
        let mut number = 0..;
        first.events.retain(|_| number.next().is_none_or(|row: usize| row.is_multiple_of(2)));
        let mut number = 0..;
        first.spend.retain(|_| number.next().is_none_or(|row: usize| row.is_multiple_of(2)));
        let memory = MemoryBudget::new(1 << 30);
        let opened = on_disk(folder.path(), &first, &settings);
        let definitions = definitions.map(|definitions| Definitions::parse(&definitions.toml()).unwrap());
        let mut defined = &definitions[0];
        // Definitions may need columns that only an update brings.
        let with = |dataset: Dataset, definitions: &Definitions| {
            let suits = Dataset::open(folder.path().join("dataset")).unwrap().with_definitions(definitions.clone()).is_ok();
            dataset.with_definitions(if suits { definitions.clone() } else { Definitions::default() }).unwrap()
        };
        let mut dataset = with(opened.with_result_budget(results).with_column_budget(columns), defined);
        dataset.count_columns_against(&memory);
        let execution = || Execution {
            threads: NonZeroUsize::new(threads),
            memory: Some(Arc::new(memory.reserve(0).unwrap())),
            ..Execution::default()
        };
        let mut versions = Vec::new();
        for update in std::iter::once(Update::Ask).chain(updates) {
            apply(update, folder.path(), &tables);
            match update {
                Update::Define => defined = &definitions[1],
                Update::Evict => dataset = dataset.with_result_budget(0).with_result_budget(results),
                _ => {}
            }
            let next = dataset.reopen().unwrap();
            if let Some(next) = next {
                next.count_columns_against(&memory);
                if keeps_all {
                    let computed = Execution { reuse: false, ..Execution::default() };
                    let expected = answers(&dataset, &requests, &computed);
                    versions.push((std::mem::replace(&mut dataset, next), expected));
                } else {
                    dataset = next;
                }
            }
            dataset = with(dataset, defined);
            let fresh = with(Dataset::open(folder.path().join("dataset")).unwrap(), defined);
            let expected = answers(&fresh, &requests, &Execution::default());
            let both = thread::scope(|scope| {
                let ask = || scope.spawn(|| answers(&dataset, &requests, &execution()));
                [ask(), ask()].map(|asked| asked.join().unwrap())
            });
            prop_assert_eq!(&both[0], &expected);
            prop_assert_eq!(&both[1], &expected);
            drop(both);
            prop_assert_eq!(&answers(&dataset, &requests, &execution()), &expected);
            prop_assert!(dataset.held_result_bytes() <= results);
            prop_assert_eq!(memory.held(), dataset.held_result_bytes() + dataset.held_column_bytes());
        }
        // Earlier versions find the results of later ones.
        for (dataset, expected) in versions.iter().rev().chain(&versions) {
            prop_assert_eq!(&answers(dataset, &requests, &execution()), expected);
        }
    }
}

/// Returns a query of all days of a dataset.
fn query(dataset: &Dataset, fields: &[&str]) -> EventsQuery {
    let days = dataset.date_range().unwrap();
    EventsQuery::new(fields.iter().copied(), days.start, days.end).allow_long_total()
}

/// Returns how often results were reused, updated, and computed.
fn counts(dataset: &Dataset) -> [u64; 3] {
    let ResultCacheCounts { reused, updated, computed, .. } = dataset.result_cache_counts();
    [reused, updated, computed]
}

const QUESTIONS: [&[&str]; 5] = [
    &["leads", "total", "bookRate"],
    &["campaign", "leads", "closedRevenue", "spend"],
    &["account", "date", "customers", "medianDaysLeadToClosed", "gradedConversions"],
    &["opportunityId", "eventCount", "opportunityCount", "estimatedRevenue"],
    &["adjustedType", "zip", "avgConversionsPerLead"],
];

#[test]
fn after_an_update_only_rows_that_differ_are_read() {
    let folder = demo();
    let at = folder.path().join("dataset");
    let mut dataset = Dataset::open(&at).unwrap().with_result_budget(1 << 30);
    let asked: Vec<EventsQuery> = QUESTIONS.iter().map(|fields| query(&dataset, fields)).collect();
    for query in &asked {
        dataset.query(query).unwrap();
    }
    assert_eq!(counts(&dataset), [0, 0, 5]);
    let rows = Generator::new(demo_settings()).unwrap().events().next().unwrap().unwrap();
    for update in 1..=3_u64 {
        // The events lead to customers in several row groups, whose histories are written to a new file.
        let from = usize::try_from(update).unwrap() * 1_000;
        ingest_more(folder.path(), &rows.slice(from, 30), |ingest, path| ingest.events(path));
        supersede(&at, &|account, key| account.bytes().chain(key.bytes()).map(u64::from).sum::<u64>() % 97 == update);
        dataset = dataset.reopen().unwrap().unwrap();
        let fresh = Dataset::open(&at).unwrap();
        for query in &asked {
            assert_eq!(dataset.query(query).unwrap(), fresh.query(query).unwrap());
        }
        assert_eq!(counts(&dataset), [0, update * 5, 5]);
    }
    // Agents are not subtracted.
    let agents = query(&dataset, &["campaign", "opportunityAgents"]);
    dataset.query(&agents).unwrap();
    supersede(&at, &|account, key| account.bytes().chain(key.bytes()).map(u64::from).sum::<u64>() % 97 == 50);
    dataset = dataset.reopen().unwrap().unwrap();
    assert_eq!(dataset.query(&agents).unwrap(), Dataset::open(&at).unwrap().query(&agents).unwrap());
    assert_eq!(counts(&dataset), [0, 15, 7]);
}

#[test]
fn questions_that_aggregate_the_same_share_a_result() {
    let folder = demo();
    let dataset = Dataset::open(folder.path().join("dataset")).unwrap().with_result_budget(1 << 30);
    let first = query(&dataset, &["campaign", "leads", "closedRevenue"]);
    let answer = dataset.query(&first).unwrap();
    assert_eq!(counts(&dataset), [0, 0, 1]);
    // What is made of the groups differs, and so does what is refused.
    let sorted = first.clone().sort(SortKey::descending("leads")).limit(1);
    assert_eq!(dataset.query(&sorted).unwrap().len(), 1);
    assert_eq!(dataset.query(&first.clone().exact_ratios()).unwrap(), answer);
    assert_eq!(dataset.query(&first.clone().allow_unknown(true)).unwrap(), answer);
    assert_eq!(dataset.query(&first.clone().allow_mixed_currencies(true)).unwrap(), answer);
    assert_eq!(counts(&dataset), [4, 0, 1]);
    // The rows of a query with totals are found, and its totals are not.
    dataset.query(&first.clone().totals()).unwrap();
    assert_eq!(counts(&dataset), [5, 0, 2]);
    // The row is asked for with conditions of its own.
    let Some(Value::Text(campaign)) = answer.value(0, "campaign") else { panic!("no campaign") };
    dataset.why(&WhyQuery::new(first.clone()).value("campaign", campaign), Execution::default()).unwrap();
    assert_eq!(counts(&dataset), [5, 0, 3]);
    // An explanation measures what a query takes.
    dataset.analyze(&first, Execution::default()).unwrap();
    dataset.run(&first, Execution { reuse: false, ..Execution::default() }).unwrap();
    assert_eq!(counts(&dataset), [5, 0, 3]);
    assert!(dataset.run(&first, Execution { max_rows: Some(1), ..Execution::default() }).is_err());
}

#[test]
fn whatever_decides_a_result_is_part_of_its_key() {
    let folder = demo();
    let at = folder.path().join("dataset");
    let open = || Dataset::open(&at).unwrap();
    let days = open().date_range().unwrap();
    let first = EventsQuery::new(["customerStatus", "leads"], days.start, days.start);
    let account = open().account_keys().unwrap().first().unwrap().clone();
    let filter = |value| first.clone().filter(Filter::equals("campaign", value));
    let variants = [
        first.clone(),
        EventsQuery::new(["leads"], days.start, days.start),
        EventsQuery::new(["customerStatus", "customers"], days.start, days.start),
        EventsQuery::new(["campaign", "leads"], days.start, days.start),
        EventsQuery::new(["customerStatus", "leads"], days.start, days.end).allow_long_total(),
        EventsQuery::new(["customerStatus", "leads"], days.end, days.end),
        first.clone().interval(Interval::Day),
        first.clone().interval(Interval::Week),
        first.clone().accounts([account]),
        first.clone().accounts(Vec::<String>::new()),
        filter("a"),
        filter("b"),
        first.clone().filter(Filter::equals("bookRate", "1")),
        first.clone().cohort(CohortWindow::All),
        first.clone().cohort(CohortWindow::Days(1)),
        first.clone().cohort(CohortWindow::Days(2)),
        first.clone().attribution(Attribution::First),
        first.clone().attribution(Attribution::Last),
    ];
    let mut dataset = open().with_result_budget(1 << 30);
    for (asked, query) in (1..).zip(&variants) {
        assert_eq!(dataset.query(query).unwrap(), open().query(query).unwrap(), "{query:?}");
        assert_eq!(counts(&dataset), [0, 0, asked], "{query:?}");
    }
    let computed = u64::try_from(variants.len()).unwrap();
    for query in &variants {
        dataset.query(query).unwrap();
    }
    assert_eq!(counts(&dataset), [computed, 0, computed]);
    // What the dataset says: definitions, accounts, and columns.
    for (text, more) in
        [("", 0), ("[[metric]]\nname = \"net\"\nnumerator = [\"closedRevenue\", \"-spend\"]", 1), ("", 1)]
    {
        dataset = dataset.with_definitions(Definitions::parse(text).unwrap()).unwrap();
        dataset.query(&first).unwrap();
        assert_eq!(counts(&dataset)[2], computed + more, "{text}");
    }
    let accounts =
        account_batches(&Tables { accounts: vec![oracle::AccountRow::defaults("north")], ..Tables::default() });
    ingest_more(folder.path(), &accounts[0], |ingest, path| ingest.accounts(path));
    dataset = dataset.reopen().unwrap().unwrap();
    dataset.query(&first).unwrap();
    assert_eq!(counts(&dataset)[2], computed + 2);
}

#[test]
fn results_stay_within_their_budget_and_within_that_of_everything() {
    let folder = demo();
    let open = || Dataset::open(folder.path().join("dataset")).unwrap();
    let all = open().with_result_budget(1 << 30);
    let (days, expected) = (all.date_range().unwrap(), open());
    let queries: Vec<EventsQuery> = (0..30)
        .map(|number| {
            let start = Day::from_number(days.start.number() + number);
            EventsQuery::new(["opportunityId", "campaign", "leads"], start, days.end).allow_long_total()
        })
        .collect();
    for query in &queries {
        all.query(query).unwrap();
    }
    let bytes = all.held_result_bytes();
    let limited = open().with_result_budget(bytes / 3);
    // A query takes about half as much as all results.
    let memory = MemoryBudget::new(bytes / 2 * 3);
    let shared = open().with_result_budget(bytes * 2).with_column_budget(bytes / 8);
    shared.count_columns_against(&memory);
    let run = |dataset: &Dataset, query| {
        let reservation = Some(Arc::new(memory.reserve(0).unwrap()));
        dataset.run(query, Execution { memory: reservation, ..Execution::default() }).unwrap()
    };
    for query in queries.iter().chain(queries.iter().rev()) {
        let answer = expected.query(query).unwrap();
        assert_eq!(limited.query(query).unwrap(), answer);
        assert!(limited.held_result_bytes() <= bytes / 3);
        assert_eq!(run(&shared, query), answer);
        assert!(memory.peak() <= memory.limit(), "{memory:?}");
        assert_eq!(memory.held(), shared.held_result_bytes() + shared.held_column_bytes());
    }
    assert!(limited.held_result_bytes() > bytes / 6);
    // Most queries, asked in reverse order, find nothing, and the first ones find the last.
    assert!(counts(&limited)[0] > 2 && counts(&limited)[2] > 40, "{:?}", counts(&limited));
    // A query that needs the memory gets it.
    drop(memory.reserve(memory.limit() / 2).unwrap());
    assert!(shared.held_result_bytes() + shared.held_column_bytes() <= memory.limit().div_ceil(2));
    // A result of more than a quarter of the budget is not kept.
    let one = open().with_result_budget(1 << 30);
    one.query(&queries[0]).unwrap();
    let narrow = open().with_result_budget(3 * one.held_result_bytes());
    narrow.query(&queries[0]).unwrap();
    assert_eq!(narrow.held_result_bytes(), 0);
}

#[test]
fn tables_in_memory_keep_results_too() {
    let tables = Tables::default();
    let empty = dataset(&tables, 7).with_result_budget(1 << 20);
    let start = "2025-01-01".parse().unwrap();
    let query = EventsQuery::new(["campaign", "leads", "spend"], start, start);
    assert_eq!(empty.query(&query).unwrap(), empty.query(&query).unwrap());
    assert_eq!(counts(&empty), [1, 0, 1]);
    let off = Dataset::from_tables(&CanonicalTables::default()).unwrap();
    assert_eq!(off.query(&query).unwrap(), off.query(&query).unwrap());
    assert_eq!((counts(&off), off.held_result_bytes()), ([0; 3], 0));
}
