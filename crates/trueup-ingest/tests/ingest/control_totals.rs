//! The protocol of an ingest: what became of each row, and control totals that add up to the file.

use super::dataset::Case;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use trueup_core::dataset::{ControlTotals, InputProtocol, TableProtocol};
use trueup_ingest::{Forget, IngestSummary};
use trueup_testkit::random::Random;

/// Returns the totals of rows of events, given their amounts in cents.
fn events(amounts: &[i128]) -> ControlTotals {
    ControlTotals { total: amounts.iter().sum::<i128>() * 10_000, ..ControlTotals::of_rows(amounts.len() as u64) }
}

fn only_input<'s>(summary: &'s IngestSummary, table: &str) -> &'s InputProtocol {
    let inputs = &summary.protocol[table].inputs;
    assert_eq!(inputs.len(), 1, "{inputs:?}");
    &inputs[0]
}

/// Returns the replaced rows by source and channel.
fn replaced(table: &TableProtocol) -> BTreeMap<(&str, &str), ControlTotals> {
    table.replaced.iter().map(|row| ((row.source.as_str(), row.channel.as_str()), row.totals)).collect()
}

const HEADER: &str = "account,opportunityId,type,date,eventId,total,source\n";

#[test]
fn each_row_of_a_file_is_taken_left_out_or_rejected() {
    let case = Case::new();
    case.events("before.csv", &format!("{HEADER}a,1,sold,2025-01-01,e1,10.50,crm\na,2,sold,2025-01-01,e2,7,old\n"));
    Forget::new(case.dataset()).customer("a", "9").run().unwrap();
    let file = case.file(
        "rows.csv",
        format!(
            "{HEADER}a,1,sold,2025-01-02,e1,12.25,crm\na,3,sold,2025-01-02,e3,-1.01,crm\na,9,sold,2025-01-02,e9,100,crm\n\
             a,4,sold,2025-13-02,e4,40.40,crm\na,5,sold,2025-01-02,e5,much,crm\na,6,bought,2025-01-02,e6,60,crm\n\
             a,3,sold,2025-01-03,e3,2,crm\na,7\n"
        ),
    );
    let summary = case.ingest().events(file).rejects(case.path("rejects.ndjson")).run().unwrap();
    let input = only_input(&summary, "events");
    assert_eq!((input.input.as_str(), input.mapped_by.as_ref()), ("rows.csv", None));
    assert_eq!(input.taken, events(&[1_225, -101, 200]));
    assert_eq!(input.left_out, BTreeMap::from([("forgotten customer".to_owned(), events(&[10_000]))]));
    let unreadable = ControlTotals { without_amount: 1, ..ControlTotals::of_rows(1) };
    let rules: Vec<(&str, ControlTotals)> =
        input.rejected.iter().map(|(rule, totals)| (rule.split(':').next().unwrap(), *totals)).collect();
    assert_eq!(
        rules,
        [
            ("date", events(&[4_040])),
            ("expected 7 cells as in the header", unreadable),
            ("total", unreadable),
            ("type", events(&[6_000]))
        ]
    );
    // All amounts of the file that are numbers.
    let read = input.read();
    assert_eq!((read.rows, read.without_amount), (8, 2));
    assert_eq!(read.total, events(&[1_225, -101, 10_000, 4_040, 6_000, 200]).total);
    // A stored event, and an earlier row of the file.
    assert_eq!(replaced(&summary.protocol["events"]), BTreeMap::from([(("crm", ""), events(&[1_050, -101]))]));
    assert_eq!((summary.events.taken, summary.events.replaced, summary.events.rejected), (3, 2, 4));
    // It is kept with the version.
    let batches = crate::batches::batches(&case);
    assert_eq!(batches.last().unwrap().protocol, summary.protocol);
    // What is removed with its source does not count as replaced.
    let new = case.file("new.csv", format!("{HEADER}a,2,sold,2025-01-05,e8,1,old\n"));
    let summary = case.ingest().events(new).replace_source("old").run().unwrap();
    assert_eq!(summary.protocol["events"].removed, events(&[700]));
    assert_eq!(replaced(&summary.protocol["events"]), BTreeMap::new());
}

#[test]
fn events_that_were_ingested_before_are_left_out_by_that() {
    let case = Case::new();
    let file = case.file("a.csv", "account,opportunityId,type,date,total\na,1,sold,2025-01-01,3.50\n");
    case.ingest().events(&file).run().unwrap();
    let spend = case.file("spend.csv", "account,date,adSpend,managementFee\na,2025-01-01,5.25,0.75\n");
    let summary = case.ingest().events(&file).spend(spend).run().unwrap();
    let input = only_input(&summary, "events");
    let before = BTreeMap::from([("ingested before, as version 1".to_owned(), events(&[350]))]);
    assert_eq!((input.taken, &input.left_out), (ControlTotals::default(), &before));
    let spend = ControlTotals { ad_spend: 5_250_000, management_fee: 750_000, ..ControlTotals::of_rows(1) };
    assert_eq!(only_input(&summary, "spend").taken, spend);
}

#[test]
fn replaced_spend_is_told_by_source_and_channel() {
    let case = Case::new();
    let header = "account,date,source,attributionChannel,adSpend,managementFee\n";
    let spend = |name: &str, rows: &str| case.ingest().spend(case.file(name, format!("{header}{rows}"))).run().unwrap();
    spend("1.csv", "a,2025-01-01,google,Search,10,1\na,2025-01-01,google,Video,20,\na,2025-01-02,google,Search,30,\n");
    let summary = spend("2.csv", "a,2025-01-01,google,Search,11.5,\n");
    let money = |ad_spend: i128, management_fee: i128| ControlTotals {
        ad_spend: ad_spend * 1_000_000,
        management_fee: management_fee * 1_000_000,
        ..ControlTotals::of_rows(1)
    };
    let expected = BTreeMap::from([(("google", "Search"), money(10, 1)), (("google", "Video"), money(20, 0))]);
    assert_eq!(replaced(&summary.protocol["spend"]), expected);
}

/// Replaces random events several times, in little and in much memory, in one process and in parts of accounts.
#[test]
fn replaced_events_add_up_whatever_the_memory() {
    let mut random = Random::new(7);
    let mut stored: BTreeMap<String, (String, i128)> = BTreeMap::new();
    let cases = [1 << 20, 1 << 30].map(|memory| (Case::new(), memory));
    for round in 0..3 {
        let mut text = HEADER.to_owned();
        let (mut taken, mut expected) = (Vec::new(), BTreeMap::new());
        for _ in 0..20_000 {
            // The rows of an id are of one customer and stage.
            let id = random.below(15_000);
            let (source, cents) = (["crm", "phone", ""][random.index(3)], i128::from(random.below(100_000)));
            writeln!(
                text,
                "a,{},sold,2025-01-0{},e{id},{}.{:02},{source}",
                id % 5_000,
                id % 9 + 1,
                cents / 100,
                cents % 100
            )
            .unwrap();
            taken.push(cents);
            if let Some((source, cents)) = stored.insert(format!("e{id}"), (source.to_owned(), cents)) {
                *expected.entry(source).or_insert_with(ControlTotals::default) += events(&[cents]);
            }
        }
        for (case, memory) in &cases {
            let file = case.file(&format!("{round}.csv"), &text);
            let summary = case.ingest().memory(*memory).events(file).run().unwrap();
            assert_eq!(only_input(&summary, "events").taken, events(&taken));
            let found = replaced(&summary.protocol["events"]).into_iter();
            let found: BTreeMap<String, ControlTotals> =
                found.map(|((source, _), it)| (source.to_owned(), it)).collect();
            assert_eq!(found, expected, "round {round}, {memory} bytes");
        }
    }
}
