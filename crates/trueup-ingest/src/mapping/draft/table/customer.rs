//! Drafts what identifies the customers of events: phone numbers before addresses of mail, and both before ids, which
//! other systems do not have.

use super::export::regions_of;
use super::{DraftInput, Drafted, TableDraft, counted, distinct};
use crate::mapping::amounts::WrittenAmount;
use crate::mapping::draft::formats::{AmountForm, DateForm};
use crate::mapping::draft::names::{is_contact_name, is_id_name, is_money_name, is_number_name, rank};
use crate::mapping::draft::sample::ColumnSample;
use crate::mapping::draft::text::{Keys, quoted, source_with_others};
use hashbrown::HashSet;
use std::cmp::Reverse;
use trueup_core::Shown;
use trueup_core::model::OPPORTUNITY_ID;

/// The rows without a value that a column of ids may have: one of this many.
const ROWS_PER_GAP: usize = 10;

/// The fewest digits of a phone number.
const PHONE_DIGITS: usize = 7;

/// The digits of a phone number that are the same whatever stands before them. Shorter numbers lack their area.
const LAST_DIGITS: usize = 9;

/// What a column holds by which every system knows a person.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::mapping::draft) enum Contact {
    Phone,
    Mail,
}

impl ColumnSample {
    /// Returns which contacts of people the column holds, by its name and by most of its values; `None` if it does not.
    pub(in crate::mapping::draft) fn contact(&self) -> Option<Contact> {
        let mails = self.texts().filter(|text| text.contains('@')).count();
        let phones = self.texts().filter(|text| !text.contains('@') && digits(text).len() >= PHONE_DIGITS).count();
        let is_contact = is_contact_name(&self.name)
            && self.values.len() > 1
            && (mails + phones) * 2 > self.values.len()
            && DateForm::of(self).is_none();
        is_contact.then_some(if mails > phones { Contact::Mail } else { Contact::Phone })
    }
}

/// A column that identifies the customers of a file, or may do it best.
pub(super) struct CustomerIds<'a> {
    /// The name of the file.
    file: &'a str,
    column: &'a ColumnSample,
}

impl<'a> CustomerIds<'a> {
    pub(super) fn new(file: &'a str, column: &'a ColumnSample) -> Self {
        Self { file, column }
    }

    /// Returns what the values have in common however they are written: of phone numbers the last digits.
    fn keys(&self) -> HashSet<String> {
        let contact = self.column.contact();
        let key = |text: &str| {
            let digits = digits(text);
            if contact == Some(Contact::Phone) && digits.len() >= PHONE_DIGITS {
                return digits[digits.len().saturating_sub(LAST_DIGITS)..].to_owned();
            }
            if contact.is_some() { text.to_lowercase() } else { text.to_owned() }
        };
        self.column.texts().map(key).collect()
    }

    /// Returns the first of some other columns if none of them has a value in common with this one.
    fn apart_from<'o>(&self, others: &'o [CustomerIds<'a>]) -> Option<&'o CustomerIds<'a>> {
        let own = self.keys();
        let shares = |other: &CustomerIds<'_>| other.keys().iter().any(|key| own.contains(key));
        others.first().filter(|_| !own.is_empty() && !others.iter().any(shares))
    }
}

impl<'a> TableDraft<'a, '_> {
    /// Writes what identifies the customer, or asks for it. A file with phone numbers or addresses always has a
    /// question, because an id of its own system does not say which lead became which job.
    pub(super) fn customer(&mut self, drafted: &mut Drafted<'a>) {
        let certain = self.best(OPPORTUNITY_ID).filter(|column| column.empty == 0 && !is_name(column));
        let own = self.customer_columns(certain);
        let mut joined: Vec<(&DraftInput<'a>, &'a ColumnSample)> = self
            .joined
            .iter()
            .flat_map(|(_, input)| input.sample.columns.iter().map(move |column| (*input, column)))
            .filter(|(_, column)| column.contact().is_some())
            .collect();
        joined.sort_by_key(|(_, column)| column.contact() == Some(Contact::Mail));
        let has_contacts = !joined.is_empty() || own.iter().any(|column| column.contact().is_some());
        let file: &'a str = &self.sample.file_name;
        let best = match joined.first() {
            Some((input, column)) => Some(CustomerIds::new(&input.sample.file_name, column)),
            None => certain
                .filter(|_| !has_contacts)
                .or_else(|| own.first().copied())
                .map(|column| CustomerIds::new(file, column)),
        };
        let apart = best.as_ref().and_then(|ids| Some((ids, ids.apart_from(&drafted.customers)?)));
        let question = match (apart, certain.filter(|_| !has_contacts)) {
            (Some((ids, other)), _) => format!(
                "{} and {} of {} have no value in common: {}, but {}. A lead becomes revenue only where both files have the same id of the \
                 customer. Which is it?",
                quoted(&ids.column.name),
                quoted(&other.column.name),
                quoted(other.file),
                ids.column.examples(),
                other.column.examples()
            ),
            (None, Some(column)) => {
                self.used.insert(column.name.clone());
                let comment = format!("by its name; {} such as {}", distinct(column), column.examples());
                let line = format!("{OPPORTUNITY_ID} = {}", quoted(&self.named(column)));
                drafted.customers.extend(best);
                return self.text.noted(&line, &comment);
            }
            (None, None) => "no column is certainly the id of the customer. Which is it?".to_owned(),
        };
        let of_joined = joined.iter().map(|(input, column)| {
            let (line, note) = self.customer_line(&self.named_of(input, column), column, &[]);
            (line, format!("of {}: {note}", quoted(&input.name)))
        });
        let of_own = own.iter().map(|column| {
            let others = if self.is_full(column) { Vec::new() } else { self.in_place_of(column, &own) };
            self.customer_line(&self.named(column), column, &others)
        });
        let answers: Vec<(String, String)> = of_joined.chain(of_own).collect();
        drafted.customers.extend(best);
        self.text.question(&question, &answers);
    }

    /// Returns the columns of this file that may identify customers, the best first.
    fn customer_columns(&self, certain: Option<&ColumnSample>) -> Vec<&'a ColumnSample> {
        let event_id = self.event_id_column().map(|column| &column.name);
        // Rows without an id are refused, so a column may lack a few values; of contacts, another column may take their
        // place.
        let has_values = |column: &ColumnSample| {
            let gaps = if column.contact().is_some() { 2 } else { ROWS_PER_GAP };
            column.empty * gaps <= self.sample.rows && column.values.len() > 1
        };
        let is_certain = |column: &ColumnSample| certain.is_some_and(|certain| certain.name == column.name);
        let may_be = |column: &&ColumnSample| {
            (has_values(column) || is_certain(column))
                && !self.used.contains(&column.name)
                && event_id != Some(&column.name)
                && DateForm::of(column).is_none()
                && !is_measure(column)
        };
        let mut columns: Vec<&'a ColumnSample> = self.sample.columns.iter().filter(may_be).collect();
        columns.sort_by_key(|column| {
            let contact = column.contact();
            let class = if contact.is_some() { 0 } else { 2 - u8::from(is_contact_name(&column.name)) };
            // The numbers of a business are fewer than those of its customers.
            let count = contact.map(|_| Reverse(column.values.len()));
            (class, contact == Some(Contact::Mail), count, !is_certain(column), !is_id_name(&column.name))
        });
        columns
    }

    /// Returns whether a column of ids lacks few values.
    fn is_full(&self, column: &ColumnSample) -> bool {
        column.empty * ROWS_PER_GAP <= self.sample.rows
    }

    /// Returns what takes the place of the missing values of a column: other contacts, up to the first of `columns`
    /// that is full; none if no other is.
    fn in_place_of<'c>(&self, column: &ColumnSample, columns: &[&'c ColumnSample]) -> Vec<&'c ColumnSample> {
        let others = columns.iter().copied().filter(|other| other.name != column.name);
        let mut all = Vec::new();
        for other in others {
            if self.is_full(other) {
                all.push(other);
                return all;
            }
            if other.contact().is_some() {
                all.push(other);
            }
        }
        Vec::new()
    }

    /// Returns the line that makes a column the customer, and a note. `others` take the place of missing values.
    fn customer_line(&self, named: &str, column: &ColumnSample, others: &[&ColumnSample]) -> (String, String) {
        let alternatives: Vec<(String, Keys<'_>)> =
            others.iter().map(|other| (self.named(other), customer_keys(other))).collect();
        let gaps = gaps(column, others);
        let is_contact = is_contact_name(&column.name);
        let name = if is_name(column) && !is_contact { "; two people may have the same name" } else { "" };
        let has_digit = |text: &str| text.contains('@') || !digits(text).is_empty();
        let shared = column.values.iter().filter(|(text, rows)| *rows > 1 && is_contact && !has_digit(text));
        let shared: String = shared
            .take(3)
            .map(|(text, rows)| format!("; `{}` on {} would be one customer", Shown(text), counted(*rows)))
            .collect();
        let note = format!("{} such as {}{gaps}{name}{shared}", distinct(column), column.examples());
        let source = source_with_others(named, &customer_keys(column), &alternatives);
        (format!("{OPPORTUNITY_ID} = {source}"), note)
    }
}

/// Returns the keys that give the contacts of a column one spelling; none if it has ids.
fn customer_keys(column: &ColumnSample) -> Keys<'static> {
    let full = column.texts().filter(|text| digits(text).len() >= LAST_DIGITS).count();
    let has_areas = full * 2 > column.values.len();
    match (column.contact(), regions_of(column, None).into_iter().next().filter(|_| has_areas)) {
        (Some(Contact::Mail), _) => vec![("normalize", "email")],
        (Some(Contact::Phone), Some(region)) => vec![("normalize", "phone"), ("region", region)],
        _ => Vec::new(),
    }
}

/// Returns a note on the rows on which a column has no value, and on what takes its place there.
pub(super) fn gaps(column: &ColumnSample, others: &[&ColumnSample]) -> String {
    let names: Vec<String> = others.iter().map(|other| quoted(&other.name)).collect();
    match (column.empty, names.as_slice()) {
        (0, _) => String::new(),
        (rows, []) => format!("; empty on {}", counted(rows)),
        (rows, names) => format!("; on {}, {} takes its place", counted(rows), names.join(" or ")),
    }
}

/// Returns whether a column holds names, which two people may share: what has blanks is a name.
fn is_name(column: &ColumnSample) -> bool {
    column.texts().any(|text| text.trim().contains(char::is_whitespace))
}

/// Returns whether a column holds money, times or counts, which identify nobody.
fn is_measure(column: &ColumnSample) -> bool {
    let name = &column.name;
    let is_key = is_id_name(name) || is_contact_name(name);
    let is_count = ["clicks", "impressions"].iter().any(|measure| rank(measure, name).is_some());
    let is_named = is_money_name(name) || is_count || (is_number_name(name) && !is_key);
    let is_money = |text: &str| WrittenAmount::parse(text).is_some_and(|amount| amount.has_currency());
    // Ids have no decimals.
    let decimals = column.texts().filter(|text| text.contains(['.', ','])).count();
    let has_decimals = !is_key && decimals * 2 > column.values.len();
    (is_named || has_decimals || column.texts().any(is_money)) && AmountForm::of(column).is_some()
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}
