//! `trueup ingest --targets` and `trueup query --targets`, and answers for spreadsheets: CSV with a byte order mark,
//! and XLSX.

use crate::workspace::Workspace;
use calamine::{Data, Reader, open_workbook};

const TARGETS_CSV: &str = "\
account,month,metric,value,attributionChannel
acme,2025-01,spend,310,
acme,2025-01,spend,155,Paid Search
acme,2025-01,leads,31,
acme,2025-01,bookRate,0.5,
";

fn workspace() -> Workspace {
    let workspace = Workspace::with_dataset();
    workspace.write("targets.csv", TARGETS_CSV);
    let said = workspace.run(&["ingest", "--targets", "targets.csv", "--into", "ds"]).succeeded();
    assert!(said.starts_with("version 2 of `ds`\ntargets  4 taken\n"), "{said}");
    workspace
}

const TEN_DAYS: [&str; 4] = ["--start", "2025-01-01", "--end", "2025-01-10"];

fn query(workspace: &Workspace, fields: &str, more: &[&str]) -> crate::workspace::Run {
    let arguments = ["query", "ds", "--fields", fields].into_iter().chain(TEN_DAYS).chain(["--targets"]);
    workspace.run(&arguments.chain(more.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn a_query_shows_targets_and_the_pace() {
    let workspace = workspace();
    let shown = query(&workspace, "spend,leads,bookRate", &["--account", "acme"]).succeeded();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = shown.lines().map(words).collect();
    let header = "spend spend.target spend.pace leads leads.target leads.pace bookRate bookRate.target bookRate.pace";
    assert_eq!(lines[0], header);
    assert_eq!(lines[2], "110.50 100.00 110.50% 2 10.00 20.00% 50.0% 50.00% 100.00%");
    let run =
        query(&workspace, "account,attributionChannel,spend", &["--format", "csv", "--totals", "--account", "acme"]);
    assert_eq!(
        run.stdout,
        "rowType,account,attributionChannel,spend,spend.target,spend.pace\ngroup,acme,Direct,0,,\n\
         group,acme,Paid Search,110.5,50,2.21\ntotal,,,110.5,100,1.105\n"
    );
    assert_eq!(
        run.stderr,
        "warning: `spend.target` is null in 1 of 2 rows; the first of them has no target of account `acme`, 2025-01, \
         attributionChannel `Direct`: a row shows a target if each of its accounts, months and values has one\n"
    );
    let inspected = workspace.run(&["inspect", "ds"]).succeeded();
    assert!(
        inspected.contains("targets    4 rows, 1 file, ") && inspected.contains(", of bookRate, leads, spend\n"),
        "{inspected}"
    );
}

#[test]
fn what_does_more_than_answer_a_query_has_no_targets() {
    let workspace = workspace();
    for command in [&["explain", "ds"][..], &["why", "ds"], &["diff", "ds", "1", "2"]] {
        let arguments = command.iter().copied().chain(["--fields", "spend"]).chain(TEN_DAYS).chain(["--targets"]);
        let message = workspace.run(&arguments.collect::<Vec<_>>()).failed(1);
        assert!(message.contains("only an answer to a query has `targets`"), "{message}");
    }
    let message = query(&workspace, "spend", &["--compare", "previous-period"]).failed(1);
    assert!(message.contains("an answer has either targets or a comparison"), "{message}");
}

#[test]
fn csv_begins_with_a_byte_order_mark_if_asked() {
    let workspace = workspace();
    let shown = query(&workspace, "spend", &["--account", "acme", "--format", "csv", "--bom"]).succeeded();
    assert_eq!(shown, "\u{feff}spend,spend.target,spend.pace\n110.5,100,1.105\n");
    let message = query(&workspace, "spend", &["--format", "json", "--bom"]).failed(2);
    assert!(message.contains("`--bom` is for CSV alone"), "{message}");
}

#[test]
fn a_sheet_has_the_numbers_of_the_json() {
    let workspace = workspace();
    let asked = |format: &str, name: &str| {
        let fields = "account,attributionChannel,spend,leads,bookRate,avgCostPerLead";
        let arguments = ["query", "ds", "--fields", fields, "--start", "2025-01-01", "--end", "2025-02-28"];
        let more = ["--interval", "month", "--targets", "--totals", "--format", format, "-o", name];
        // It warns that some targets are null.
        let run = workspace.run(&arguments.into_iter().chain(more).collect::<Vec<_>>());
        assert_eq!(run.code, 0, "{run:?}");
        std::fs::read(workspace.path(name)).unwrap()
    };
    let rows: Vec<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_slice(&asked("json", "rows.json")).unwrap();
    let csv = String::from_utf8(asked("csv", "rows.csv")).unwrap();
    assert!(asked("xlsx", "one.xlsx") == asked("xlsx", "two.xlsx"), "the same answer is the same bytes");
    let mut sheet: calamine::Xlsx<_> = open_workbook(workspace.path("one.xlsx")).unwrap();
    let range = sheet.worksheet_range("answer").unwrap();
    let header: Vec<String> = range.rows().next().unwrap().iter().map(ToString::to_string).collect();
    // Totals are in bold, and need no column that marks them.
    let shown = |line: &str| line.split_once(',').unwrap().1.to_owned();
    assert_eq!(header.join(","), shown(csv.lines().next().unwrap()));
    assert_eq!(range.rows().count(), rows.len() + 1);
    assert!(rows.len() > 3 && rows.last().unwrap()["rowType"] == "total", "{rows:?}");
    assert_eq!(range.rows().next_back().unwrap()[0], Data::String("total".to_owned()));
    for (row, (cells, line)) in rows.iter().zip(range.rows().skip(1).zip(csv.lines().skip(1).map(shown))) {
        for ((name, cell), text) in header.iter().zip(cells).zip(line.split(',')) {
            match cell {
                Data::String(total) if name == "start" => assert!(total == "total" && row["rowType"] == "total"),
                // What has no number is empty, as in CSV, and not 0.
                Data::Empty => assert_eq!(text, "", "{name} in {line}"),
                Data::Float(number) => assert_eq!(Some(*number), row[name].as_f64(), "{name} in {line}"),
                Data::String(shown) => assert_eq!(row[name], shown.as_str(), "{name} in {line}"),
                Data::DateTime(day) => {
                    let (year, month, day, ..) = day.to_ymd_hms_milli();
                    let day = format!("{year:04}-{month:02}-{day:02}");
                    assert_eq!(row[name], day.as_str(), "{name} in {line}");
                }
                other => panic!("{name} in {line}: {other:?}"),
            }
        }
    }
}

/// Totals have no day, and the one of a booking is missing without a booking.
#[test]
fn dimensions_that_are_days_are_dates_in_a_sheet() {
    let workspace = workspace();
    let fields = "attributionChannel,date,week,firstBooked,leads";
    let arguments = ["query", "ds", "--fields", fields, "--start", "2025-01-01", "--end", "2025-01-31", "--totals"];
    let asked = |more: &[&str]| workspace.run(&[&arguments, more].concat()).succeeded();
    let csv = asked(&["--format", "csv"]);
    asked(&["-o", "days.xlsx"]);
    let mut sheet: calamine::Xlsx<_> = open_workbook(workspace.path("days.xlsx")).unwrap();
    let range = sheet.worksheet_range("answer").unwrap();
    let mut days = 0;
    for (cells, line) in range.rows().zip(csv.lines()).skip(1) {
        let texts: Vec<&str> = line.split(',').skip(1).collect();
        for (cell, text) in cells[1..4].iter().zip(&texts[1..4]) {
            match cell {
                Data::DateTime(day) => {
                    let (year, month, day, ..) = day.to_ymd_hms_milli();
                    assert_eq!(format!("{year:04}-{month:02}-{day:02}"), **text, "{line}");
                    days += 1;
                }
                other => assert!(*other == Data::Empty && text.is_empty(), "{other:?} in {line}"),
            }
        }
    }
    assert!(days > 4, "{csv}");
    assert_eq!(range.rows().next_back().unwrap()[0], Data::String("total".to_owned()));
}
