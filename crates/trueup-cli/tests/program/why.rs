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
    assert!(help.contains("--compare") && !help.contains("--totals"), "{help}");
}

#[test]
fn a_comparison_explains_the_change() {
    let workspace = Workspace::with_dataset();
    let of = |more: &[&str]| {
        let days =
            ["why", "ds", "--month", "2025-02", "--compare", "previous-period", "--fields", "leads,bookRate,spend"];
        workspace.run(&[&days, more].concat()).succeeded()
    };
    let table = of(&[]);
    let (summary, _) = table.split_once("\n\n").unwrap();
    assert_eq!(
        summary,
        "2025-02-01 to 2025-02-28, compared with 2025-01-01 to 2025-01-31\n\
         leads is 1, before 2, change -1: leads\n\
         bookRate is 0.0%, before 50.0%, change -50.00 pp: bookedCustomers / customers\n  \
         current: 1 customer, before –, now 0.0%, rate effect 0.00 pp, mix effect -25.00 pp\n  \
         previous: 2 customers, before 50.0%, now –, rate effect 0.00 pp, mix effect -25.00 pp\n\
         spend is 0.00, before 110.50, change -110.50: adSpend + managementFee\n\
         leads is 1, before 2, change -1: 3 lines\n  \
         current: +1, 1 customer\n  \
         previous: -2, 2 customers\n\
         bookedCustomers is 0, before 1, change -1: 1 line\n  \
         previous: -1, 1 customer\n\
         customers is 1, before 2, change -1: 3 lines\n  \
         current: +1, 1 customer\n  \
         previous: -2, 2 customers\n\
         adSpend is 0.00, before 100.00, change -100.00: 1 line\n  \
         previous: -100.00, 1 campaign\n\
         managementFee is 0.00, before 10.50, change -10.50: 1 line\n  \
         previous: -10.50, 1 campaign"
    );
    let csv = of(&["--metric", "bookRate", "--format", "csv", "--limit", "1", "--sort", "date:desc"]);
    assert_eq!(
        csv,
        "measure,class,range,account,opportunityId,eventId,date,type,count,rule\n\
         bookedCustomers,previous,previous,acme,1,e3,2025-01-20,closed,-1,state event: the last closed event; booked by event \
         e2 on 2025-01-04\n\
         customers,current,current,beta,1,e5,2025-02-01,lead-originated,1,state event: the last live lead-originated event\n\
         customers,previous,previous,acme,1,e3,2025-01-20,closed,-1,state event: the last closed event\n"
    );
}
