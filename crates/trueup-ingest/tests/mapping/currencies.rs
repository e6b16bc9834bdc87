//! Currencies of amounts, and their conversion.

use crate::case::Case;
use trueup_core::dataset::ConvertedAmounts;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};

const RATES: &str = "date,from,to,rate\n2026-03-01,CAD,USD,0.73\n2026-03-03,CAD,USD,0.7\n2026-03-03,EUR,USD,1.1\n";

/// A mapping of spend of an account in US dollars, with further keys of the table.
fn spend(keys: &str) -> String {
    format!(
        "[input.ads]\nfile = \"ads.csv\"\n[[accounts]]\ncurrency = \"USD\"\ncolumns = {{ account = {{ value = \"a\" }} }}\n\
         [[spend]]\nfrom = \"ads\"\n{keys}\n[spend.columns]\naccount = \"acct\"\nadSpend = \"cost\"\nmanagementFee = \"fee\"\n"
    )
}

const CONVERT: &str = "currency = { column = \"cur\" }\nconvert = { to = \"USD\", rates = \"rates.csv\" }";

fn case(keys: &str, rows: &str) -> Case {
    let case = Case::new(&spend(keys).replace("[spend.columns]\n", "[spend.columns]\ndate = \"day\"\n"))
        .file("ads.csv", format!("acct,day,cost,fee,cur\n{rows}"));
    if keys.contains("convert") { case.file("rates.csv", RATES) } else { case }
}

/// Returns the spend of each day of March, in millionths.
fn days(case: &Case) -> Vec<(String, i128)> {
    let (start, end) = ("2026-03-01".parse().unwrap(), "2026-03-31".parse().unwrap());
    let query = EventsQuery::new(["date", "spend"], start, end);
    let table = Dataset::open(case.path("dataset")).unwrap().query(&query).unwrap();
    let row = |row: usize| match (table.value(row, "date"), table.value(row, "spend")) {
        (Some(Value::Text(day)), Some(Value::Money(micros))) => (day.to_owned(), micros),
        other => panic!("{other:?}"),
    };
    (0..table.len()).map(row).collect()
}

fn refusal(case: &Case) -> String {
    let message = case.ingest().run().unwrap_err().to_string();
    message.replace(&format!("{}/", case.path("").display().to_string().trim_end_matches('/')), "")
}

#[test]
fn amounts_are_converted_at_the_rate_of_the_day_or_the_last_one_before() {
    let rows = "a,2026-03-01,100.10,,CAD\na,2026-03-02,\"$1,000.000001\",10,CAD\na,2026-03-04,10,,CAD\na,2026-03-04,5,,EUR\na,2026-03-05,7,,USD\n";
    let case = case(CONVERT, rows);
    let summary = case.ingest().run().unwrap();
    let expected = [
        ("2026-03-01", 73_073_000),
        // 730.00000073 is 730.000001 rounded to the millionth, and 7.3 of the fee.
        ("2026-03-02", 737_300_001),
        ("2026-03-04", 12_500_000),
        ("2026-03-05", 7_000_000),
    ];
    assert_eq!(days(&case), expected.map(|(day, micros)| (day.to_owned(), micros)));
    let input = &summary.protocol["spend"].inputs[0];
    let found = input.converted.iter().map(|ConvertedAmounts { from, before, after, rates, .. }| {
        let rates: Vec<String> = rates.iter().map(|(day, rate)| format!("{rate} of {day}")).collect();
        (from.as_str(), before.rows, before.ad_spend, after.ad_spend, rates.join(", "))
    });
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            ("CAD", 3, 1_110_100_001, 810_073_001, "0.73 of 2026-03-01, 0.7 of 2026-03-03".to_owned()),
            ("EUR", 1, 5_000_000, 5_500_000, "1.1 of 2026-03-03".to_owned()),
        ]
    );
    // What was read is what the file has.
    assert_eq!((input.read().rows, input.read().ad_spend, input.read().management_fee), (5, 1_122_100_001, 10_000_000));
    assert_eq!(input.taken.ad_spend, 822_573_001);
}

#[test]
fn a_missing_rate_is_an_error_with_the_line_the_day_and_the_currencies() {
    assert_eq!(
        refusal(&case(CONVERT, "a,2026-03-01,1,,CAD\na,2026-02-28,1,,CAD\n")),
        "`ads.csv`, line 3, column `cur`: expected a rate from CAD to USD of 2026-02-28, or of a day before, in `rates.csv`, but found `CAD` \
         (mapping key `spend[0].currency`)"
    );
    assert!(refusal(&case(CONVERT, "a,2026-03-05,1,,CHF\n")).contains("expected a rate from CHF to USD of 2026-03-05"));
    // A row without an amount needs no rate, and no currency.
    assert_eq!(case(CONVERT, "a,2026-02-28,,,CAD\na,2026-02-28,,,\n").ingest().run().unwrap().spend.taken, 2);
    assert!(refusal(&case(CONVERT, "a,2026-03-05,1,,\n")).contains("column `cur`"));
}

#[test]
fn amounts_in_another_currency_than_that_of_the_account_are_refused() {
    let in_cad = "currency = \"CAD\"";
    assert!(refusal(&case(in_cad, "a,2026-03-01,1,,\n")).contains(
        "expected amounts in USD, the currency of the account `a`; `convert = { to = \"USD\", rates = \"FILE\" }`"
    ));
    assert!(refusal(&case(in_cad, "b,2026-03-01,1,,\n")).contains("`b` has no currency"));
    assert_eq!(case("currency = \"USD\"", "a,2026-03-01,1,,\n").ingest().run().unwrap().spend.taken, 1);
    let to_cad = "currency = \"USD\"\nconvert = { to = \"CAD\", rates = \"rates.csv\" }";
    assert!(
        refusal(&case(to_cad, "a,2026-03-01,1,,\n"))
            .contains("expected an account in CAD, which `convert` makes of amounts, but `a` is in USD")
    );
}

#[test]
fn each_day_of_a_period_has_its_rate() {
    let mapping = spend(&format!("{CONVERT}\nspread = {{ from = \"first\", to = \"last\" }}"));
    let case = Case::new(&mapping)
        .file("ads.csv", "acct,first,last,cost,fee,cur\na,2026-03-01,2026-03-04,40,,CAD\n")
        .file("rates.csv", RATES);
    let summary = case.ingest().run().unwrap();
    let found = days(&case).into_iter().map(|(_, micros)| micros).collect::<Vec<_>>();
    assert_eq!(found, [7_300_000, 7_300_000, 7_000_000, 7_000_000]);
    let input = &summary.protocol["spend"].inputs[0];
    assert_eq!((input.read().rows, input.read().ad_spend, input.taken.ad_spend), (1, 40_000_000, 28_600_000));
}

/// The day of an event with a time alone is that of its account.
#[test]
fn events_are_converted_too_stage_by_stage() {
    let mapping = "[input.jobs]\nfile = \"jobs.csv\"\n[input.fx]\nfile = \"fx.csv\"\nrename = { day = \"date\" }\n\
        [[accounts]]\ncurrency = \"USD\"\ncolumns = { account = { value = \"a\" }, timeZone = { value = \"America/Los_Angeles\" } }\n\
        [[events]]\nfrom = \"jobs\"\ncurrency = \"CAD\"\nconvert = { to = \"USD\", rates = \"fx\" }\n\
        columns = { account = { value = \"a\" }, opportunityId = \"id\" }\n[events.stages]\nsold = { dateTime = \"sold\", total = \"sale\" }\n\
        closed = { date = \"closed\", total = \"paid\" }\n";
    let case = Case::new(mapping)
        .file("jobs.csv", "id,sold,sale,closed,paid\n1,2026-03-03T02:00:00Z,100,2026-03-03,50\n2,,,2026-03-02,\n")
        .file("fx.csv", RATES.replace("date,", "day,"));
    let summary = case.ingest().run().unwrap();
    let totals = summary.protocol["events"].inputs.iter().map(|input| input.taken.total).collect::<Vec<_>>();
    // In Los Angeles, the sale is on the second of March.
    assert_eq!(totals, [73_000_000, 35_000_000]);
    assert_eq!(summary.protocol["events"].read().total, 150_000_000);
}

#[test]
fn a_mapping_of_currencies_is_checked() {
    let refused = |keys: &str| case(keys, "a,2026-03-01,1,,CAD\n").refusal();
    assert!(refused("currency = \"dollars\"").contains("`spend[0].currency`"));
    assert!(refused("convert = { to = \"USD\", rates = \"rates.csv\" }").contains("expected the key `currency`, too"));
    assert!(refused(&CONVERT.replace("\"USD\"", "\"usd\"")).contains("`spend[0].convert.to`"));
    assert!(refused(&CONVERT.replace("rates.csv", "fx/rates.csv")).contains("without its folder"));
    assert!(refused(&CONVERT.replace("rates.csv", "fx.csv")).contains("no input of the mapping"));
    let rates = |text: &str| {
        Case::new(&spend(CONVERT).replace("[spend.columns]\n", "[spend.columns]\ndate = \"day\"\n"))
            .file("ads.csv", "acct,day,cost,fee,cur\na,2026-03-01,1,,CAD\n")
            .file("rates.csv", text)
            .refusal()
    };
    assert!(rates("date,from,rate\n").contains("expected the columns date, from, to, rate"));
    assert!(rates("date,from,to,rate\n2026-03-01,CAD,USD,0\n").contains("line 2: expected a rate above 0"));
    assert!(rates("date,from,to,rate\n1.3.2026,CAD,USD,1\n").contains("line 2: expected a day as YYYY-MM-DD"));
    let twice = "date,from,to,rate\n2026-03-01,CAD,USD,0.5\n2026-03-01,CAD,USD,0.50\n2026-03-01,CAD,USD,0.6\n";
    assert!(rates(twice).contains("line 4: another row has the rate 0.5 from CAD to USD of 2026-03-01"));
}
