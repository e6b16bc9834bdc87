//! Checks the account keys of a command line against a dataset.

use crate::exit::Failure;
use trueup::Dataset;
use trueup::Shown;

/// Checks that the dataset has every account of `keys`.
///
/// # Errors
/// If it lacks one; the message lists the first accounts that it has.
pub(super) fn check_accounts(dataset: &Dataset, keys: &[String]) -> Result<(), Failure> {
    const MAX_LISTED: usize = 8;
    let missing = missing_accounts(dataset, keys)?;
    let Some(missing) = missing.first() else { return Ok(()) };
    let known = dataset.account_keys().map_err(trueup::Error::from)?;
    let listed: Vec<String> = known.iter().take(MAX_LISTED).map(|key| format!("`{}`", Shown(key))).collect();
    let has = match (listed.is_empty(), known.len().saturating_sub(MAX_LISTED)) {
        (true, _) => "no account at all".to_owned(),
        (false, 0) => listed.join(", "),
        (false, more) => format!("{} and {more} more", listed.join(", ")),
    };
    Err(Failure::request(format!("the dataset has no account `{}`; it has {has}", Shown(missing))))
}

/// Returns the accounts of `keys` that the dataset does not have.
pub(super) fn missing_accounts<'a>(dataset: &Dataset, keys: &'a [String]) -> Result<Vec<&'a str>, Failure> {
    Ok(dataset.missing_accounts(keys).map_err(trueup::Error::from)?)
}
