//! The values that cells become.

use crate::case::{Case, batches, column, rows};
use arrow_schema::{DataType, TimeUnit};

/// A mapping of one file of events with the required columns and the given ones.
pub(crate) fn events_with(columns: &str) -> String {
    format!(
        "[input.a]\nfile = \"a.csv\"\n[[events]]\nfrom = \"a\"\n[events.columns]\naccount = {{ value = \"x\" }}\n\
         opportunityId = \"id\"\ntype = {{ value = \"lead-originated\" }}\n{columns}"
    )
}

#[test]
fn ids_keep_their_zeros_and_amounts_their_digits() {
    let case = Case::new(&events_with("date = \"d\"\ntotal = \"t\"\nzip = \"z\""))
        .file("a.csv", "id,d,t,z\n007,2025-01-01,0.10,01234\n008,2025-01-02,12345678901234567890.1234567,\n");
    let rows = case.events();
    assert_eq!(column(&rows, "opportunityId"), ["007", "008"]);
    assert_eq!(column(&rows, "total"), ["0.10", "12345678901234567890.1234567"]);
    assert_eq!(column(&rows, "zip"), ["01234", ""]);
}

#[test]
fn columns_have_the_canonical_types() {
    let columns = "date = \"d\"\ndateTime = \"t\"";
    let case =
        Case::new(&events_with(columns)).file("a.csv", "id,d,t\n1,2025-01-01,2025-01-01T10:00:00.1234567-05:00\n");
    let mapped = case.run().unwrap();
    let batch = batches(&mapped.events[0]).remove(0);
    let schema = batch.schema();
    let dtype = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!(dtype("date"), DataType::Date32);
    assert_eq!(dtype("dateTime"), DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    assert!(matches!(dtype("opportunityId"), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View));
    assert_eq!(column(&case.events(), "dateTime"), ["2025-01-01T15:00:00.123456Z"]);
}

#[test]
fn times_are_read_by_format_and_zone() {
    for (source, text, expected) in [
        ("{ column = \"t\" }", "2025-07-01T10:00:00Z", "2025-07-01T10:00:00Z"),
        ("{ column = \"t\" }", "2025-7-1 10:05+01", "2025-07-01T09:05:00Z"),
        ("{ column = \"t\", time_zone = \"UTC\" }", "2025-07-01 10:00:00", "2025-07-01T10:00:00Z"),
        ("{ column = \"t\", time_zone = \"America/New_York\" }", "2025-07-01T10:00:00", "2025-07-01T14:00:00Z"),
        // Clocks show this time twice; the first one counts.
        ("{ column = \"t\", time_zone = \"America/New_York\" }", "2025-11-02T01:30:00", "2025-11-02T05:30:00Z"),
        (
            "{ column = \"t\", format = \"%d.%m.%Y %H:%M\", time_zone = \"UTC\" }",
            "01.07.2025 10:00",
            "2025-07-01T10:00:00Z",
        ),
        ("{ column = \"t\", format = \"%Y%m%dT%H%M%S%z\" }", "20250701T100000+0200", "2025-07-01T08:00:00Z"),
        ("{ column = \"t\", format = \"%s\", time_zone = \"America/New_York\" }", "1751364000", "2025-07-01T10:00:00Z"),
        ("{ column = \"t\" }", "", ""),
    ] {
        let columns = format!("date = {{ value = \"2025-07-01\" }}\ndateTime = {source}");
        let case = Case::new(&events_with(&columns)).file("a.csv", format!("id,t\n1,{text}\n"));
        assert_eq!(column(&case.events(), "dateTime"), [expected], "{source} {text}");
    }
}

#[test]
fn dates_are_read_by_format() {
    for (source, text, expected) in [
        ("\"t\"", "2025-07-01", "2025-07-01"),
        ("\"t\"", "2025-7-1", "2025-07-01"),
        // The day of a time without an offset is its calendar day.
        ("\"t\"", "2025-07-01T23:59:00", "2025-07-01"),
        ("{ column = \"t\", format = \"%d %b %Y\" }", "1 Jul 2025", "2025-07-01"),
        ("{ column = \"t\", format = \"%Y%m%d\" }", "20250701", "2025-07-01"),
        ("{ column = \"t\", default = \"2025-07-02\" }", "", "2025-07-02"),
        ("{ columns = [\"t\", \"t\"], default = \"2025-07-02\" }", "", "2025-07-02"),
        ("{ year = 2025, month = { column = \"t\", map = { Jul = 7 } }, day = 3 }", "Jul", "2025-07-03"),
        ("{ year = { columns = [\"t\", \"t\"] }, month = 7, day = 3 }", "20", "2020-07-03"),
    ] {
        let columns = format!("dateTime = {{ value = \"2025-01-01T00:00:00Z\" }}\ndate = {source}");
        let case = Case::new(&events_with(&columns)).file("a.csv", format!("id,t\n1,{text}\n"));
        assert_eq!(column(&case.events(), "date"), [expected], "{source} {text}");
    }
}

#[test]
fn a_part_of_a_date_may_leave_its_row_out() {
    let month = "{ column = \"m\", map = { Jan = 1, Feb = 2 }, unmapped = \"skip\" }";
    let day = "{ column = \"d\", map = { first = 1 }, unmapped = \"skip\" }";
    let columns = format!("date = {{ year = 2025, month = {month}, day = {day} }}");
    let rows = "id,m,d\n1,Jan,first\n2,Sum,first\n3,Feb,first\n4,Jan,all\n";
    let rows = Case::new(&events_with(&columns)).file("a.csv", rows).events();
    assert_eq!(column(&rows, "opportunityId"), ["1", "3"]);
    assert_eq!(column(&rows, "date"), ["2025-01-01", "2025-02-01"]);
}

#[test]
fn three_empty_parts_make_no_date() {
    let columns = "dateTime = { value = \"2025-01-01T00:00:00Z\" }\ndate = { year = 2025, month = \"m\", day = \"d\" }";
    let case = Case::new(&events_with(columns)).file("a.csv", "id,m,d\n1,,\n2,2,28\n");
    assert_eq!(column(&case.events(), "date"), ["", "2025-02-28"]);
    let case = Case::new(&events_with(columns)).file("a.csv", "id,m,d\n1,2,\n");
    assert!(case.refusal().contains("expected year, month and day, or none of them"), "{}", case.refusal());
}

#[test]
fn texts_are_changed_before_they_are_read() {
    let columns = "date = { value = \"2025-01-01\" }\n\
        total = { column = \"t\", remove = \"€ .\", decimal_mark = \",\" }\n\
        eventId = { columns = [\"id\", \"k\"], separator = \"/\" }\n\
        source = { column = \"k\", map = { a = \"Alpha\" }, unmapped = \"keep\", default = \"none\" }\n\
        detail = { column = \"k\", map = { a = true, \"\" = 0 }, unmapped = \"empty\" }";
    let case = Case::new(&events_with(columns)).file("a.csv", "id,t,k\n1,\"€ 1.234,50\",a\n2,\"-3\",b\n3,,\n");
    let rows = case.events();
    assert_eq!(column(&rows, "total"), ["1234.50", "-3", ""]);
    assert_eq!(column(&rows, "eventId"), ["1/a", "2/b", ""]);
    assert_eq!(column(&rows, "source"), ["Alpha", "b", "none"]);
    assert_eq!(column(&rows, "detail"), ["true", "", "0"]);
}

#[test]
fn rows_are_picked_by_their_values() {
    let with = |conditions: &str| {
        let mapping = events_with("date = { value = \"2025-01-01\" }")
            .replace("[events.columns]", &format!("{conditions}\n[events.columns]"));
        let case = Case::new(&mapping).file("a.csv", "id,k\n1,a\n2,b\n3,\n4,c\n");
        column(&case.events(), "opportunityId")
    };
    assert_eq!(with("where = { k = \"a\" }"), ["1"]);
    assert_eq!(with("where = { k = [\"a\", \"\"] }"), ["1", "3"]);
    assert_eq!(with("unless = { k = [\"a\", \"\"] }"), ["2", "4"]);
    assert_eq!(with("where = { k = [\"a\", \"b\"] }\nunless = { id = \"1\" }"), ["2"]);
    assert_eq!(with("where = { k = \"z\" }"), [""; 0]);
}

#[test]
fn spend_and_accounts_are_mapped() {
    let mapping = r#"
[input.ads]
file = "ads.csv"
[input.clients]
file = "clients.csv"
[[spend]]
from = "ads"
join = [{ input = "clients", on = { client = "number" }, unmatched = "refuse" }]
columns = { account = "key", date = "day", campaign = "campaign", adSpend = "cost", clicks = "clicks", impressions = { value = 7 } }
[[accounts]]
from = "clients"
columns = { account = "key", accountName = "name", leadGrading = { column = "graded", map = { Y = true, N = false } } }
[[accounts]]
columns = { account = { value = "other" }, timeZone = { value = "America/Chicago" }, leadGrading = { value = false } }
"#;
    let case = Case::new(mapping)
        .file("ads.csv", "client,day,campaign,cost,clicks\n01,2025-01-01,a,1.10,12.0\n02,2025-01-02,,,\n")
        .file("clients.csv", "number,key,name,graded\n01,one,One,Y\n02,two,,\n");
    let spend = case.spend();
    assert_eq!(column(&spend, "account"), ["one", "two"]);
    assert_eq!(column(&spend, "adSpend"), ["1.10", ""]);
    assert_eq!(column(&spend, "clicks"), ["12", ""]);
    assert_eq!(column(&spend, "impressions"), ["7", "7"]);
    let accounts: Vec<_> = case.run().unwrap().accounts.iter().map(|path| rows(path)).collect();
    assert_eq!(column(&accounts[0], "leadGrading"), ["true", ""]);
    assert_eq!(column(&accounts[1], "timeZone"), ["America/Chicago"]);
    assert_eq!(column(&accounts[1], "leadGrading"), ["false"]);
}

#[test]
fn a_column_of_dates_may_have_several_formats() {
    let source = "date = { column = \"d\", format = [\"%m/%d/%Y\", \"%d-%m-%Y\"] }\n\
                  dateTime = { column = \"t\", format = [\"%d.%m.%Y %H:%M\", \"%Y-%m-%d %H:%M\"], time_zone = \"UTC\" }";
    let case = Case::new(&events_with(source))
        .file("a.csv", "id,d,t\n1,11/16/2024,16.11.2024 09:30\n2,17-11-2024,2024-11-17 10:00\n3,4/11/2024,\n");
    let rows = case.events();
    assert_eq!(column(&rows, "date"), ["2024-11-16", "2024-11-17", "2024-04-11"]);
    assert_eq!(column(&rows, "dateTime"), ["2024-11-16T09:30:00Z", "2024-11-17T10:00:00Z", ""]);
    let refusal = |formats: &str, day: &str| {
        let source = format!("date = {{ column = \"d\", format = {formats} }}");
        Case::new(&events_with(&source)).file("a.csv", format!("id,d\n1,{day}\n")).refusal()
    };
    let either = "[\"%m/%d/%Y\", \"%d/%m/%Y\"]";
    for (day, expected) in [
        (
            "04/11/2024",
            "expected a date that is the same day whether it is read as `%m/%d/%Y` or `%d/%m/%Y`, but found `04/11/2024`",
        ),
        ("2024-11-04", "expected a date as `%m/%d/%Y` or `%d/%m/%Y`, but found `2024-11-04`"),
    ] {
        assert!(refusal(either, day).contains(expected), "{}", refusal(either, day));
    }
    let early = refusal("[\"%Y-%m-%d\", \"%d.%m.%Y\"]", "01.01.1960");
    assert!(early.contains("expected a date from 1970-01-01 to 2149-06-06, but found `01.01.1960`"), "{early}");
    for day in ["04/04/2024", "16/11/2024"] {
        let source = format!("date = {{ column = \"d\", format = {either} }}");
        assert_eq!(Case::new(&events_with(&source)).file("a.csv", format!("id,d\n1,{day}\n")).events().len(), 1);
    }
    assert!(refusal("[]", "").contains("expected strftime specifiers"), "{}", refusal("[]", ""));
}

/// A record of wide data is several events, and each needs an id of its own.
#[test]
fn the_events_of_a_record_have_an_id_per_stage() {
    let mapping = "[input.deals]\nfile = \"deals.csv\"\n[[events]]\nfrom = \"deals\"\n\
        [events.columns]\naccount = { value = \"a\" }\nopportunityId = \"Contact\"\n\
        eventId = { column = \"Record ID\", remove = \"#\" }\n\
        [events.stages]\nlead-originated = { date = \"Created\" }\n\
        booked = { date = \"Seen\", eventId = \"Meeting\" }\nclosed = { date = \"Won\", total = \"Amount\" }\n";
    let deals = "Record ID,Contact,Created,Seen,Meeting,Won,Amount\n\
        #7,c1,2025-01-01,2025-01-02,m1,2025-01-03,5\n,c2,2025-01-01,,,2025-01-04,6\n";
    let case = Case::new(mapping).file("deals.csv", deals);
    let ids: Vec<String> = case.events().iter().map(|row| format!("{} {}", row["type"], row["eventId"])).collect();
    let expected = ["lead-originated 7-lead-originated", "lead-originated ", "booked m1", "closed 7-closed", "closed "];
    assert_eq!(ids, expected);
    let summary = case.ingest().run().unwrap();
    assert_eq!((summary.events.taken, summary.events.replaced), (5, 0));
}

/// In long data, the record's id is no id of its events.
#[test]
fn an_id_of_a_record_in_long_data_is_refused() {
    let mapping = "[input.deals]\nfile = \"deals.csv\"\n[[events]]\nfrom = \"deals\"\n[events.columns]\n\
        account = { value = \"a\" }\nopportunityId = \"Contact\"\neventId = \"Record ID\"\ntype = \"Stage\"\ndate = \"Day\"\n";
    let deals = "Record ID,Contact,Stage,Day\n7,c1,booked,2025-01-02\n8,c1,sold,2025-01-02\n7,c1,closed,2025-01-03\n";
    let error = Case::new(mapping).file("deals.csv", deals).ingest().run().unwrap_err().to_string();
    assert!(
        error.contains("make it of several columns, such as the record and its stage, but found `7` on `booked`"),
        "{error}"
    );
    assert!(error.contains("line 2) and on `closed` of `c1`") && error.contains("line 4)"), "{error}");
}
