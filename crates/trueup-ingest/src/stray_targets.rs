//! Targets of accounts and values that nothing in the dataset has, such as a budget of `Google LSAs` where the channel
//! is `Google LSA`. No row of an answer would ever show such a target.

use std::collections::BTreeSet;
use std::path::Path;
use trueup_core::dataset::Dataset;
use trueup_core::model::{ACCOUNT, TARGET_DIMENSIONS};
use trueup_core::query::{EventsQuery, Filter, MAX_FILTER_OPERANDS};
use trueup_core::{Error, Execution, Interrupt};

/// The most accounts and values that have a warning each.
const NAMED: usize = 10;

/// Returns a warning for each account and each value that only targets of a version have, with the most similar ones
/// that others have. Returns none if the version has neither events nor spend.
pub(crate) fn warnings(dir: &Path, version: u64, interrupt: &Interrupt) -> Vec<String> {
    // The version is published, so that nothing fails any more.
    let stray = find(dir, version, interrupt).unwrap_or_default();
    let mut warnings: Vec<String> =
        stray.iter().take(NAMED).map(|unseen| format!("nothing counts toward a target: {unseen}")).collect();
    if stray.len() > NAMED {
        let others = stray.len() - NAMED;
        warnings.push(format!("nothing counts toward targets of {others} more accounts and values"));
    }
    warnings
}

fn find(dir: &Path, version: u64, interrupt: &Interrupt) -> Result<Vec<String>, Error> {
    let dataset = Dataset::open_as_of(dir, version)?;
    let Some(days) = dataset.date_range() else { return Ok(Vec::new()) };
    let execution = Execution { interrupt: interrupt.clone(), ..Execution::default() };
    let mut stray = Vec::new();
    for (number, field) in [ACCOUNT].into_iter().chain(TARGET_DIMENSIONS).enumerate() {
        let keys = dataset.targets().iter().map(|(key, _)| key);
        let values: BTreeSet<&str> = match number.checked_sub(1) {
            // An account that the dataset knows may get its first events later.
            None => keys.map(|key| key.account.as_str()).filter(|key| dataset.accounts().get(key).is_none()).collect(),
            Some(dimension) => keys.map(|key| key.dimensions[dimension].as_str()).collect(),
        };
        let conditions: Vec<Filter> =
            values.into_iter().filter(|value| !value.is_empty()).map(|value| Filter::equals(field, value)).collect();
        for conditions in conditions.chunks(MAX_FILTER_OPERANDS) {
            let query = EventsQuery::new(["leads"], days.start, days.end).allow_long_total();
            let query = query.filter(Filter::Any(conditions.to_vec()));
            stray.extend(dataset.unseen_values(&query, &execution)?.iter().map(ToString::to_string));
        }
    }
    Ok(stray)
}
