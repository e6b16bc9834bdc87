//! Joins with what the dataset holds.

use crate::case::{Case, LOCK_WAIT};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};
use trueup_ingest::{Ingest, IngestSummary};

const JOBS: &str = "[input.jobs]\nfile = \"jobs*.csv\"\n[[events]]\nfrom = \"jobs\"\nrecord = \"Job\"\nkeep = [\"Zip\"]\n\
    columns = { account = \"Branch\", opportunityId = \"Customer\" }\n[events.stages]\nbooked = { date = \"Booked\" }\n\
    sold = { date = \"Sold\" }\n";

fn invoices(join: &str, customer: &str) -> String {
    format!(
        "[input.invoices]\nfile = \"invoices*.csv\"\n[[events]]\nfrom = \"invoices\"\njoin = [{join}]\n[events.columns]\n\
         account = \"Branch\"\nopportunityId = {customer}\neventId = \"No\"\ntype = {{ value = \"closed\" }}\ndate = \"Day\"\n\
         total = \"Amount\"\n"
    )
}

/// Ingests jobs, and then invoices through another mapping. Returns what became of the invoices.
fn ingested(case: &Case, mapping: &str, rows: &str) -> Result<IngestSummary, String> {
    let write = |name: &str, text: &str| {
        std::fs::write(case.path(name), text).unwrap();
        case.path(name)
    };
    let jobs = "Job,Branch,Customer,Zip,Booked,Sold\n7,oak,ann,85001,2025-01-02,2025-01-03\n8,oak,bob,85002,2025-01-02,\n\
                7,elm,cat,85003,2025-01-02,\n";
    let first = Ingest::into(case.path("dataset")).wait(LOCK_WAIT).mapping(case.path("mapping.toml"));
    first.events(write("jobs.csv", jobs)).run().unwrap();
    let invoices = write("invoices.csv", &format!("No,Branch,Job,Day,Amount\n{rows}"));
    let second = Ingest::into(case.path("dataset")).wait(LOCK_WAIT).mapping(write("invoices.toml", mapping));
    second.events(invoices).run().map_err(|error| error.to_string())
}

/// Returns the customers of closed events, each with its amount.
fn closed(case: &Case) -> Vec<(String, i128)> {
    let query =
        EventsQuery::new(["opportunityId", "total"], "2025-02-01".parse().unwrap(), "2025-02-28".parse().unwrap());
    let table = Dataset::open(case.path("dataset")).unwrap().query(&query).unwrap();
    let row = |row: usize| match (table.value(row, "opportunityId"), table.value(row, "total")) {
        (Some(Value::Text(customer)), Some(Value::Money(micros))) => (customer.to_owned(), micros / 1_000_000),
        other => panic!("{other:?}"),
    };
    (0..table.len()).map(row).collect()
}

const ROWS: &str = "i1,oak,7,2025-02-01,100\ni2,oak,8,2025-02-02,200\ni3,elm,7,2025-02-03,300\n";

#[test]
fn an_invoice_finds_the_customer_of_a_job_of_last_month() {
    let join =
        "{ stored = true, source = \"jobs\", on = { Branch = \"account\", Job = \"record\" }, unmatched = \"refuse\" }";
    let case = Case::new(JOBS);
    // Job 7 has two events, and one customer.
    assert_eq!(ingested(&case, &invoices(join, "\"stored.opportunityId\""), ROWS).unwrap().events.taken, 3);
    assert_eq!(closed(&case), [("ann".to_owned(), 100), ("bob".to_owned(), 200), ("cat".to_owned(), 300)]);
    let refused = ingested(&case, &invoices(join, "\"stored.opportunityId\""), "i4,oak,9,2025-02-01,1\n").unwrap_err();
    assert!(
        refused.contains("line 2, column `Branch, Job`: expected a row of the dataset with the same key"),
        "{refused}"
    );
}

#[test]
fn dimensions_and_names_of_ones_own_join_too() {
    let join = "{ stored = true, as = \"job\", on = { Job = \"Zip\" }, unmatched = \"keep\" }";
    let case = Case::new(JOBS);
    let mapping = invoices(join, "{ column = \"job.opportunityId\", otherwise = \"Job\" }");
    ingested(&case, &mapping, "i1,oak,85002,2025-02-01,5\ni2,oak,85009,2025-02-01,6\n").unwrap();
    assert_eq!(closed(&case), [("85009".to_owned(), 6), ("bob".to_owned(), 5)]);
}

#[test]
fn a_key_with_two_customers_is_refused_unless_it_may_have_many() {
    let join = "{ stored = true, source = \"jobs\", on = { Job = \"record\" }, unmatched = \"keep\" }";
    let case = Case::new(JOBS);
    let refused = ingested(&case, &invoices(join, "\"stored.opportunityId\""), ROWS).unwrap_err();
    assert!(
        refused.contains(
            "the dataset has 2 different rows with this key; add `account` to `on` if accounts share such keys; with `many = true`, a row \
             with the key counts once for each"
        ),
        "{refused}"
    );
    let many = join.replace("unmatched", "many = true, unmatched");
    let mapping = invoices(&many, "\"stored.opportunityId\"").replace("eventId = \"No\"\n", "");
    ingested(&case, &mapping, "i1,oak,7,2025-02-01,100\n").unwrap();
    assert_eq!(closed(&case).len(), 2);
}

#[test]
fn columns_of_a_single_event_cannot_be_joined() {
    let case = Case::new(JOBS);
    let mapping = |key: &str, customer: &str| {
        let join = format!("{{ stored = true, source = \"jobs\", on = {{ Job = \"{key}\" }}, unmatched = \"keep\" }}");
        invoices(&join, customer)
    };
    let refused = ingested(&case, &mapping("record", "\"stored.date\""), ROWS).unwrap_err();
    assert!(
        refused.contains(
            "key `events[0].join[0]`, value `date`: a join takes only these columns of stored events: account, opportunityId, eventId, source, \
             record, Zip"
        ),
        "{refused}"
    );
    assert!(ingested(&case, &mapping("zip", "\"Job\""), ROWS).unwrap_err().contains("value `zip`"));
    let both = mapping("record", "\"Job\"").replace("stored = true", "stored = true, input = \"invoices\"");
    assert!(ingested(&case, &both, ROWS).unwrap_err().contains("expected `input`, or `stored = true`"));
    let neither = mapping("record", "\"Job\"").replace("stored = true, source = \"jobs\", ", "");
    assert!(ingested(&case, &neither, ROWS).unwrap_err().contains("expected `input`, or `stored = true`"));
}

/// The invoice of a job that was not known was left out. Once the job is, it would come in.
#[test]
fn what_the_dataset_holds_for_a_join_is_part_of_a_batch() {
    let join =
        "{ stored = true, source = \"jobs\", on = { Branch = \"account\", Job = \"record\" }, unmatched = \"drop\" }";
    let case = Case::new(JOBS);
    let mapping = invoices(join, "\"stored.opportunityId\"").replace("eventId = \"No\"\n", "");
    let rows = "i1,oak,7,2025-02-01,100\ni2,oak,9,2025-02-02,200\n";
    assert_eq!(ingested(&case, &mapping, rows).unwrap().events.taken, 1);
    assert!(!ingested(&case, &mapping, rows).unwrap().changed);
    let jobs = case.path("jobs-9.csv");
    std::fs::write(&jobs, "Job,Branch,Customer,Zip,Booked,Sold\n9,oak,dan,85001,2025-01-05,\n").unwrap();
    let third = Ingest::into(case.path("dataset")).wait(LOCK_WAIT).mapping(case.path("mapping.toml"));
    third.events(jobs).run().unwrap();
    let refused = ingested(&case, &mapping, rows).unwrap_err();
    assert!(
        refused.starts_with(
            "`invoices.csv` was ingested before, as version 2: what the dataset holds for the join `events[0].join[0]` \
             changed; "
        ),
        "{refused}"
    );
    assert_eq!(closed(&case), [("ann".to_owned(), 100)]);
}

/// In the first month the dataset holds nothing.
#[test]
fn a_dataset_without_events_has_no_rows_to_join() {
    let join = "{ stored = true, on = { Job = \"Zip\" }, unmatched = \"keep\" }";
    let case = Case::new(&invoices(join, "{ column = \"stored.opportunityId\", otherwise = \"Job\" }"))
        .file("invoices.csv", format!("No,Branch,Job,Day,Amount\n{ROWS}"));
    assert_eq!(case.ingest().run().unwrap().events.taken, 3);
    assert!(case.refusal().contains("only an ingest knows what the dataset holds"));
}

/// Invoice 7 is another customer's than job 7.
#[test]
fn a_record_is_that_of_one_source() {
    let join = |source: &str| {
        let on = "{ Branch = \"account\", Job = \"record\" }";
        format!("{{ stored = true, {source}on = {on}, unmatched = \"refuse\" }}")
    };
    let mapping = |source: &str| {
        let invoices = invoices(&join(source), "\"stored.opportunityId\"");
        invoices.replace("[events.columns]", "record = \"No\"\n[events.columns]")
    };
    let case = Case::new(JOBS);
    let refused = ingested(&case, &mapping(""), ROWS).unwrap_err();
    assert!(
        refused.contains(
            "key `events[0].join[0].on`, value `record`: another source may have a record of the same name; write `source = \"...\"` into \
             this join: the name of the input whose records are joined, or the `source` of its table"
        ),
        "{refused}"
    );
    // The first one becomes record 7 of the invoices, with the customer of job 8.
    ingested(&case, &mapping("source = \"jobs\", "), "7,oak,8,2025-02-01,100\n").unwrap();
    ingested(&case, &mapping("source = \"jobs\", "), "i2,oak,7,2025-02-02,200\n").unwrap();
    assert_eq!(closed(&case), [("ann".to_owned(), 200), ("bob".to_owned(), 100)]);
    let of_input = join("source = \"jobs\", ").replace("stored = true", "input = \"invoices\", as = \"other\"");
    let refused = ingested(&case, &invoices(&of_input, "\"Job\""), ROWS).unwrap_err();
    assert!(
        refused.contains("`events[0].join[0].source`: only a join with `stored = true` can have this key"),
        "{refused}"
    );
}
