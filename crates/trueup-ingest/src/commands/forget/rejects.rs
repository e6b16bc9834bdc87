//! The rows of customers to forget in files that `--rejects` of an ingest has written.

use super::Customer;
use crate::error::{ErrorContext, ErrorKind, OPEN};
use crate::monitor::{Monitor, Phase};
use crate::{IngestError, Outputs};
use hashbrown::HashMap;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, IntoInnerError, Read, Write};
use std::path::Path;
use trueup_core::dataset::without_credentials;
use trueup_core::model::{ACCOUNT, OPPORTUNITY_ID};

/// The most bytes of a line that are read, so that a file without line ends is not read as a whole.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// Removes the rows of some customers from a file of rejected rows, which is replaced as a whole. Returns the number of
/// these rows. A file without such rows stays as it is.
///
/// # Errors
/// The file cannot be read or replaced, is not of rejected rows, or belongs to a dataset.
pub(super) fn remove(
    path: &Path,
    dataset: &Path,
    customers: &BTreeSet<Customer>,
    monitor: &Monitor,
) -> Result<u64, IngestError> {
    let file = File::open(path).at(OPEN, &without_credentials(path))?;
    monitor.begin(Phase::ReadingRejects, fs::metadata(path).ok().map(|found| found.len()));
    let wanted = Wanted::new(customers);
    let kept = Outputs::new(true).dataset(dataset).create(path).map_err(ErrorKind::Output)?;
    if kept.place().is_none() {
        // A stream, or a descriptor, which leads to a file that would be written while it is read.
        return Err(io::Error::from(io::ErrorKind::Unsupported)).at("replace", path);
    }
    let mut kept = BufWriter::new(kept);
    let (mut lines, mut line) = (BufReader::new(file), Vec::new());
    let (mut number, mut removed) = (0, 0);
    while read_line(&mut lines, &mut line, MAX_LINE_BYTES).at("read", path)? > 0 {
        monitor.check()?;
        number += 1;
        let is_wanted = match serde_json::from_slice::<ReadRejectsLine>(&line) {
            Ok(row) => wanted.has(&row),
            Err(_) => return Err(ErrorKind::NotRejects { path: path.to_owned(), line: number }.into()),
        };
        if is_wanted {
            removed += 1;
        } else {
            kept.write_all(&line).at("write", path)?;
        }
        monitor.add(1, line.len() as u64);
        line.clear();
    }
    if removed > 0 {
        let file = kept.into_inner().map_err(IntoInnerError::into_error).at("write", path)?;
        file.keep().map_err(ErrorKind::Output)?;
    }
    Ok(removed)
}

/// Reads a line with its end, or the first `most` bytes of a longer one, which are no row.
fn read_line(lines: &mut impl BufRead, line: &mut Vec<u8>, most: u64) -> io::Result<usize> {
    lines.take(most).read_until(b'\n', line)
}

/// The customers, as rejected rows may name them.
struct Wanted<'c> {
    customers: &'c BTreeSet<Customer>,
    /// The accounts of each id.
    accounts: HashMap<&'c str, Vec<&'c str>>,
}

impl<'c> Wanted<'c> {
    fn new(customers: &'c BTreeSet<Customer>) -> Self {
        let mut accounts: HashMap<&str, Vec<&str>> = HashMap::new();
        for customer in customers {
            accounts.entry(&customer.opportunity_id).or_default().push(&customer.account);
        }
        Self { customers, accounts }
    }

    /// Returns whether a row is of one of the customers. A row without an account may be of any account. A row without
    /// the column of the customer, because a mapping reads it or it could not be divided into cells, is of a customer
    /// if any of its texts has the id as a word.
    fn has(&self, row: &ReadRejectsLine) -> bool {
        let (account, id) = (row.cell(ACCOUNT), row.cell(OPPORTUNITY_ID));
        if !id.is_empty() {
            let mut accounts = id.iter().filter_map(|id| self.accounts.get(&**id)).flatten();
            return accounts.any(|of| account.is_empty() || account.iter().any(|account| account == of));
        }
        let texts = || row.row.0.iter().map(|(_, text)| text).chain([&row.value]).flatten();
        let is_named = |customer: &Customer| texts().any(|text| has_word(text, &customer.opportunity_id));
        // A mapping may read the account from another column than `account`.
        self.customers.iter().any(is_named)
    }
}

/// Returns whether a text has a word: the word occurs, and neither a letter nor a digit is next to it. No text has the
/// empty word.
fn has_word(text: &str, word: &str) -> bool {
    let is_end = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric());
    let mut found = text.match_indices(word);
    !word.is_empty()
        && found.any(|(at, _)| is_end(text[..at].chars().next_back()) && is_end(text[at + word.len()..].chars().next()))
}

/// What a line of the file says of its row.
#[derive(Deserialize)]
struct ReadRejectsLine {
    value: Option<String>,
    row: Cells,
}

impl ReadRejectsLine {
    /// Returns what a cell may mean: its text without the blanks around it and, because older versions wrote the texts
    /// of a malformed JSON object with their quotes, the text within these quotes. A cell without a text means nothing.
    fn cell(&self, column: &str) -> Vec<Cow<'_, str>> {
        let cell = self.row.0.iter().find(|(name, _)| name == column);
        let Some(text) = cell.and_then(|(_, text)| text.as_deref()).map(str::trim) else { return Vec::new() };
        let unquoted = serde_json::from_str::<String>(text).ok().map(|text| text.trim().to_owned());
        if text.is_empty() || unquoted.as_ref().is_some_and(String::is_empty) {
            return Vec::new();
        }
        [Cow::Borrowed(text)].into_iter().chain(unquoted.map(Cow::Owned)).collect()
    }
}

/// The cells of a row by column. A name may occur twice, because that is a reason to reject a row.
struct Cells(Vec<(String, Option<String>)>);

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CellsVisitor;
        impl<'de> Visitor<'de> for CellsVisitor {
            type Value = Cells;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the cells of a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cells, A::Error> {
                let mut cells = Vec::new();
                while let Some(cell) = map.next_entry()? {
                    cells.push(cell);
                }
                Ok(Cells(cells))
            }
        }
        deserializer.deserialize_map(CellsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_removed(line: &str) -> bool {
        let customer = Customer { account: "acme".to_owned(), opportunity_id: "17".to_owned() };
        Wanted::new(&BTreeSet::from([customer])).has(&serde_json::from_str(line).unwrap())
    }

    #[test]
    fn a_row_is_of_a_customer_if_its_cells_say_so() {
        for (cells, expected) in [
            (r#"{"account":"acme","opportunityId":"17"}"#, true),
            (r#"{"account":"acme","opportunityId":" 17 "}"#, true),
            (r#"{"account":"","opportunityId":"17"}"#, true),
            (r#"{"account":"other","opportunityId":"17"}"#, false),
            (r#"{"account":"acme","opportunityId":"170","total":"17"}"#, false),
            (r#"{"account":"acme","opportunityId":null,"note":"of 17, late"}"#, true),
            (r#"{"Location":"Acme North","Lead":"17"}"#, true),
            (r#"{"Location":"Acme North","Lead":"A17"}"#, false),
            (r#"{"Lead":"x","Lead":"17"}"#, true),
            (r#"{"account":"Acme North","Lead":"17"}"#, true),
            (r#"{"account":"\"acme\"","opportunityId":"\" 17\"","total":"{}"}"#, true),
            (r#"{"account":"\"other\"","opportunityId":"\"17\"","total":"{}"}"#, false),
            (r#"{"account":"\"\"","opportunityId":"\"\"","note":"\"of 17\""}"#, true),
        ] {
            assert_eq!(is_removed(&format!(r#"{{"file":"a.csv","value":"late","row":{cells}}}"#)), expected, "{cells}");
        }
        assert!(is_removed(r#"{"file":"a.ndjson","value":"{\"opportunityId\": \"17\", ","row":{}}"#));
    }

    #[test]
    fn no_more_than_a_line_is_read_at_a_time() {
        let (mut lines, mut read) = (&b"{}\n{\"row\": 1}\n"[..], Vec::new());
        loop {
            let mut line = Vec::new();
            if read_line(&mut lines, &mut line, 5).unwrap() == 0 {
                break;
            }
            read.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(read, ["{}\n", "{\"row", "\": 1}", "\n"]);
    }

    #[test]
    fn a_customer_without_an_id_has_no_rows() {
        let customers = BTreeSet::from([Customer { account: "acme".to_owned(), opportunity_id: String::new() }]);
        let row = r#"{"file":"a.csv","value":"","row":{"account":"acme","note":"of 17, late"}}"#;
        assert!(!Wanted::new(&customers).has(&serde_json::from_str(row).unwrap()));
    }
}
