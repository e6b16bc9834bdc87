//! The demo data of three seeds.

use super::agreement::Both;
use super::question::{Cut, Question};
use chrono::NaiveDate;
use trueup_demo::{Generator, Settings};

const GROUPINGS: [&[&str]; 9] = [
    &[],
    &["campaign"],
    &["account"],
    &["attributionChannel"],
    &["customerStatus"],
    &["adjustedType"],
    &["type", "attributionCategory"],
    &["account", "week"],
    &["opportunityAgent", "month"],
];

fn tables(seed: u64) -> Both {
    let generator = Generator::new(Settings { seed, ..Settings::scale(20_000, 8) }).unwrap();
    let events = generator.events().collect::<Result<_, _>>().unwrap();
    let spend = generator.spend().collect::<Result<_, _>>().unwrap();
    Both::new(events, spend, vec![generator.accounts().unwrap()])
}

fn agrees(seed: u64) {
    let both = tables(seed);
    let day = |text: &str| text.parse::<NaiveDate>().unwrap();
    // The whole range, and a part that starts and ends inside a month, with history before and after it.
    let ranges = [(day("2024-07-01"), day("2026-06-30")), (day("2025-01-15"), day("2025-04-10"))];
    let filters = [None, Some(("attributionCategory", "Advertising")), Some(("adjustedType", "sold"))];
    let mut rows = 0;
    for days in ranges {
        for cut in [Cut::Total, Cut::Month] {
            let enriched = both.enriched(&Question { dimensions: Vec::new(), days, cut, filter: None });
            for dimensions in GROUPINGS {
                for filter in filters {
                    let question = Question { dimensions: dimensions.to_vec(), days, cut, filter };
                    rows += both.agree(&enriched, &question).unwrap_or_else(|difference| panic!("{difference}"));
                }
            }
        }
    }
    assert!(rows > 10_000, "{rows}");
}

#[test]
fn the_engine_agrees_with_polars_on_the_first_seed() {
    agrees(1);
}

#[test]
fn the_engine_agrees_with_polars_on_the_second_seed() {
    agrees(2);
}

#[test]
fn the_engine_agrees_with_polars_on_the_third_seed() {
    agrees(3);
}
