//! Which known texts are most similar to one that is not known: for names of fields, and for values in filters.

use std::collections::BTreeSet;

/// The largest number of similar texts that are returned.
pub(crate) const MAX_SIMILAR: usize = 3;
/// The cost of one edit. If two texts differ in case too, that costs 1, however many letters differ.
const EDIT: usize = 4;
/// The fewest characters of a word that may stand for a longer word that starts with it.
const MIN_PREFIX: usize = 3;
/// The fewest characters of a word for each edit in it that is forgiven.
const CHARS_PER_EDIT: usize = 4;
/// The most characters of a text or a word that is compared by edits, because the time grows with the square of them.
const MAX_EDITED: usize = 64;
/// The fewest digits of a phone number without the code of its country, and the most of such a code.
const MIN_NUMBER: usize = 7;
const MAX_COUNTRY_CODE: usize = 3;
/// Words that do not tell one name from another.
const FILLERS: [&str; 10] = ["a", "by", "count", "in", "nr", "num", "number", "of", "per", "the"];

/// How a known text differs from the one that was given; smaller is more similar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// The letters and digits are equal, so that only case, blanks and punctuation differ.
    Punctuation,
    /// Both are phone numbers, and one has the code of the country, too.
    CountryCode,
    /// A few edits turn one text into the other: the cost of the edits.
    Edits(usize),
    /// Every word of the text is, perhaps in another form, a word of the known text, in any order: the cost of the
    /// other forms, and of the words that only the known text has.
    Words(usize),
}

/// A text whose similarity to known texts is computed.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The characters of the text.
    letters: Vec<char>,
    /// The characters of the text in lower case.
    folded: Vec<char>,
    /// The letters and digits of the text, in lower case.
    plain: String,
    /// The words of the text, without [`FILLERS`] unless it has no others.
    words: BTreeSet<String>,
}

impl Wanted {
    pub(crate) fn new(text: &str) -> Self {
        let mut words = words(text);
        if words.iter().any(|word| !FILLERS.contains(&word.as_str())) {
            words.retain(|word| !FILLERS.contains(&word.as_str()));
        }
        Self { letters: letters(text), folded: letters(&text.to_lowercase()), plain: plain(text), words }
    }

    /// Returns how `known` differs, or `None` if the two are not similar.
    pub(crate) fn difference(&self, known: &str) -> Option<Difference> {
        if !self.plain.is_empty() && self.plain == plain(known) {
            return Some(Difference::Punctuation);
        }
        if is_same_number(&self.plain, &plain(known)) {
            return Some(Difference::CountryCode);
        }
        self.edits(known).map(Difference::Edits).or_else(|| self.other_words(known).map(Difference::Words))
    }

    /// Returns the cost of the edits that make the two texts equal. Returns `None` if it is above the cost of one edit
    /// per three characters of the text, or of three edits, or if the text is longer than [`MAX_EDITED`]; a difference
    /// in case alone is never too much.
    fn edits(&self, known: &str) -> Option<usize> {
        let length = self.letters.len();
        if length > MAX_EDITED || known.chars().count().abs_diff(length) > 3 {
            return None;
        }
        let most = (length / 3).min(3);
        let folded = edits(&self.folded, &letters(&known.to_lowercase()), most)?;
        let cost = EDIT * folded + usize::from(edits(&self.letters, &letters(known), folded).is_none());
        (cost <= (EDIT * most).max(1)).then_some(cost)
    }

    /// Returns twice the number of words that only `known` has, plus the number of words that it has in another form;
    /// `None` if `known` does not have all words of the text.
    fn other_words(&self, known: &str) -> Option<usize> {
        let known = words(known);
        let mut inexact = 0;
        for word in &self.words {
            if !known.contains(word) {
                known.iter().find(|other| is_form_of(word, other))?;
                inexact += 1;
            }
        }
        (!self.words.is_empty()).then(|| 2 * known.len().saturating_sub(self.words.len()) + inexact)
    }
}

/// Returns whether two texts of digits are the same phone number but for the code of its country.
fn is_same_number(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() > other.len() { (one, other) } else { (other, one) };
    let is_number = short.len() >= MIN_NUMBER && long.bytes().all(|byte| byte.is_ascii_digit());
    is_number && long.strip_suffix(short).is_some_and(|code| (1..=MAX_COUNTRY_CODE).contains(&code.len()))
}

/// Returns the known texts that are most similar to `text`, at most three: those with the smallest
/// difference, in the order of the alphabet.
///
/// ```
/// assert_eq!(trueup_core::most_similar("paid-search", ["Direct", "Paid Search"]), ["Paid Search"]);
/// assert!(trueup_core::most_similar("radio", ["Direct", "Paid Search"]).is_empty());
/// ```
#[must_use]
pub fn most_similar<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = Wanted::new(text);
    let differences = known.into_iter().filter_map(|known| Some((wanted.difference(known)?, known)));
    least(differences.collect())
}

/// Returns the texts with the smallest difference, at most [`MAX_SIMILAR`], in the order of the alphabet.
pub(crate) fn least(mut differences: Vec<(Difference, &str)>) -> Vec<&str> {
    differences.sort_unstable();
    differences.dedup();
    let least = differences.first().map(|(difference, _)| *difference);
    let similar = differences.into_iter().take_while(|(difference, _)| Some(*difference) == least);
    similar.map(|(_, text)| text).take(MAX_SIMILAR).collect()
}

/// Returns whether a word is another form of a word, such as `booking` of `book`: one starts with the other, or a few
/// edits turn one into the other.
fn is_form_of(word: &str, other: &str) -> bool {
    let (word_letters, other_letters) = (letters(word), letters(other));
    let shorter = word_letters.len().min(other_letters.len());
    let is_prefix = shorter >= MIN_PREFIX && (word.starts_with(other) || other.starts_with(word));
    let most = (shorter / CHARS_PER_EDIT).min(2);
    let may_be_edited = shorter <= MAX_EDITED && word_letters.len().abs_diff(other_letters.len()) <= most;
    is_prefix || may_be_edited && edits(&word_letters, &other_letters, most).is_some()
}

/// Returns the words of a text in lower case, without the `s` of a plural: `avgCostPerLeads` has `avg`, `cost`, `per`
/// and `lead`. A word ends at any character that is neither letter nor digit, and before a capital letter that is next
/// to a lower-case letter: `CPLClosed` has `cpl` and `closed`.
///
/// ```
/// assert_eq!(trueup_core::words("Lead costs, avg"), trueup_core::words("avgCostLead"));
/// ```
#[must_use]
pub fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut previous = ' ';
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        let starts_word =
            char.is_uppercase() && (previous.is_lowercase() || rest.peek().is_some_and(|next| next.is_lowercase()));
        if starts_word || !char.is_alphanumeric() {
            words.insert(singular(std::mem::take(&mut word)));
        }
        if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        }
        previous = char;
    }
    words.insert(singular(word));
    words.remove("");
    words
}

fn singular(mut word: String) -> String {
    if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    word
}

/// Returns the letters and digits of a text, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn letters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// Returns the fewest letters to insert, delete or replace, or neighbors to swap: the distance of optimal string
/// alignment. Returns `None` if there are more than `most`. Computed row by row, where a swap looks back two rows.
fn edits(from: &[char], to: &[char], most: usize) -> Option<usize> {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(at + 1);
        let mut left = at + 1;
        for (column, ((other, diagonal), above)) in to.iter().zip(&row).zip(row.iter().skip(1)).enumerate() {
            left = (diagonal + usize::from(letter != other)).min(left + 1).min(above + 1);
            let is_swap = at > 0 && column > 0 && from[at - 1] == *other && to[column - 1] == *letter;
            if let Some(swapped) = column.checked_sub(1).and_then(|column| before.get(column)).filter(|_| is_swap) {
                left = left.min(swapped + 1);
            }
            next.push(left);
        }
        // The next rows follow from these two, and have no smaller numbers.
        if next.iter().chain(&row).all(|edits| *edits > most) {
            return None;
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::{edits, letters, most_similar, words};

    #[test]
    fn a_few_edits_are_forgiven() {
        let known = ["leads", "soldLeads", "bookRate", "cost", "spend", "zip", "week", "campaign"];
        let similar = |name| most_similar(name, known);
        assert_eq!(similar("leeds"), ["leads"]);
        assert_eq!(similar("LEADS"), ["leads"]);
        assert_eq!(similar("bookRates"), ["bookRate"]);
        assert_eq!(similar("bookrate"), ["bookRate"]);
        assert_eq!(similar("ZIP"), ["zip"]);
        assert_eq!(similar("campaing"), ["campaign"]);
        assert_eq!(similar("x"), [""; 0]);
        assert_eq!(similar(""), [""; 0]);
        assert_eq!(similar("-"), [""; 0]);
        assert_eq!(similar("colour"), [""; 0]);
    }

    #[test]
    fn words_are_found_in_any_order_and_form() {
        let known =
            ["avgCostPerLead", "avgCostPerConversion", "leads", "bookRate", "stepBookRate", "customerCancelRate"];
        let similar = |name| most_similar(name, known);
        assert_eq!(similar("costPerLead"), ["avgCostPerLead"]);
        assert_eq!(similar("avg_cost_per_lead"), ["avgCostPerLead"]);
        assert_eq!(similar("Lead Cost"), ["avgCostPerLead"]);
        assert_eq!(similar("costPerLaed"), ["avgCostPerLead"]);
        assert_eq!(similar("number of leads"), ["leads"]);
        assert_eq!(similar("rateBook"), ["bookRate"]);
        assert_eq!(similar("booking-rate"), ["bookRate"]);
        assert_eq!(similar("cancellations"), ["customerCancelRate"]);
        assert_eq!(similar("leadColour"), [""; 0]);
    }

    #[test]
    fn values_that_differ_in_case_or_are_cut_are_found() {
        let channels = ["Paid Search", "Organic Search", "Direct Mail", "Google Ads"];
        assert_eq!(most_similar("paid search", channels), ["Paid Search"]);
        assert_eq!(most_similar("'Paid-Search'", channels), ["Paid Search"]);
        assert_eq!(most_similar("google", channels), ["Google Ads"]);
        assert_eq!(most_similar("search", channels), ["Organic Search", "Paid Search"]);
        assert_eq!(most_similar("Facebook", channels), [""; 0]);
        let numbers = ["+14385556972", "+14385556973", "6972"];
        assert_eq!(most_similar("(438) 555-6972", numbers), ["+14385556972"]);
        assert_eq!(most_similar("438-555-1111", numbers), [""; 0]);
    }

    #[test]
    fn names_are_split_into_words() {
        let words_of = |name| words(name).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(words_of("avgCostPerLeads"), "avg cost lead per");
        assert_eq!(words_of("CPLClosed_2026"), "2026 closed cpl");
        assert_eq!(words_of("--"), "");
    }

    #[test]
    fn edits_count_insertions_deletions_replacements_and_swaps() {
        for (from, to, distance) in [
            ("", "", 0),
            ("ab", "", 2),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("abc", "abc", 0),
            ("lead", "laed", 1),
            ("abcd", "badc", 2),
            ("ca", "abc", 3),
        ] {
            for most in 0..5 {
                let expected = (distance <= most).then_some(distance);
                assert_eq!(edits(&letters(from), &letters(to), most), expected, "{from} {to} {most}");
            }
        }
    }

    #[test]
    fn long_texts_are_not_compared_letter_by_letter() {
        // Letter by letter, each of these would take a minute.
        let long = |end: &str| "a".repeat(1 << 20) + end;
        assert_eq!(most_similar(&long("b"), [long("c").as_str(), "a"]), [""; 0]);
        let upper = long("b").to_uppercase();
        assert_eq!(most_similar(&long("b"), [upper.as_str()]), [&upper]);
    }
}
