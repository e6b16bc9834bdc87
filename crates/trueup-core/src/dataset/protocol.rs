//! The protocol of an ingest: what became of each row of its inputs, with control totals, which a person can tick off
//! against the totals of the platform that exported the file.

use crate::model::{SPEND_AMOUNTS, TOTAL};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeMap, HashSet};
use std::iter::Sum;
use std::ops::{AddAssign, SubAssign};

/// Some rows, and the sums of their amounts in millionths of a currency unit. Currencies are not told apart, as in the
/// total row of an export.
///
/// As JSON, an amount is a decimal text in currency units such as `"1234.5"`, because not every number of JSON is
/// exact; what is 0 is left out, except for the rows.
///
/// ```
/// use trueup_core::dataset::ControlTotals;
///
/// let totals = ControlTotals { rows: 2, ad_spend: 1_250_000, ..ControlTotals::default() };
/// assert_eq!(serde_json::to_string(&totals)?, r#"{"rows":2,"adSpend":"1.25"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlTotals {
    /// The number of rows.
    pub rows: u64,
    /// The sum of `total`, of events.
    #[serde(default, with = "amount", skip_serializing_if = "is_zero")]
    pub total: i128,
    /// The sum of `adSpend`, of spend.
    #[serde(default, with = "amount", skip_serializing_if = "is_zero")]
    pub ad_spend: i128,
    /// The sum of `managementFee`, of spend.
    #[serde(default, with = "amount", skip_serializing_if = "is_zero")]
    pub management_fee: i128,
    /// The rows that are not wholly in these sums, because one of their amounts cannot be read.
    #[serde(default, skip_serializing_if = "is_none")]
    pub without_amount: u64,
}

impl ControlTotals {
    /// Returns the totals of some rows, without their amounts.
    #[must_use]
    pub fn of_rows(rows: u64) -> Self {
        Self { rows, ..Self::default() }
    }

    /// Returns the sums by the names of their columns.
    #[must_use]
    pub const fn amounts(&self) -> [(&'static str, i128); 3] {
        [(TOTAL, self.total), (SPEND_AMOUNTS[0], self.ad_spend), (SPEND_AMOUNTS[1], self.management_fee)]
    }

    /// Adds millionths to the sum of a column; does nothing for a column that has no sum.
    pub fn add_amount(&mut self, column: &str, micros: i128) {
        match column {
            TOTAL => self.total += micros,
            column if column == SPEND_AMOUNTS[0] => self.ad_spend += micros,
            column if column == SPEND_AMOUNTS[1] => self.management_fee += micros,
            _ => {}
        }
    }
}

impl AddAssign for ControlTotals {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.total += other.total;
        self.ad_spend += other.ad_spend;
        self.management_fee += other.management_fee;
        self.without_amount += other.without_amount;
    }
}

impl SubAssign for ControlTotals {
    fn sub_assign(&mut self, other: Self) {
        self.rows = self.rows.saturating_sub(other.rows);
        self.total -= other.total;
        self.ad_spend -= other.ad_spend;
        self.management_fee -= other.management_fee;
        self.without_amount = self.without_amount.saturating_sub(other.without_amount);
    }
}

impl Sum for ControlTotals {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, totals| {
            sum += totals;
            sum
        })
    }
}

/// The lines of a file that are no rows, and therefore in no totals. Only files that a mapping reads have such lines.
///
/// As JSON, what is 0 is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkippedLines {
    /// The lines before the header, without blank ones.
    #[serde(default, skip_serializing_if = "is_none")]
    pub title_lines: u64,
    /// The lines without a value; of a sheet, those between its rows.
    #[serde(default, skip_serializing_if = "is_none")]
    pub blank_lines: u64,
    /// The rows with fewer cells than the header, if the mapping leaves them out.
    #[serde(default, skip_serializing_if = "is_none")]
    pub short_rows: u64,
}

impl SkippedLines {
    /// Returns the counts, each with what it counts.
    #[must_use]
    pub const fn counts(&self) -> [(&'static str, u64); 3] {
        [
            ("title lines", self.title_lines),
            ("blank lines", self.blank_lines),
            ("rows with fewer cells than the header", self.short_rows),
        ]
    }
}

impl AddAssign for SkippedLines {
    fn add_assign(&mut self, other: Self) {
        self.title_lines += other.title_lines;
        self.blank_lines += other.blank_lines;
        self.short_rows += other.short_rows;
    }
}

/// What became of the rows of one input in one table. A table of a mapping that reads a file is an input of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InputProtocol {
    /// The name of the file, without folders; of a distributed ingest, the number of its parts.
    pub input: String,
    /// The mapping and its table that made the rows; `None` if the file itself has the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapped_by: Option<String>,
    /// The rows that the dataset got. Later rows of the same ingest may have replaced some of them.
    pub taken: ControlTotals,
    /// The rows that were left out, by what left them out: a key of the mapping, or a few words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, ControlTotals>,
    /// The rows that break a rule, by rule.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rejected: BTreeMap<String, ControlTotals>,
    /// The rows beyond the first that joins, or the days of a period, made of one row of the file.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub joined: ControlTotals,
    /// The lines of the file that are no rows.
    #[serde(default, skip_serializing_if = "is_without_lines")]
    pub skipped: SkippedLines,
    /// The amounts that a mapping has converted, by currencies. Other totals are of converted amounts, too, except for
    /// those of rows that the mapping has left out or could not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub converted: Vec<ConvertedAmounts>,
    /// The values that `normalize` of a mapping leaves as they are, because they are no phone numbers or addresses.
    #[serde(default, skip_serializing_if = "is_none")]
    pub not_normal: u64,
}

impl InputProtocol {
    /// Adds the rows of another input.
    pub fn add(&mut self, other: Self) {
        self.taken += other.taken;
        self.joined += other.joined;
        self.skipped += other.skipped;
        self.not_normal += other.not_normal;
        other.converted.into_iter().for_each(|converted| converted.add_to(&mut self.converted));
        other.left_out.iter().for_each(|(cause, totals)| self.leave_out(cause, *totals));
        other.rejected.into_iter().for_each(|(rule, totals)| *self.rejected.entry(rule).or_default() += totals);
    }

    /// Adds rows that were left out, if there are any, and what left them out.
    pub fn leave_out(&mut self, cause: &str, totals: ControlTotals) {
        match self.left_out.get_mut(cause) {
            Some(known) => *known += totals,
            None if totals.rows > 0 => drop(self.left_out.insert(cause.to_owned(), totals)),
            None => {}
        }
    }

    /// Counts rows that were taken before as rejected, by rule.
    pub fn reject(&mut self, rejected: BTreeMap<String, ControlTotals>) {
        for (rule, totals) in rejected {
            self.taken -= totals;
            *self.rejected.entry(rule).or_default() += totals;
        }
    }

    /// Returns the rows that were read: all that were taken, left out or rejected, except for rows that a join added,
    /// and with amounts as they are in the file.
    #[must_use]
    pub fn read(&self) -> ControlTotals {
        let mut read: ControlTotals =
            self.left_out.values().chain(self.rejected.values()).chain([&self.taken]).copied().sum();
        read -= self.joined;
        for ConvertedAmounts { before, after, .. } in &self.converted {
            read += *before;
            read -= *after;
        }
        read
    }
}

/// The amounts that a mapping has converted from one currency to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConvertedAmounts {
    /// The currency that the amounts are in in the file.
    pub from: String,
    /// The currency that the dataset has them in.
    pub to: String,
    /// The rows with such amounts, and the sums of these in the file.
    pub before: ControlTotals,
    /// The same rows, and the sums of the converted amounts.
    pub after: ControlTotals,
    /// The rates that were used, by their days.
    pub rates: BTreeMap<String, String>,
}

impl ConvertedAmounts {
    /// Adds these amounts to those of the same currencies.
    pub fn add_to(self, all: &mut Vec<Self>) {
        let currencies = |converted: &Self| (converted.from.clone(), converted.to.clone());
        match all.binary_search_by_key(&currencies(&self), currencies) {
            Err(at) => all.insert(at, self),
            Ok(at) => {
                all[at].before += self.before;
                all[at].after += self.after;
                all[at].rates.extend(self.rates);
            }
        }
    }
}

/// Rows that an ingest replaced or removed, of one source and, of spend, one channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplacedRows {
    /// The source; empty for none.
    pub source: String,
    /// The `attributionChannel` of spend; empty for none, and for events.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The rows. Those of events may also be earlier rows of the same ingest.
    pub totals: ControlTotals,
}

/// What became of the rows of an ingest in one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TableProtocol {
    /// The rows of the inputs.
    pub inputs: Vec<InputProtocol>,
    /// The rows that were replaced, by source and channel: stored rows and, of events, earlier rows of the ingest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ReplacedRows>,
    /// The rows that were replaced, if they have more sources and channels than can be listed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub replaced_others: ControlTotals,
    /// Of the replaced rows, the stored events whose event id, or whose record, has another customer now.
    #[serde(default, skip_serializing_if = "is_none")]
    pub reassigned: u64,
    /// The stored rows that were removed with their source.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub removed: ControlTotals,
}

impl TableProtocol {
    /// Returns the names of the inputs, each once, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let names = self.inputs.iter().map(|input| input.input.as_str());
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the rows that were read.
    #[must_use]
    pub fn read(&self) -> ControlTotals {
        self.inputs.iter().map(InputProtocol::read).sum()
    }

    /// Returns the rows that were left out, whatever left them out.
    #[must_use]
    pub fn left_out(&self) -> ControlTotals {
        self.inputs.iter().flat_map(|input| input.left_out.values()).copied().sum()
    }

    /// Returns the rows that the dataset got.
    #[must_use]
    pub fn taken(&self) -> ControlTotals {
        self.inputs.iter().map(|input| input.taken).sum()
    }

    /// Returns the rows that break a rule.
    #[must_use]
    pub fn rejected(&self) -> ControlTotals {
        self.inputs.iter().flat_map(|input| input.rejected.values()).copied().sum()
    }

    /// Returns the rows that were replaced.
    #[must_use]
    pub fn all_replaced(&self) -> ControlTotals {
        self.replaced.iter().map(|replaced| replaced.totals).chain([self.replaced_others]).sum()
    }
}

/// The protocol of an ingest as people get it as JSON: with the rows that were read, which are the sum of the others.
///
/// ```
/// use std::collections::BTreeMap;
/// use trueup_core::dataset::{ControlTotals, InputProtocol, ProtocolReport, TableProtocol};
///
/// let rows = ControlTotals { total: 1_500_000, ..ControlTotals::of_rows(1) };
/// let left_out = BTreeMap::from([("no date".to_owned(), rows)]);
/// let input = InputProtocol { input: "a.csv".to_owned(), taken: rows, left_out, ..InputProtocol::default() };
/// let events = TableProtocol { inputs: vec![input], ..TableProtocol::default() };
/// let protocol = BTreeMap::from([("events".to_owned(), events)]);
/// let json = serde_json::to_value(ProtocolReport { version: 3, protocol: &protocol })?;
/// assert_eq!(json["tables"]["events"]["inputs"][0]["read"]["total"], "3");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ProtocolReport<'a> {
    /// The version that the ingest made.
    pub version: u64,
    /// What became of the rows, by table.
    pub protocol: &'a BTreeMap<String, TableProtocol>,
}

impl<'a> Serialize for ProtocolReport<'a> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Report<'a> {
            version: u64,
            tables: BTreeMap<&'a str, Table<'a>>,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Table<'a> {
            inputs: Vec<Input<'a>>,
            replaced: &'a [ReplacedRows],
            replaced_others: ControlTotals,
            reassigned: u64,
            removed: ControlTotals,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Input<'a> {
            input: &'a str,
            mapped_by: Option<&'a str>,
            read: ControlTotals,
            joined: ControlTotals,
            skipped: SkippedLines,
            taken: ControlTotals,
            left_out: &'a BTreeMap<String, ControlTotals>,
            rejected: &'a BTreeMap<String, ControlTotals>,
            converted: &'a [ConvertedAmounts],
            not_normal: u64,
        }
        let input = |input: &'a InputProtocol| Input {
            input: &input.input,
            mapped_by: input.mapped_by.as_deref(),
            read: input.read(),
            joined: input.joined,
            skipped: input.skipped,
            taken: input.taken,
            left_out: &input.left_out,
            rejected: &input.rejected,
            converted: &input.converted,
            not_normal: input.not_normal,
        };
        let table = |(name, table): (&'a String, &'a TableProtocol)| {
            let TableProtocol { inputs, replaced, replaced_others, reassigned, removed } = table;
            let (inputs, replaced_others, removed) = (inputs.iter().map(input).collect(), *replaced_others, *removed);
            (name.as_str(), Table { inputs, replaced, replaced_others, reassigned: *reassigned, removed })
        };
        let tables = self.protocol.iter().map(table).collect();
        Report { version: self.version, tables }.serialize(serializer)
    }
}

const fn is_zero(amount: &i128) -> bool {
    *amount == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde expects")]
const fn is_none(rows: &u64) -> bool {
    *rows == 0
}

fn is_empty(totals: &ControlTotals) -> bool {
    *totals == ControlTotals::default()
}

fn is_without_lines(skipped: &SkippedLines) -> bool {
    *skipped == SkippedLines::default()
}

/// Amounts as decimal texts in currency units.
mod amount {
    use crate::money::{format_micros, parse_micros};
    use serde::de::{Error as _, Unexpected};
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::borrow::Cow;

    pub(super) fn serialize<S: Serializer>(micros: &i128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_micros(*micros))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i128, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        parse_micros(&text).ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &"an amount"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_the_same_after_json() {
        for micros in [0, 1, -1, 1_500_000, -1_234_567_890_000_001, i128::from(i64::MAX) * 1_000_000_000] {
            let totals = ControlTotals { rows: 3, total: micros, management_fee: -micros, ..ControlTotals::default() };
            let text = serde_json::to_string(&totals).unwrap();
            assert_eq!(serde_json::from_str::<ControlTotals>(&text).unwrap(), totals, "{text}");
        }
        for text in ["1.", "", "-", "1e3", "+1", "--1", ".5", "0.0000001"] {
            let json = format!(r#"{{"rows":1,"total":"{text}"}}"#);
            assert!(serde_json::from_str::<ControlTotals>(&json).is_err(), "{text}");
        }
    }

    /// A file without such lines has the JSON that it had before there were any.
    #[test]
    fn lines_that_are_no_rows_are_in_no_totals() {
        let mut input = InputProtocol { input: "a.csv".to_owned(), ..InputProtocol::default() };
        assert_eq!(serde_json::to_string(&input).unwrap(), r#"{"input":"a.csv","taken":{"rows":0}}"#);
        let skipped = SkippedLines { title_lines: 2, short_rows: 1, ..SkippedLines::default() };
        input.add(InputProtocol { skipped, taken: ControlTotals::of_rows(3), ..InputProtocol::default() });
        let text = serde_json::to_string(&input).unwrap();
        assert!(text.contains(r#""skipped":{"titleLines":2,"shortRows":1}"#), "{text}");
        assert_eq!(serde_json::from_str::<InputProtocol>(&text).unwrap(), input);
        assert_eq!((input.read(), input.skipped), (ControlTotals::of_rows(3), skipped));
    }
}
