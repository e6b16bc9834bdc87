//! Rows of benchmarks.

use super::super::node::{JsonValue, object, texts};
use super::super::one_of;
use super::{definition, is_metric, list_of, meant, members};
use crate::benchmarks::Series;
use crate::dictionary;

pub(super) fn schemas() -> Vec<(&'static str, JsonValue)> {
    let series = one_of(Series::ALL.map(Series::name)).with(
        "description",
        "Which figure: the pooled ratio of all accounts compared, or a percentile of their own ratios.",
    );
    let accounts = meant("integer", "How many accounts the combination compares.");
    let fields = dictionary::fields().filter(|field| field.benchmark).map(|field| {
        let value = if is_metric(field) {
            object([("type", texts(["number", "null"]))]).with(
                "description",
                format!("{} To three significant digits; null where it is withheld.", definition(field)),
            )
        } else {
            meant("string", definition(field))
        };
        (field.name, value)
    });
    let head = [("series", series), ("cohortAccounts", accounts)];
    let row = members(&["series", "cohortAccounts"], head.into_iter().chain(fields))
        .with("additionalProperties", false)
        .with(
            "description",
            "One series of one combination of values of the dimensions, with the fields that were asked for.",
        );
    vec![("BenchmarksAnswer", list_of("BenchmarksRow")), ("BenchmarksRow", row)]
}
