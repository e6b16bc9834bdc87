//! Checks the account keys and field names of a command line against a dataset, and suggests similar names.

use crate::exit::Failure;
use std::collections::BTreeSet;
use trueup::{Dataset, dictionary};
use trueup_core::Shown;

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
    // Accounts outside the account table are found by reading all events and spend, which most queries need not do.
    if keys.iter().all(|key| dataset.accounts().get(key).is_some()) {
        return Ok(Vec::new());
    }
    let known: BTreeSet<String> = dataset.account_keys().map_err(trueup::Error::from)?;
    Ok(keys.iter().filter(|key| !known.contains(*key)).map(String::as_str).collect())
}

/// Lists the names that neither the dictionary nor the dataset knows, each in backticks and with similar names; `None`
/// if all are known.
pub(super) fn unknown_fields<'a>(names: impl IntoIterator<Item = &'a str>, dataset: &Dataset) -> Option<String> {
    let is_known = |name: &str| dictionary::field(name).is_some() || dataset.columns().contains(name);
    let mut unknown: Vec<String> = Vec::new();
    for name in names.into_iter().filter(|name| !is_known(name)) {
        let hint = did_you_mean(name, dataset).map(|hint| format!(" ({hint})")).unwrap_or_default();
        let text = format!("`{}`{hint}", Shown(name));
        if !unknown.contains(&text) {
            unknown.push(text);
        }
    }
    (!unknown.is_empty()).then(|| unknown.join(", "))
}

/// Suggests the known fields that are most similar to `name`, as a question; `None` if none is similar.
pub(super) fn did_you_mean(name: &str, dataset: &Dataset) -> Option<String> {
    let known = dictionary::fields().map(|field| field.name).chain(dataset.columns().iter().map(String::as_str));
    let similar = most_similar(name, known);
    if similar.is_empty() {
        return None;
    }
    let quoted: Vec<String> = similar.iter().map(|name| format!("`{}`", Shown(name))).collect();
    Some(format!("did you mean {}?", quoted.join(" or ")))
}

/// Returns the known names with the fewest edits to `name`, in alphabetical order and at most `MAX_SHOWN`. A difference
/// in case counts as a quarter of an edit. A known name that needs too many edits for the length of `name` is left out.
fn most_similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const COST_OF_EDIT: usize = 4;
    const MAX_SHOWN: usize = 3;
    let length = name.chars().count();
    // One edit per three letters, at most three edits. A name that differs only in case is always similar, however
    // short.
    let max_cost = (COST_OF_EDIT * (length / 3).min(3)).max(1);
    let (exact, folded) = (letters(name), letters(&name.to_lowercase()));
    let mut similar: Vec<(usize, &str)> = Vec::new();
    for other in known.filter(|other| other.chars().count().abs_diff(length) <= 3) {
        let folded_edits = edits(&folded, &letters(&other.to_lowercase()));
        let cost = COST_OF_EDIT * folded_edits + usize::from(folded_edits < edits(&exact, &letters(other)));
        if cost <= max_cost {
            similar.push((cost, other));
        }
    }
    similar.sort_unstable();
    similar.dedup();
    let least = similar.first().map_or(0, |(cost, _)| *cost);
    similar.into_iter().filter(|(cost, _)| *cost == least).map(|(_, name)| name).take(MAX_SHOWN).collect()
}

fn letters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// Returns the Levenshtein distance: the fewest letters to insert, delete or replace. Computed row by row.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(at + 1);
        let mut left = at + 1;
        for ((other, diagonal), above) in to.iter().zip(&row).zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(letter != other)).min(left + 1).min(above + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{edits, letters, most_similar};

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("leeds", "leads", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(edits(&letters(from), &letters(to)), count, "{from} {to}");
        }
    }

    #[test]
    fn the_most_similar_names_are_found() {
        let known = ["leads", "soldLeads", "bookRate", "cost", "spend", "zip", "week", "campaign"];
        let similar = |name| most_similar(name, known.into_iter());
        assert_eq!(similar("leeds"), ["leads"]);
        assert_eq!(similar("LEADS"), ["leads"]);
        assert_eq!(similar("bookRates"), ["bookRate"]);
        assert_eq!(similar("bookrate"), ["bookRate"]);
        assert_eq!(similar("ZIP"), ["zip"]);
        assert_eq!(similar("campaing"), ["campaign"]);
        assert_eq!(similar("x"), [""; 0]);
        assert_eq!(similar("colour"), [""; 0]);
    }
}
