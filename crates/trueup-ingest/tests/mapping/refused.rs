//! Mappings and values that are refused.

use crate::case::Case;
use crate::values::events_with;

const DATED: &str = "date = { value = \"2025-01-01\" }\n";

#[test]
fn a_key_that_cannot_be_carried_out_is_named() {
    for (columns, expected) in [
        (
            "date = \"when\"",
            "key `events[0].columns.date`, value `when`: no input has this column; the columns are: id, k",
        ),
        (
            "date = {}",
            "key `events[0].columns.date`: expected one of `column`, `columns`, `template`, `value`, or `year` with `month` and `day`",
        ),
        ("date = { column = \"k\", value = 1 }", "key `events[0].columns.date`: expected one of "),
        (
            "date = { column = \"k\", format = \"%Q\" }",
            "key `events[0].columns.date.format`, value `%Q`: expected strftime specifiers",
        ),
        (
            "date = { value = \"1/2/2025\" }",
            "key `events[0].columns.date`, value `1/2/2025`: expected a date as YYYY-MM-DD",
        ),
        (
            "date = { year = 2025, month = \"k\" }",
            "key `events[0].columns.date`: a date in parts needs all of `year`, `month` and `day`",
        ),
        (
            "date = { year = 2025, month = 1, day = 1 }",
            "key `events[0].columns.date`: at least one of the parts must be a column",
        ),
        (
            "dateTime = { column = \"k\", time_zone = \"Mars/Olympus\" }",
            "key `events[0].columns.dateTime.time_zone`, value `Mars/Olympus`: expected an IANA time zone",
        ),
        ("zip = \"k\"", "key `events[0]`: expected the column `date` or `dateTime`"),
        (
            "date = { column = \"k\", format = \"YYYY-MM-DD\" }",
            "key `events[0].columns.date.format`, value `YYYY-MM-DD`: expected strftime specifiers such as `%Y-%m-%d`",
        ),
        (
            "date = { column = \"k\", format = [\"%d.%m.%Y\", \"%m/%Y\"] }",
            "key `events[0].columns.date.format`, value `%m/%Y`: expected specifiers of a date, such as `%Y-%m-%d`",
        ),
        (
            "dateTime = { column = \"k\", format = \"%d.%m.%Y\" }",
            "key `events[0].columns.dateTime.format`, value `%d.%m.%Y`: expected specifiers of a date and a time of day",
        ),
        (
            "date = { column = \"k\", format = \"%d.%m.%Y\", default = \"2025-01-31\" }",
            "key `events[0].columns.date.default`, value `2025-01-31`: expected a date as `%d.%m.%Y`",
        ),
        (
            "date = \"k\"\ntotal = { column = \"k\", decimal_mark = \",\", default = \"1,5\" }",
            "key `events[0].columns.total.default`, value `1,5`: expected an amount such as 1234.5",
        ),
        (
            "date = \"k\"\nzip = { column = \"k\", format = \"%Y\" }",
            "key `events[0].columns.zip.format`: only `date` and `dateTime` can have this key",
        ),
        (
            "date = \"k\"\nzip = { column = \"k\", map = \"zips\" }",
            "key `events[0].columns.zip.map`, value `zips`: no [map] has this name",
        ),
        (
            "date = \"k\"\nzip = { column = \"k\", unmapped = \"keep\" }",
            "key `events[0].columns.zip.unmapped`: only a column with a `map` can have this key",
        ),
        (
            "date = \"k\"\nzip = { value = 1, default = 2 }",
            "key `events[0].columns.zip`: `extract`, `otherwise`, `remove`, `trim`, `decimal_mark`, `map`, `unmapped`, `normalize` and \
             `default` go with",
        ),
        ("date = \"k\"\nzip = { column = \"k\", separator = 1 }", "invalid type: integer `1`, expected a string"),
        (
            "date = \"k\"\nzip = { column = \"k\", separator = \"-\" }",
            "key `events[0].columns.zip.separator`: only a source with `columns` can have this key",
        ),
        ("date = \"k\"\nzip = { columns = [] }", "key `events[0].columns.zip.columns`: expected at least one column"),
        ("date = \"k\"\nzip = { colum = \"k\" }", "unknown field `colum`"),
        (
            "date = 2025-01-31",
            "invalid type: date or time, expected a column's name, a whole number, or a table such as { column = \"...\" } or \
             { value = \"...\" }",
        ),
        ("date = 2025-01-31", "TOML parse error at line 9, column 8"),
        ("date = \"k\"\nzip = 1.5", "expected a column's name, a whole number, or a table"),
        ("date = \"k\"\nzip = { value = 1.5 }", "expected a text, a whole number, true or false"),
        (
            "date = \"k\"\n[first_touch]\ncopy = [\"zip\"]",
            "key `first_touch.copy`, value `zip`: no table of [[events]] has this column",
        ),
        (
            "date = \"k\"\n[first_touch]\ncopy = [\"date\"]",
            "key `first_touch.copy`, value `date`: this column belongs to the single event",
        ),
        (
            "date = \"k\"\n[events.stages]\nbooked = { date = \"k\" }",
            "key `events[0].columns.type`: the `stages` already say",
        ),
        (
            "date = \"k\"\n[[spend]]\nfrom = \"a\"\ncolumns = { account = \"k\", date = \"k\", total = \"k\" }",
            "key `spend[0].columns.total`, value `total`: a table of spend has only the columns",
        ),
        (
            "date = \"k\"\n[[spend]]\nfrom = \"b\"\ncolumns = { account = \"k\", date = \"k\" }",
            "key `spend[0].from`, value `b`: no [input] has this name; the inputs are: a",
        ),
        (
            "date = \"k\"\n[[spend]]\nfrom = \"a\"\ncolumns = { account = \"k\" }",
            "key `spend[0]`: expected the column `date`",
        ),
        (
            "date = \"k\"\n[[spend]]\nfrom = \"a\"\ncolumns = { account = \"k\", date = \"k\", campaign = \"k\" }",
            "key `spend[0]`: expected one of the columns `adSpend`, `managementFee`, `clicks`, `impressions`",
        ),
        (
            "date = \"k\"\n[[accounts]]\ncolumns = { accountName = \"k\" }",
            "key `accounts[0]`: expected the column `account`",
        ),
        (
            "date = \"k\"\n[[accounts]]\ncolumns = { account = \"k\" }",
            "key `accounts[0].columns.account`, value `k`: no input has this column",
        ),
        (
            "date = \"k\"\n[[accounts]]\ncolumns = { account = { value = 1 }, leadGrading = { value = \"maybe\" } }",
            "key `accounts[0].columns.leadGrading`, value `maybe`: expected true or false",
        ),
    ] {
        let refusal = Case::new(&events_with(columns)).file("a.csv", "id,k\n").refusal();
        assert!(refusal.contains(expected), "{columns}\n  {refusal}");
        assert!(refusal.starts_with("mapping `mapping.toml`"), "{refusal}");
    }
}

#[test]
fn inputs_tables_and_syntax_are_checked() {
    for (mapping, expected) in [
        ("", "key `events`: a mapping makes at least one table"),
        (
            "[input.a]\nfile = \"x/a.csv\"",
            "key `input.a.file`, value `x/a.csv`: expected the name of a file without its folder",
        ),
        ("[input.\"a.b\"]\nfile = \"a.csv\"", "key `input.a.b`: an input's name is made of"),
        ("[input.a]\nfile = \"a.csv\"\ntypes = 1", "unknown field `types`"),
        (
            "[input.a]\nfile = \"a.csv\"\nrename = { x = \"z\", y = \"z\" }",
            "key `input.a.rename`, value `z`: two columns get this name",
        ),
        (
            "[input.a]\nfile = \"a.csv\"\nheader = [\"id\", \"k\", \"id\"]",
            "key `input.a.header`, value `id`: two columns have this name",
        ),
        (
            "[input.a]\nfile = \"a.csv\"\n[[events]]\nfrom = \"a\"\nwhere = { k = \"x\", z = [] }",
            "key `events[0].where.z`: expected at least one value",
        ),
        (
            "[input.a]\nfile = \"a.csv\"\n[[spend]]\nfrom = \"a\"\nunless = { k = [] }",
            "key `spend[0].unless.k`: expected at least one value",
        ),
        ("[input.a", "TOML parse error at line 1, column 9"),
        (
            "[input.a]\nfile = \"a.csv\"\n[events]\nfrom = \"a\"",
            "key `events`: expected `[[events]]` in double brackets, because there may be several",
        ),
        (
            "[input.a]\nfile = \"a.csv\"\n[[events]]\nfrom = \"a\"\n[events.columns]\n\
             type = { column = \"status\", map = { Won = \"sold\", Lost = \"lost\" } }",
            "key `events[0].columns.type.map.Lost`, value `lost`: expected one of lead-originated, booked",
        ),
        ("[[events]]\nfrom = \"a\"", "key `events[0].from`, value `a`: no [input] has this name"),
    ] {
        let refusal = Case::new(mapping).refusal();
        assert!(refusal.contains(expected), "{mapping}\n  {refusal}");
    }
    let wrong_stage = "[input.a]\nfile = \"a.csv\"\n[[events]]\nfrom = \"a\"\nstages.won = { date = \"k\" }\n";
    let expected = "key `events[0].stages.won`, value `won`: expected one of lead-originated, booked";
    assert!(Case::new(wrong_stage).refusal().contains(expected), "{}", Case::new(wrong_stage).refusal());
    let renamed = events_with(DATED).replace("file = \"a.csv\"", "file = \"a.csv\"\nrename = { z = \"id\" }");
    let refusal = Case::new(&renamed).file("a.csv", "k\n").refusal();
    assert_eq!(
        refusal,
        "mapping `mapping.toml`, key `input.a.rename`, value `z`: `a.csv` has no column of this name; the columns are: k"
    );
}

#[test]
fn a_value_that_cannot_be_read_is_named_with_its_row() {
    let rows = "id,k\n1,\n2,\n3,bad\n4,worse\n";
    for (columns, expected) in [
        (
            "dateTime = { value = \"2025-01-01T00:00:00Z\" }\ndate = \"k\"",
            "expected a date as YYYY-MM-DD, but found `bad` (mapping key `events[0].columns.date`)",
        ),
        (
            "dateTime = \"k\"\ndate = { value = \"2025-01-01\" }",
            "expected a time as YYYY-MM-DDTHH:MM:SS, but found `bad` (mapping key `events[0].columns.dateTime`)",
        ),
        (
            "date = { value = \"2025-01-01\" }\ntotal = \"k\"",
            "expected an amount such as 1234.5 or $1,234.50, but found `bad` (mapping key `events[0].columns.total`)",
        ),
        (
            "date = { value = \"2025-01-01\" }\nzip = { column = \"k\", map = { worse = 1 } }",
            "expected a value that the map has, but found `bad` (mapping key `events[0].columns.zip`)",
        ),
        (
            "dateTime = { value = \"2025-01-01T00:00:00Z\" }\ndate = { year = 2025, month = 2, day = \"k\" }",
            "expected a whole number as day, but found `2025 2 bad` (mapping key `events[0].columns.date.day`)",
        ),
    ] {
        let refusal = Case::new(&events_with(columns)).file("a.csv", rows).refusal();
        assert_eq!(refusal, format!("`a.csv`, line 4, column `k`: {expected}"));
    }
}

/// The day of a point in time depends on a time zone.
#[test]
fn a_point_in_time_is_no_date() {
    let refusal = Case::new(&events_with("date = \"k\"")).file("a.csv", "id,k\n1,2025-01-01T23:00:00Z\n").refusal();
    let expected =
        "expected a date, or a time without an offset; a point in time belongs in the column `dateTime`, but found";
    assert!(refusal.contains(expected), "{refusal}");
}

#[test]
fn a_missing_required_value_is_refused() {
    let refusal = |columns: &str, rows: &str| Case::new(&events_with(columns)).file("a.csv", rows).refusal();
    let expected =
        "`a.csv`, line 3, column `k`: expected a date, but found nothing (mapping key `events[0].columns.date`)";
    assert_eq!(refusal("date = \"k\"", "id,k\n1,2025-01-01\n2,\n"), expected);
    let expected = "`a.csv`, line 2, column `id`: expected a value, but found nothing (mapping key `events[0].columns.opportunityId`)";
    assert_eq!(refusal(DATED, "id,k\n,x\n"), expected);
    let stage = events_with(DATED).replace("{ value = \"lead-originated\" }", "\"k\"");
    let refusal = Case::new(&stage).file("a.csv", "id,k\n1,won\n").refusal();
    assert!(
        refusal.contains("expected one of lead-originated, booked, estimated, sold, closed, canceled, but found `won`"),
        "{refusal}"
    );
}

#[test]
fn the_first_of_many_faults_is_reported() {
    let mut rows = "id,k\n".to_owned();
    for id in 0..50_000 {
        rows += &format!("{id},{}\n", if id >= 41_000 { "bad" } else { "2025-01-01" });
    }
    let case = Case::new(&events_with("date = \"k\"")).file("a.csv", rows);
    for _ in 0..3 {
        assert!(case.refusal().starts_with("`a.csv`, line 41002, column `k`: "), "{}", case.refusal());
    }
}

#[test]
fn times_that_clocks_skip_are_refused() {
    let columns = "dateTime = { column = \"k\", time_zone = \"America/New_York\" }";
    let refusal = Case::new(&events_with(columns)).file("a.csv", "id,k\n1,2025-03-09T02:30:00\n").refusal();
    assert!(
        refusal.contains("expected a time that exists in America/New_York, where clocks skip this one"),
        "{refusal}"
    );
}
