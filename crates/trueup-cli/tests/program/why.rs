//! `trueup why`: the lines behind the numbers of one row of an answer.

use crate::workspace::{RANGE, Run, Workspace};

fn why(workspace: &Workspace, fields: &str, more: &[&str]) -> Run {
    let arguments: Vec<&str> = ["why", "ds", "--fields", fields].into_iter().chain(RANGE).collect();
    workspace.run(&[&arguments, more].concat())
}

#[test]
fn a_table_begins_with_the_number_and_what_it_is_made_of() {
    let workspace = Workspace::with_dataset();
    let table = why(&workspace, "account,bookRate", &["--row", "account=acme"]).succeeded();
    let (summary, lines) = table.split_once("\n\n").unwrap();
    assert_eq!(
        summary,
        "account `acme`, 2025-01-01 to 2025-03-31\n\
         bookRate is 50.0%: bookedCustomers / customers\n\
         bookedCustomers is 1: 1 line\n\
         customers is 2: 2 lines"
    );
    let lines: Vec<&str> = lines.lines().skip(2).collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].contains("state event: the last closed event; booked by event e2 on 2025-01-04"), "{table}");
    assert!(lines[1].contains("state event: the last live lead-originated event"), "{table}");
}

#[test]
fn a_ratio_over_nothing_is_shown_as_in_a_table() {
    let workspace = Workspace::with_dataset();
    let days = ["--start", "2025-01-06", "--end", "2025-01-10"];
    let run = workspace.run(&[&["why", "ds", "--fields", "bookRate"], &days[..]].concat());
    assert!(run.code == 0 && run.stdout.contains("\nbookRate is –: bookedCustomers / customers\n"), "{run:?}");
}

#[test]
fn lines_are_written_in_every_format() {
    let workspace = Workspace::with_dataset();
    let of = |fields: &str, more: &[&str]| why(&workspace, fields, more).succeeded();
    let csv = of("roasClosed", &["--format", "csv"]);
    let spend = "category `Advertising`";
    assert!(!csv.contains(spend), "{csv}");
    assert_eq!(
        csv,
        "measure,account,opportunityId,eventId,date,type,amount,rule\n\
         closedRevenue,acme,1,e3,2025-01-20,closed,1234.5,\"state event: the last closed event; the amount of event e3 on \
         2025-01-20, 1234.5\"\n\
         adSpend,acme,,,2025-01-03,,100,\"the ad spend of channel `Paid Search`, campaign `[Va] Drain`\"\n\
         managementFee,acme,,,2025-01-03,,10.5,\"the management fee of channel `Paid Search`, campaign `[Va] Drain`\"\n"
    );
    let json = of("leads", &["--format", "json", "--limit", "1", "--sort", "date:desc"]);
    assert_eq!(
        json,
        r#"[{"measure":"leads","account":"beta","opportunityId":"1","eventId":"e5","date":"2025-02-01","type":"lead-originated","count":1,"rule":"first touch: the customer's first event of all, and a conversion"}]"#
    );
    assert_eq!(of("leads", &["--format", "ndjson"]).lines().count(), 3);
    for name in ["lines.parquet", "lines.arrow"] {
        of("leads", &["-o", name]);
        assert!(workspace.path(name).metadata().unwrap().len() > 100);
    }
}

#[test]
fn a_table_lists_at_most_the_given_number_of_lines() {
    let workspace = Workspace::with_dataset();
    let table = why(&workspace, "leads", &["--limit", "1"]).succeeded();
    assert!(table.contains("leads is 3: 3 lines, 1 of them listed\n"), "{table}");
    assert!(table.contains("e1") && !table.contains("e4"), "{table}");
    assert!(why(&workspace, "leads", &[]).succeeded().contains("leads is 3: 3 lines\n"));
}

#[test]
fn a_row_of_the_answer_can_be_pasted() {
    let workspace = Workspace::with_dataset();
    let months = ["--interval", "month", "--format", "json"];
    let fields = "attributionChannel,leads,closedRevenue";
    let rows = workspace.query(fields, &months).succeeded();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let lines = why(&workspace, fields, &[&months[..], &["--metric", "leads", "--row", &row.to_string()]].concat());
        let lines: Vec<serde_json::Value> = serde_json::from_str(&lines.succeeded()).unwrap();
        assert_eq!(serde_json::Value::from(lines.len()), row["leads"], "{row}");
    }
}

#[test]
fn what_is_no_row_is_refused() {
    let workspace = Workspace::with_dataset();
    let refused = |code, fields: &str, more: &[&str]| why(&workspace, fields, more).failed(code);
    let fault = refused(1, "campaign,leads", &[]);
    assert!(
        fault.contains("expected a value for each column by which a row of the answer is known (`campaign`)"),
        "{fault}"
    );
    let fault = refused(1, "attributionChannel,leads", &["--row", "attributionChannel=Directt"]);
    assert!(fault.contains("the answer has no row with attributionChannel = `Directt`"), "{fault}");
    assert!(fault.contains("`Direct`"), "{fault}");
    let fault = refused(1, "leads", &["--metric", "spend"]);
    assert!(fault.contains("expected one of the metrics of the query (`leads`), but found `spend`"), "{fault}");
    assert!(refused(2, "leads", &["--row", "campaign"]).contains("such as `campaign=Drains`"));
    assert!(refused(2, "leads", &["--row", "{"]).contains("expected a row as a JSON object"));
    assert!(refused(2, "leads", &["--sort", "leads"]).contains("but found `leads:asc`"));
    assert!(refused(2, "leads", &["--totals"]).contains("leave out the dimensions to explain"));
}

#[test]
fn the_help_says_what_lines_are() {
    let help = Workspace::new().run(&["why", "--help"]).succeeded();
    for text in
        ["List at most LINES lines of each measure", "--row <FIELD=VALUE>", "Order of the lines of each measure"]
    {
        assert!(help.contains(text), "{help}");
    }
    assert!(!help.contains("--totals") && !help.contains("--compare"), "{help}");
}
