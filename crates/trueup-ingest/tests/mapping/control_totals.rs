//! The protocol of an ingest through a mapping: which key left out each row, with control totals.

use super::case::Case;
use std::collections::BTreeMap;
use trueup_core::dataset::{ControlTotals, InputProtocol, SkippedLines};

/// Returns the totals of rows, given their amounts in currency units.
fn of(amounts: &[i128]) -> ControlTotals {
    ControlTotals { total: amounts.iter().sum::<i128>() * 1_000_000, ..ControlTotals::of_rows(amounts.len() as u64) }
}

const MAPPING: &str = r#"
[input.jobs]
file = "jobs.csv"

[input.customers]
file = "customers.csv"

[[events]]
from = "jobs"
where = { Status = ["Done", "Invoiced"] }
unless = { Test = "yes" }
join = [{ input = "customers", on = { Customer = "Id" }, unmatched = "drop" }]
columns.account = { value = "acme" }
columns.opportunityId = "Job"
columns.type = { column = "Kind", map = { work = "sold", visit = "estimated" }, unmapped = "skip" }
columns.date = { column = "Day", format = "%d.%m.%Y" }
columns.total = { column = "Amount", remove = "$," }
columns.channel = "Channel"
"#;

#[test]
fn each_key_that_leaves_out_rows_has_its_totals() {
    let jobs = "Job,Customer,Status,Test,Kind,Day,Amount\n\
                1,c1,Done,no,work,05.01.2025,\"$1,200\"\n\
                2,c1,Open,no,work,05.01.2025,$20\n\
                3,c1,Done,yes,work,05.01.2025,$3\n\
                4,c9,Done,no,work,05.01.2025,$400\n\
                5,c1,Done,no,gift,05.01.2025,$50\n\
                6,c1,Done,no,work,5. Jan,$600\n\
                7,c1,Invoiced,no,visit,06.01.2025,$7\n\
                8,c1,Open,no,work,06.01.2025,free\n\
                9,c1,Done,no,work,06.01.2025,free\n";
    let case = Case::new(MAPPING).file("jobs.csv", jobs).file("customers.csv", "Id,Channel\nc1,Search\nc2,Mail\n");
    let summary = case.ingest().rejects(case.path("rejects.ndjson")).run().unwrap();
    let [input] = &summary.protocol["events"].inputs[..] else { panic!("one table") };
    assert_eq!((input.input.as_str(), input.mapped_by.as_deref()), ("jobs.csv", Some("mapping.toml events[0]")));
    assert_eq!(input.taken, of(&[1_200, 7]));
    let open = ControlTotals { rows: 2, without_amount: 1, ..of(&[20]) };
    let expected = [
        ("events[0].join[0]: no row of customers with the same key", of(&[400])),
        ("events[0].unless.Test", of(&[3])),
        ("events[0].where.Status", open),
        ("value of type that the map does not have", of(&[50])),
    ];
    let found: Vec<(&str, ControlTotals)> =
        input.left_out.iter().map(|(key, totals)| (key.as_str(), *totals)).collect();
    assert_eq!(found, expected);
    let rejected: Vec<(&str, ControlTotals)> =
        input.rejected.iter().map(|(rule, totals)| (rule.split(':').next().unwrap(), *totals)).collect();
    let unreadable = ControlTotals { without_amount: 1, ..ControlTotals::of_rows(1) };
    assert_eq!(rejected, [("Amount", unreadable), ("Day", of(&[600]))]);
    assert_eq!(input.read(), ControlTotals { rows: 9, without_amount: 2, ..of(&[1_200, 20, 3, 400, 50, 600, 7]) });
}

#[test]
fn rows_that_joins_repeat_are_not_of_the_file() {
    let mapping = MAPPING.replace("unmatched = \"drop\"", "unmatched = \"drop\", many = true");
    let jobs = "Job,Customer,Status,Test,Kind,Day,Amount\n1,c1,Done,no,work,05.01.2025,10\n2,c1,Open,no,work,05.01.2025,5\n\
                3,c2,Done,no,work,05.01.2025,1\n4,c1,Done,no,work,Monday,100\n";
    let case = Case::new(&mapping)
        .file("jobs.csv", jobs)
        .file("customers.csv", "Id,Channel\nc1,Search\nc1,Mail\nc1,Door\nc2,Mail\n");
    let summary = case.ingest().rejects(case.path("rejects.ndjson")).run().unwrap();
    let [input] = &summary.protocol["events"].inputs[..] else { panic!("one table") };
    assert_eq!((input.taken, input.joined), (of(&[10, 10, 10, 1]), of(&[10, 10])));
    // Conditions on columns of the file are asked before its rows are joined.
    assert_eq!(input.left_out, BTreeMap::from([("events[0].where.Status".to_owned(), of(&[5]))]));
    assert_eq!(input.read(), of(&[10, 5, 1, 100]));
}

#[test]
fn the_stages_of_a_wide_table_are_tables_of_their_own() {
    let mapping = r#"
[input.jobs]
file = "jobs.csv"

[[events]]
from = "jobs"
columns.account = { value = "acme" }
columns.opportunityId = "Job"
stages.lead-originated = { date = "Created" }
stages.sold = { date = "Sold", total = "Amount" }
"#;
    let case = Case::new(mapping).file(
        "jobs.csv",
        "Job,Created,Sold,Amount\n1,2025-01-01,2025-01-02,10\n2,2025-01-01,,20\n3,2025-01-01,2025-01-03,3\n",
    );
    let summary = case.ingest().run().unwrap();
    let tables: Vec<(Option<&str>, ControlTotals, &BTreeMap<String, ControlTotals>)> =
        summary.protocol["events"].inputs.iter().map(|it| (it.mapped_by.as_deref(), it.taken, &it.left_out)).collect();
    let undated = BTreeMap::from([("no date".to_owned(), of(&[20]))]);
    assert_eq!(
        tables,
        [
            (Some("mapping.toml events[0].stages.lead-originated"), ControlTotals::of_rows(3), &BTreeMap::new()),
            (Some("mapping.toml events[0].stages.sold"), of(&[10, 3]), &undated)
        ]
    );
    assert!(summary.protocol["events"].inputs.iter().map(InputProtocol::read).all(|read| read.rows == 3));
}

/// They are counted once for each table that reads the file, next to its rows, and add nothing to these.
#[test]
fn lines_that_are_no_rows_are_not_of_the_totals() {
    let table = |name: &str, amount: &str| {
        format!(
            "[[{name}]]\nfrom = \"ads\"\n[{name}.columns]\naccount = {{ value = \"a\" }}\ndate = \"Day\"\n{amount}\n"
        )
    };
    let events = "opportunityId = \"Campaign\"\ntype = { value = \"sold\" }\ntotal = \"Cost\"";
    let input = "[input.ads]\nfile = \"ads.csv\"\nshort_rows = \"skip\"\n";
    let mapping = [input, &table("events", events), &table("spend", "adSpend = \"Cost\"")].concat();
    let text = "Campaign report\nDay,Campaign,Cost\n2025-01-01,x,10\n,,\n2025-01-02,y,5\n2025-01-03,2\nall,2\n";
    let case = Case::new(&mapping).file("ads.csv", text);
    let summary = case.ingest().run().unwrap();
    for (table, read) in
        [("events", of(&[10, 5])), ("spend", ControlTotals { ad_spend: 15_000_000, ..ControlTotals::of_rows(2) })]
    {
        let [input] = &summary.protocol[table].inputs[..] else { panic!("one table") };
        assert_eq!((input.read(), input.taken), (read, read));
        assert_eq!(input.skipped, SkippedLines { title_lines: 1, blank_lines: 1, short_rows: 2 }, "{table}");
    }
}
