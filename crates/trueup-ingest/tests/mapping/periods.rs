//! Spend of periods: columns that become rows, and amounts that are divided over days.

use crate::case::{Case, Row, column};
use crate::sheets::workbook;

/// Returns the sum of a column of amounts in millionths.
fn sum(rows: &[Row], name: &str) -> i64 {
    let micros = |text: String| {
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
        let sign = if whole.starts_with('-') { -1 } else { 1 };
        whole.parse::<i64>().unwrap() * 1_000_000 + sign * format!("{fraction:0<6}").parse::<i64>().unwrap()
    };
    column(rows, name).into_iter().filter(|text| !text.is_empty()).map(micros).sum()
}

fn spend(spread: &str, columns: &str) -> String {
    format!(
        "[input.a]\nfile = \"a.csv\"\n[[spend]]\nfrom = \"a\"\nspread = {{ {spread} }}\n\
         columns = {{ account = {{ value = \"x\" }}, {columns} }}\n"
    )
}

#[test]
fn amounts_and_counts_are_divided_exactly() {
    let columns = "adSpend = \"Cost\", clicks = \"Clicks\", impressions = \"Shown\", campaign = \"c\"";
    let text = "Start,End,Cost,Clicks,Shown,c\n2026-02-01,2026-02-28,\"$1,000.01\",10,1000001,brand\n\
        2026-03-01,2026-03-03,-0.000002,,2,\n2026-03-05,2026-03-05,7,1,,x\n";
    let case = Case::new(&spend("from = \"Start\", to = \"End\"", columns)).file("a.csv", text);
    let rows = case.spend();
    assert_eq!(rows.len(), 28 + 3 + 1);
    let (february, march) = rows.split_at(28);
    assert_eq!(sum(february, "adSpend"), 1_000_010_000);
    assert_eq!(sum(february, "clicks"), 10_000_000);
    assert_eq!(sum(february, "impressions"), 1_000_001_000_000);
    // Day i of n gets floor(x (i + 1) / n) - floor(x i / n).
    assert_eq!(column(february, "adSpend")[..3], ["35.714642", "35.714643", "35.714643"]);
    assert_eq!(column(february, "clicks")[..6], ["0", "0", "1", "0", "0", "1"]);
    assert_eq!(column(february, "date")[27], "2026-02-28");
    assert!(column(february, "campaign").iter().all(|campaign| campaign == "brand"));
    assert_eq!(column(&march[..3], "adSpend"), ["-0.000001", "-0.000001", "0.000000"]);
    assert_eq!(column(&march[..3], "clicks"), ["", "", ""]);
    assert_eq!(column(&march[..3], "impressions"), ["0", "1", "1"]);
    assert_eq!(column(&march[3..], "adSpend"), ["7.000000"]);
    // Batches change nothing, and the ingest takes each day.
    for batch in [1, 40] {
        let into = case.path(&format!("dataset-{batch}"));
        let ingest = trueup_ingest::Ingest::into(into).mapping(case.path("mapping.toml")).events(case.path("a.csv"));
        assert_eq!(ingest.batch_rows(batch).run().unwrap().spend.taken, 32);
    }
}

#[test]
fn months_are_divided_over_their_days() {
    for (keys, month) in [
        ("month = \"m\", format = \"%b %Y\"", "Feb 2024"),
        ("month = \"m\", format = [\"%b %Y\", \"%m/%y\"]", "02/24"),
        ("month = \"m\"", "2024-02"),
        ("month = \"m\"", "2024-02-17"),
        ("month = \"m\", format = \"%b %Y\"", "2024-02-01"),
    ] {
        let case = Case::new(&spend(keys, "managementFee = \"f\"")).file("a.csv", format!("m,f\n{month},100\n"));
        let rows = case.spend();
        assert_eq!((rows.len(), sum(&rows, "managementFee")), (29, 100_000_000), "{keys}");
        assert_eq!(column(&rows, "date")[28], "2024-02-29");
    }
}

/// A platform names a week by its Monday, also one of which the report has only some days.
#[test]
fn weeks_are_divided_over_their_days() {
    let days = |case: Case| -> Vec<String> {
        case.spend().iter().map(|row| format!("{} {}", &row["date"][5..], row["adSpend"])).collect()
    };
    let text = "Week,Cost\n31.08.2026,6\n28.09.2026,0.000003\n";
    let whole = Case::new(&spend("week = \"Week\", format = \"%d.%m.%Y\"", "adSpend = \"Cost\"")).file("a.csv", text);
    let whole = days(whole);
    assert_eq!((whole.len(), whole[0].as_str(), whole[6].as_str()), (14, "08-31 0.857142", "09-06 0.857143"));
    // The days of the report are constants of the input, or columns of the file.
    let of_report = spend("week = \"Week\", from = \"from\", to = \"to\", format = \"%d.%m.%Y\"", "adSpend = \"Cost\"");
    let compute = "compute = { from = { value = \"01.09.2026\" }, to = { value = \"30.09.2026\" } }\n[[spend]]";
    let case = |text: &str| Case::new(&of_report.replace("[[spend]]", compute)).file("a.csv", text);
    let cut = days(case(text));
    assert_eq!(cut[..2], ["09-01 1.000000", "09-02 1.000000"]);
    assert_eq!(cut[6..], ["09-28 0.000001", "09-29 0.000001", "09-30 0.000001"]);
    let refusal = case("Week,Cost\n05.10.2026,1\n").refusal();
    let expected = "`a.csv`, line 2, column `Week`: expected a week with a day from 2026-09-01 to 2026-09-30, but found `2026-10-05`";
    assert!(refusal.starts_with(expected), "{refusal}");
}

#[test]
fn periods_that_cannot_be_read_are_refused() {
    for (row, expected) in [
        (
            "2026-02-01,2026-01-31",
            "`a.csv`, line 2, column `e`: expected a last day that is 0 to 3659 days after the first, but found `2026-01-31`",
        ),
        (
            "1970-01-01,2026-01-31",
            "`a.csv`, line 2, column `e`: expected a last day that is 0 to 3659 days after the first",
        ),
        (
            "2026-02-01,",
            "`a.csv`, line 2, column `e`: expected a date, but found nothing (mapping key `spend[0].spread.to`)",
        ),
        ("soon,2026-02-01", "`a.csv`, line 2, column `s`: expected a date as YYYY-MM-DD, but found `soon`"),
    ] {
        let mapping = spend("from = \"s\", to = \"e\"", "adSpend = \"c\"");
        let refusal = Case::new(&mapping).file("a.csv", format!("s,e,c\n{row},5\n")).refusal();
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    let refusal = Case::new(&spend("month = \"s\"", "adSpend = \"c\"")).file("a.csv", "s,c\nMay,5\n").refusal();
    assert!(
        refusal.starts_with("`a.csv`, line 2, column `s`: expected a month as YYYY-MM, but found `May`"),
        "{refusal}"
    );
    for (keys, expected) in [
        ("from = \"s\"", "key `spend[0].spread`: expected `from` and `to`, `month`, or `week`"),
        (
            "from = \"s\", to = \"e\", month = \"m\"",
            "key `spend[0].spread`: expected `from` and `to`, `month`, or `week`",
        ),
        (
            "month = \"m\", format = \"%b\"",
            "key `spend[0].spread.format`, value `%b`: expected specifiers of a month and a year",
        ),
        (
            "from = \"s\", to = \"e\", format = \"%b %Y\"",
            "key `spend[0].spread.format`, value `%b %Y`: expected specifiers of a date",
        ),
    ] {
        let refusal = Case::new(&spend(keys, "adSpend = \"c\"")).file("a.csv", "s,e,m,c\n").refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
    let dated = spend("month = \"s\"", "adSpend = \"c\", date = \"s\"");
    let refusal = Case::new(&dated).file("a.csv", "s,c\n").refusal();
    assert!(refusal.ends_with("the days of the period are the dates; leave `date` out of `columns`"), "{refusal}");
}

/// Retainers with the months as columns, below a title.
#[test]
fn columns_become_rows() {
    let mapping = |file: &str, columns: &str| {
        format!(
            "[input.fees]\nfile = \"{file}\"\nrename = {{ Customer = \"Client\" }}\n\
             unpivot = {{ columns = {columns}, name = \"month\", value = \"fee\" }}\n\
             [[spend]]\nfrom = \"fees\"\nunless = {{ fee = \"\" }}\nspread = {{ month = \"month\", format = \"%b %Y\" }}\n\
             columns = {{ account = \"Client\", managementFee = \"fee\" }}\n"
        )
    };
    let text = "Retainers 2026,,,\nCustomer,Feb 2026,Mar 2026,Note\nacme,280,310.31,x\nbolt,,62,y\n";
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let sheet = workbook(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &[]);
    for columns in ["[\"Feb 2026\", \"Mar 2026\"]", "{ regex = \" 2026$\" }"] {
        for case in [
            Case::new(&mapping("fees.csv", columns)).file("fees.csv", text),
            Case::new(&mapping("fees.xlsx", columns)).file("fees.xlsx", sheet.clone()),
        ] {
            let rows = case.spend();
            assert_eq!(rows.len(), 28 + 31 + 31);
            assert_eq!(sum(&rows, "managementFee"), 652_310_000);
            assert_eq!(sum(&rows[..28], "managementFee"), 280_000_000);
            assert_eq!(column(&rows, "managementFee")[..2], ["10.000000", "10.000000"]);
        }
    }
}

/// Each row becomes its rows in turn, in batches of any size, and faults name the line of the file.
#[test]
fn rows_of_columns_keep_their_order_and_lines() {
    let mapping = "[input.a]\nfile = \"a.csv\"\nunpivot = { columns = { regex = \"^q[0-9]\" }, name = \"quarter\", value = \"amount\" }\n\
        [[events]]\nfrom = \"a\"\ncolumns = { account = { value = \"x\" }, opportunityId = \"id\", type = { value = \"sold\" }, \
        date = { value = \"2026-01-01\" }, total = \"amount\", eventId = { template = \"{id}-{quarter}\" } }\n";
    let case = Case::new(mapping).file("a.csv", "q1,id,q2\n1,a,2\n3,b,4\n5,c,6\n");
    let events = case.events();
    assert_eq!(column(&events, "eventId"), ["a-q1", "a-q2", "b-q1", "b-q2", "c-q1", "c-q2"]);
    assert_eq!(column(&events, "total"), ["1", "2", "3", "4", "5", "6"]);
    for rows in [1, 3, 100] {
        let into = case.path(&format!("dataset-{rows}"));
        let ingest = trueup_ingest::Ingest::into(into).mapping(case.path("mapping.toml")).events(case.path("a.csv"));
        assert_eq!(ingest.batch_rows(rows).run().unwrap().events.taken, 6);
    }
    let refusal = Case::new(mapping).file("a.csv", "q1,id,q2\n1,a,2\n3,b,four\n").refusal();
    assert!(refusal.starts_with("`a.csv`, line 3, column `amount`: expected an amount such as 1234.5"), "{refusal}");
}

#[test]
fn columns_that_cannot_become_rows_are_named() {
    for (unpivot, expected) in [
        (
            "columns = [\"Mai\"], name = \"m\", value = \"v\"",
            "key `input.a.unpivot.columns`, value `Mai`: the input has no column of this name; its columns are: id, May",
        ),
        (
            "columns = { regex = \"x\" }, name = \"m\", value = \"v\"",
            "key `input.a.unpivot.columns`: no column of the input is named so; its columns are: id, May",
        ),
        (
            "columns = { regex = \"(\" }, name = \"m\", value = \"v\"",
            "key `input.a.unpivot.columns.regex`: expected a regular expression",
        ),
        (
            "columns = [], name = \"m\", value = \"v\"",
            "key `input.a.unpivot.columns`: no column of the input is named so",
        ),
        (
            "columns = [\"May\", \"May\"], name = \"m\", value = \"v\"",
            "key `input.a.unpivot.columns`, value `May`: the column is listed twice",
        ),
        (
            "columns = [\"May\"], name = \"id\", value = \"v\"",
            "key `input.a.unpivot.name`, value `id`: the input already has a column of this name",
        ),
        (
            "columns = [\"May\"], name = \"m\", value = \"m\"",
            "key `input.a.unpivot.value`, value `m`: the names and the values",
        ),
    ] {
        let mapping = format!(
            "[input.a]\nfile = \"a.csv\"\nunpivot = {{ {unpivot} }}\n[[spend]]\nfrom = \"a\"\nspread = {{ month = \"m\" }}\n\
             columns = {{ account = \"id\", adSpend = \"v\" }}\n"
        );
        let refusal = Case::new(&mapping).file("a.csv", "id,May\na,1\n").refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
}
