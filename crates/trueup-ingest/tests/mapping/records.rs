//! Events of records, which are replaced together.

use crate::case::{Case, LOCK_WAIT};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};
use trueup_ingest::{Compact, Ingest, IngestSummary};

const JOBS: &str = "[input.jobs]\nfile = \"*.csv\"\n[[events]]\nfrom = \"jobs\"\nrecord = \"Job\"\n\
    columns = { account = \"acct\", opportunityId = \"cust\" }\n[events.stages]\nbooked = { date = \"booked\" }\n\
    sold = { date = \"sold\", total = \"sale\" }\ncanceled = { date = \"canceled\" }\n";

const HEADER: &str = "acct,cust,Job,booked,sold,sale,canceled\n";

/// Returns the events of the dataset: account, customer, stage, day and total, with their number.
fn events(case: &Case) -> Vec<String> {
    let fields = ["account", "opportunityId", "type", "date", "total", "eventCount"];
    let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-12-31".parse().unwrap());
    let table = Dataset::open(case.path("dataset")).unwrap().query(&query.allow_long_total()).unwrap();
    let text = |value: &Value<'_>| match value {
        Value::Text(text) => (*text).to_owned(),
        Value::Money(micros) => (micros / 1_000_000).to_string(),
        other => format!("{other:?}"),
    };
    table.rows().map(|row| row.values().map(|(_, value)| text(&value)).collect::<Vec<_>>().join(" ")).collect()
}

fn ingest(case: &Case, files: &[PathBuf]) -> Ingest {
    let ingest = Ingest::into(case.path("dataset")).mapping(case.path("mapping.toml")).wait(LOCK_WAIT);
    files.iter().fold(ingest, Ingest::events)
}

/// Writes a file of jobs.
fn file(case: &Case, name: &str, rows: &str) -> PathBuf {
    let path = case.path(name);
    std::fs::write(&path, format!("{HEADER}{rows}")).unwrap();
    path
}

fn replaced(summary: &IngestSummary) -> Vec<(String, u64, i128)> {
    let rows = summary.protocol["events"].replaced.iter();
    rows.map(|row| (row.source.clone(), row.totals.rows, row.totals.total / 1_000_000)).collect()
}

#[test]
fn a_later_delivery_of_a_record_removes_what_it_has_no_more() {
    let case = Case::new(JOBS);
    let january = file(
        &case,
        "1.csv",
        "a,x,7,2025-01-02,2025-01-05,500,\na,y,8,2025-01-03,,,\na,z,9,2025-01-04,,,\nb,x,7,2025-01-02,,,\n",
    );
    let first = ingest(&case, &[january]).run().unwrap();
    assert_eq!((first.events.taken, replaced(&first)), (5, vec![]));
    // Job 7 is canceled, job 8 has moved to another customer, job 9 has no date any more, and job 7 of `b` is another.
    let february = file(&case, "2.csv", "a,x,7,,,,2025-02-01\na,w,8,2025-02-03,,,\na,z,9,,,,\n");
    let second = ingest(&case, &[february]).run().unwrap();
    assert_eq!(
        (second.events.taken, second.events.replaced, replaced(&second)),
        (2, 4, vec![("jobs".to_owned(), 4, 500)])
    );
    // Jobs 7 and 9 have not moved: the one has its customer, and the other no events.
    assert_eq!(second.protocol["events"].reassigned, 1);
    let [warning] = second.warnings.as_slice() else { panic!("{:?}", second.warnings) };
    assert!(warning.starts_with("1 stored event was replaced by one of another customer: `y` of `a` became `w`."));
    let left = ["a w booked 2025-02-03 0 Int(1)", "a x canceled 2025-02-01 0 Int(1)", "b x booked 2025-01-02 0 Int(1)"];
    let found = events(&case);
    assert_eq!(found.iter().map(|row| row.replace("Count", "Int")).collect::<Vec<_>>(), left);
    // A file that delivers nothing but a record without events.
    let march = file(&case, "3.csv", "a,x,7,,,,\n");
    let third = ingest(&case, &[march]).run().unwrap();
    assert_eq!((third.changed, third.events.taken, third.events.replaced), (true, 0, 1));
    assert_eq!(events(&case).len(), 2);
}

#[test]
fn a_record_belongs_to_an_account_and_a_source() {
    let case = Case::new(&JOBS.replace("from = \"jobs\"", "from = \"jobs\"\nsource = \"crm\""));
    let rows = "a,x,7,2025-01-02,,,\n";
    ingest(&case, &[file(&case, "1.csv", rows)]).run().unwrap();
    let other = file(&case, "2.csv", "a,x,7,2025-01-03,,,\n");
    ingest(&case, std::slice::from_ref(&other)).source("other").run().unwrap();
    assert_eq!(events(&case).len(), 2);
    let again = ingest(&case, &[other]).source("other").run().unwrap();
    // Nothing identifies these events but their record, so that the file is applied again.
    assert_eq!((again.changed, replaced(&again)), (true, vec![("other".to_owned(), 1, 0)]));
    assert_eq!(events(&case).len(), 2);
}

#[test]
fn the_last_file_of_an_ingest_has_the_record() {
    let case = Case::new(JOBS);
    let files = [
        file(&case, "1.csv", "a,x,7,2025-01-02,2025-01-05,500,\na,y,8,2025-01-03,,,\n"),
        file(&case, "2.csv", "a,x,7,,,,2025-02-01\n"),
    ];
    let summary = ingest(&case, &files).run().unwrap();
    assert_eq!(events(&case).len(), 2);
    let named = |summary: &IngestSummary| {
        let folder = case.path("").display().to_string();
        summary.warnings.iter().map(|warning| warning.replace(&folder, "")).collect::<Vec<_>>()
    };
    assert_eq!(
        named(&summary),
        [
            "`1.csv` and `2.csv` have records in common, and the last one given counts: 2 events of `1.csv` are left out; if `2.csv` \
             is not the newer one, give it first"
        ]
    );
    let protocol = &summary.protocol["events"];
    let left_out = |cause: &str| -> (u64, i128) {
        let totals = protocol.inputs.iter().filter_map(|input| input.left_out.get(cause));
        totals.fold((0, 0), |(rows, total), totals| (rows + totals.rows, total + totals.total / 1_000_000))
    };
    assert_eq!(left_out("record that a later file has"), (2, 500));
    assert_eq!((protocol.read().rows, protocol.taken().rows), (9, 2));
    // In the order of the alphabet, February comes before January.
    std::fs::remove_dir_all(case.path("dataset")).unwrap();
    let [january, february] = files;
    let wrong = ingest(&case, &[february, january]).run().unwrap();
    assert_eq!(
        named(&wrong),
        [
            "`2.csv` and `1.csv` have records in common, and the last one given counts: 1 event of `2.csv` is left out; if `1.csv` is \
             not the newer one, give it first"
        ]
    );
}

#[test]
fn a_join_takes_the_rows_of_the_last_file_that_has_the_record() {
    let join = "join = [{ input = \"jobs\", on = \"Job\", unmatched = \"refuse\" }]";
    let mapping = JOBS.replace("\"*.csv\"", "\"jobs*.csv\"")
        + &format!(
            "[input.invoices]\nfile = \"invoices.csv\"\n[[events]]\nfrom = \"invoices\"\n{join}\n\
             columns = {{ account = \"acct\", opportunityId = \"cust\", type = {{ value = \"closed\" }}, date = \"day\" }}\n"
        );
    let case = Case::new(&mapping);
    std::fs::write(case.path("invoices.csv"), "Job,day\n7,2025-03-01\n8,2025-03-02\n").unwrap();
    // Job 7 moves to another customer, and job 8 is in the first file alone.
    let january = file(&case, "jobs1.csv", "a,x,7,2025-01-02,,,\na,y,8,2025-01-03,,,\n");
    let february = file(&case, "jobs2.csv", "a,z,7,2025-01-02,,,\n");
    let invoices = case.path("invoices.csv");
    for (jobs, customers) in [([&january, &february], ["a y", "a z"]), ([&february, &january], ["a x", "a y"])] {
        let files = jobs.map(Clone::clone).into_iter().chain([invoices.clone()]).collect::<Vec<_>>();
        ingest(&case, &files).run().unwrap();
        let closed = events(&case).into_iter().filter(|row| row.contains("closed 2025-03-0"));
        assert_eq!(closed.map(|row| row[..3].to_owned()).collect::<Vec<_>>(), customers);
        std::fs::remove_dir_all(case.path("dataset")).unwrap();
    }
    // Job 7 of another account is another record, so that nobody knows whose invoice 7 is.
    let of_other = file(&case, "jobs2.csv", "b,z,7,2025-01-02,,,\n");
    let refused = ingest(&case, &[january, of_other, invoices]).run().unwrap_err().to_string();
    assert!(
        refused.contains("value `7`: the input `jobs` has 2 rows with this key; with `many = true`, a row "),
        "{refused}"
    );
}

#[test]
fn a_row_of_a_record_that_conditions_leave_out_delivers_it() {
    let mapping = JOBS.replace("from = \"jobs\"", "from = \"jobs\"\nunless = { sale = \"void\" }");
    let case = Case::new(&mapping);
    ingest(&case, &[file(&case, "1.csv", "a,x,7,2025-01-02,,,\n")]).run().unwrap();
    ingest(&case, &[file(&case, "2.csv", "a,x,7,2025-01-02,,void,\n")]).run().unwrap();
    assert_eq!(events(&case), Vec::<String>::new());
}

#[test]
fn the_account_of_a_record_may_come_from_a_join() {
    let mapping = "[input.log]\nfile = \"log*.csv\"\n[input.branches]\nfile = \"branches.csv\"\n[[events]]\nfrom = \"log\"\n\
        record = { template = \"job {job}\" }\njoin = [{ input = \"branches\", on = \"branch\", unmatched = \"drop\" }]\n\
        columns = { account = \"key\", opportunityId = \"cust\", type = \"stage\", date = \"day\" }\n";
    let case = Case::new(mapping);
    let write = |name: &str, text: &str| {
        std::fs::write(case.path(name), text).unwrap();
        case.path(name)
    };
    let branches = write("branches.csv", "branch,key\noak,a\n");
    let header = "job,branch,cust,stage,day\n";
    let rows = "1,oak,x,booked,2025-01-02\n1,oak,x,sold,2025-01-03\n2,oak,y,sold,2025-01-03\n2,ash,y,sold,2025-01-03\n";
    let first = write("log1.csv", &format!("{header}{rows}"));
    ingest(&case, &[first, branches.clone()]).run().unwrap();
    let second = write("log2.csv", &format!("{header}1,oak,x,canceled,2025-01-04\n2,ash,y,sold,2025-01-03\n"));
    ingest(&case, &[second, branches]).run().unwrap();
    let found = events(&case);
    let names: Vec<&str> = found.iter().map(|row| &row[..13]).collect();
    assert_eq!(names, ["a x canceled ", "a y sold 2025"]);
}

#[test]
fn records_that_would_replace_each_other_are_refused() {
    let two = "[input.a]\nfile = \"a.csv\"\n[input.b]\nfile = \"b.csv\"\n[[events]]\nfrom = \"a\"\nsource = \"crm\"\nrecord = \"n\"\n\
        columns = { account = \"k\", opportunityId = \"n\", type = \"t\", date = \"d\" }\n[[events]]\nfrom = \"b\"\nsource = \"crm\"\n\
        record = \"n\"\ncolumns = { account = \"k\", opportunityId = \"n\", type = \"t\", date = \"d\" }\n";
    let rows = "k,n,t,d\na,1,sold,2025-01-01\n";
    let refused = |mapping: &str| Case::new(mapping).file("a.csv", rows).file("b.csv", rows).refusal();
    assert_eq!(
        refused(two),
        "mapping `mapping.toml`, key `events[1].record`, value `crm`: the input `a` has records of the same source, and the records of \
         each would replace the ones of the other; give the tables a `source` of their own"
    );
    let stages = JOBS.replace("[events.stages]", "[events.stages]\nrecord = \"Job\"");
    assert!(refused(&stages).contains("one of them is enough"));
    let own = JOBS.replace("sold = { ", "sold = { account = \"acct\", ");
    assert!(refused(&own).contains("the stages of a record have one `account`"));
    let unknown = JOBS.replace("record = \"Job\"", "record = \"job\"");
    assert!(refused(&unknown).contains("no input has this column"));
    // Among the stages, the key means the same.
    let among = JOBS.replace("record = \"Job\"\n", "").replace("[events.stages]", "[events.stages]\nrecord = \"Job\"");
    let case = Case::new(&among);
    ingest(&case, &[file(&case, "1.csv", "a,x,7,2025-01-02,,,\n")]).run().unwrap();
    ingest(&case, &[file(&case, "2.csv", "a,x,7,,,,2025-01-02\n")]).run().unwrap();
    assert_eq!(events(&case).len(), 1);
}

/// A row of jobs: account, customer, job (empty for none), and the days of its stages.
type Job = (char, char, u32, [Option<u32>; 3]);

/// An event as the slow model has it: account, customer, job, stage and day, with the number of its row.
type ModelEvent = (char, char, u32, &'static str, u32);

fn deliver(events: &mut Vec<ModelEvent>, jobs: &[Job]) {
    let delivered: BTreeSet<(char, u32)> = jobs.iter().filter(|job| job.2 > 0).map(|job| (job.0, job.2)).collect();
    events.retain(|event| event.2 == 0 || !delivered.contains(&(event.0, event.2)));
    for (account, customer, job, days) in jobs {
        let stages = ["booked", "sold", "canceled"].into_iter().zip(days);
        events.extend(stages.filter_map(|(stage, day)| Some((*account, *customer, *job, stage, (*day)?))));
    }
}

fn job() -> impl Strategy<Value = Job> {
    let day = || prop::option::of(1..28_u32);
    (prop::sample::select(vec!['a', 'b']), prop::sample::select(vec!['x', 'y', 'z']), 0..6_u32, [day(), day(), day()])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Whatever the order, the split into ingests, the size of batches and of row groups, and the memory.
    #[test]
    fn records_are_replaced_as_the_model_does(
        files in prop::collection::vec((prop::collection::vec(job(), 0..12), any::<bool>()), 1..7),
        batch_rows in 1..9_usize,
        group_rows in prop::sample::select(vec![1, 3, 1000]),
        is_small in any::<bool>(),
        is_compacted in any::<bool>(),
    ) {
        let case = Case::new(JOBS);
        let mut expected: Vec<ModelEvent> = Vec::new();
        let mut waiting: Vec<PathBuf> = Vec::new();
        for (number, (jobs, is_last)) in files.iter().enumerate() {
            let day = |day: &Option<u32>| day.map_or_else(String::new, |day| format!("2025-01-{day:02}"));
            let row = |(account, customer, job, [booked, sold, canceled]): &Job| {
                let job = if *job == 0 { String::new() } else { job.to_string() };
                format!("{account},{customer},{job},{},{},5,{}\n", day(booked), day(sold), day(canceled))
            };
            // Each file is new, although events without a record have no id.
            let rows = jobs.iter().map(row).collect::<String>() + &format!("b,n{number},,2025-02-01,,,\n");
            waiting.push(file(&case, &format!("{number}.csv"), &rows));
            deliver(&mut expected, jobs);
            if *is_last || number + 1 == files.len() {
                let memory = if is_small { 0 } else { 1 << 28 };
                let ingest = ingest(&case, &std::mem::take(&mut waiting)).batch_rows(batch_rows).row_group_rows(group_rows);
                ingest.memory(memory).run().unwrap();
                if is_compacted {
                    Compact::new(case.path("dataset")).wait(LOCK_WAIT).run().unwrap();
                }
            }
        }
        let mut counts: BTreeMap<String, (&str, usize)> = BTreeMap::new();
        for (account, customer, _, stage, day) in &expected {
            counts.entry(format!("{account} {customer} {stage} 2025-01-{day:02}")).or_insert((*stage, 0)).1 += 1;
        }
        let row = |(row, (stage, count)): (String, (&str, usize))| {
            format!("{row} {} Count({count})", if stage == "sold" { 5 * count } else { 0 })
        };
        let mut expected: Vec<String> = counts.into_iter().map(row).collect();
        let mut found: Vec<String> = events(&case).into_iter().filter(|row| !row.starts_with("b n")).collect();
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
    }
}
