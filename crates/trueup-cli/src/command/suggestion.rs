//! Names that nothing has, and the names that may have been meant.

use trueup_core::{Dataset, Shown, dictionary};

/// Of those names, the ones that neither the dictionary nor the dataset knows, each in backticks with what may have been meant;
/// `None` if all are known.
pub(super) fn unknown<'a>(names: impl IntoIterator<Item = &'a str>, dataset: &Dataset) -> Option<String> {
    let is_known = |name: &str| dictionary::field(name).is_some() || dataset.columns().contains(name);
    let mut told: Vec<String> = Vec::new();
    for name in names.into_iter().filter(|name| !is_known(name)) {
        let one =
            format!("`{}`{}", Shown(name), meant(name, dataset).map(|near| format!(" ({near})")).unwrap_or_default());
        if !told.contains(&one) {
            told.push(one);
        }
    }
    (!told.is_empty()).then(|| told.join(", "))
}

/// Asks for the known names that are nearest to `name`; `None` if none is near.
pub(super) fn meant(name: &str, dataset: &Dataset) -> Option<String> {
    let known = dictionary::fields().map(|field| field.name).chain(dataset.columns().iter().map(String::as_str));
    let nearest = nearest(name, known);
    if nearest.is_empty() {
        return None;
    }
    let quoted: Vec<String> = nearest.iter().map(|name| format!("`{}`", Shown(name))).collect();
    Some(format!("did you mean {}?", quoted.join(" or ")))
}

/// The names with the fewest edits to `name`, in order, if those are few for its length.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    /// A name in another case is nearer than one in other letters.
    const LETTER: usize = 4;
    const SHOWN: usize = 3;
    let length = name.chars().count();
    let within = LETTER * (length / 3).min(3);
    let (exact, folded) = (letters(name), letters(&name.to_lowercase()));
    let mut near: Vec<(usize, &str)> = Vec::new();
    for other in known.filter(|other| other.chars().count().abs_diff(length) <= 3) {
        let letters_off = edits(&folded, &letters(&other.to_lowercase()));
        let cost = LETTER * letters_off + usize::from(letters_off < edits(&exact, &letters(other)));
        // A name of other case alone is near however short it is.
        if cost <= within.max(1) {
            near.push((cost, other));
        }
    }
    near.sort_unstable();
    near.dedup();
    let least = near.first().map_or(0, |(cost, _)| *cost);
    near.into_iter().filter(|(cost, _)| *cost == least).map(|(_, name)| name).take(SHOWN).collect()
}

fn letters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// The fewest letters added, left out or replaced that make `to` of `from` (Levenshtein's distance, a row at a time).
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
    use super::{edits, letters, nearest};

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("leeds", "leads", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(edits(&letters(from), &letters(to)), count, "{from} {to}");
        }
    }

    #[test]
    fn the_nearest_names_are_found() {
        let known = ["leads", "soldLeads", "bookRate", "cost", "spend", "zip", "week", "campaign"];
        let near = |name| nearest(name, known.into_iter());
        assert_eq!(near("leeds"), ["leads"]);
        assert_eq!(near("LEADS"), ["leads"]);
        assert_eq!(near("bookRates"), ["bookRate"]);
        assert_eq!(near("bookrate"), ["bookRate"]);
        assert_eq!(near("ZIP"), ["zip"]);
        assert_eq!(near("campaing"), ["campaign"]);
        assert_eq!(near("x"), [""; 0]);
        assert_eq!(near("colour"), [""; 0]);
    }
}
