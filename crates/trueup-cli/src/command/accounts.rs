//! Accounts that are named, and those that a dataset has.

use crate::exit::Failure;
use std::collections::BTreeSet;
use trueup_core::{Dataset, Shown};

/// Whether the dataset has every account named.
pub(super) fn check(dataset: &Dataset, named: &[String]) -> Result<(), Failure> {
    const SHOWN: usize = 8;
    let (missing, keys) = missing(dataset, named)?;
    let Some(missing) = missing.first() else { return Ok(()) };
    let listed: Vec<String> = keys.iter().take(SHOWN).map(|key| format!("`{}`", Shown(key))).collect();
    let has = match (listed.is_empty(), keys.len().saturating_sub(SHOWN)) {
        (true, _) => "no account at all".to_owned(),
        (false, 0) => listed.join(", "),
        (false, more) => format!("{} and {more} more", listed.join(", ")),
    };
    Err(Failure::request(format!("the dataset has no account `{}`; it has {has}", Shown(missing))))
}

/// The accounts named that the dataset does not have, and if there may be such, those that it has.
pub(super) fn missing<'a>(dataset: &Dataset, named: &'a [String]) -> Result<(Vec<&'a str>, BTreeSet<String>), Failure> {
    // Accounts that only events or spend name are found by reading those, which most questions need not do.
    if named.iter().all(|key| dataset.accounts().get(key).is_some()) {
        return Ok(<_>::default());
    }
    let keys = dataset.account_keys().map_err(trueup_core::Error::from)?;
    let missing = named.iter().filter(|key| !keys.contains(*key)).map(String::as_str).collect();
    Ok((missing, keys))
}
