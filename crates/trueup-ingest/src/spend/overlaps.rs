//! Rows of spend that two inputs of an ingest share: equal in every column, as in two downloads of one report. All of
//! them count, so that money of both is a warning. A report of another platform, of other campaigns, or of the same
//! campaigns by device has other rows.

use super::spend_keys;
use crate::Input;
use crate::read::CheckedRows as _;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use std::collections::BTreeMap;
use trueup_core::model::SpendOrder;
use trueup_core::money::format_micros;
use trueup_core::{Day, Shown};

/// The inputs of rows, in the order in which the rows were added.
#[derive(Default)]
pub(super) struct Origins {
    /// The number of an input, `None` for stored rows, and the number of the row after its last one.
    runs: Vec<(Option<usize>, usize)>,
}

impl Origins {
    /// Adds a number of rows of an input.
    pub(super) fn add(&mut self, rows: usize, input: Option<usize>) {
        let end = self.runs.last().map_or(0, |(_, end)| *end) + rows;
        match self.runs.last_mut() {
            Some((last, last_end)) if *last == input => *last_end = end,
            _ => self.runs.push((input, end)),
        }
    }

    fn of(&self, row: u32) -> Option<usize> {
        self.runs.get(self.runs.partition_point(|(_, end)| *end <= row as usize))?.0
    }
}

/// The rows that inputs share, by the numbers of two inputs.
#[derive(Default)]
pub(super) struct Overlaps(BTreeMap<(usize, usize), Overlap>);

/// The rows that two inputs share.
#[derive(Default)]
struct Overlap {
    rows: u64,
    /// In millionths.
    money: i128,
    /// The first day, counted from 1970-01-01, and the first account that has it.
    first: Option<(i32, String)>,
}

/// The most pairs of inputs of an ingest that have a warning each.
const MAX_WARNINGS: usize = 3;

impl Overlaps {
    /// Adds the shared rows of a batch that have amounts. Of several inputs, each is compared with the first that has
    /// the row.
    pub(super) fn add(
        &mut self,
        batch: &RecordBatch,
        order: &SpendOrder<'_>,
        origins: &Origins,
    ) -> Result<(), ArrowError> {
        if origins.runs.len() < 2 {
            return Ok(());
        }
        for equal in order.equal_rows() {
            let mut rows_of: BTreeMap<usize, u64> = BTreeMap::new();
            for input in equal.iter().filter_map(|row| origins.of(*row)) {
                *rows_of.entry(input).or_default() += 1;
            }
            let (Some((first, rows_of_first)), true) = (rows_of.pop_first(), !rows_of.is_empty()) else { continue };
            let row = batch.slice(equal[0] as usize, 1);
            let totals = row.totals();
            let money = totals.ad_spend + totals.management_fee;
            let Some(key) = spend_keys(&row)?.next().filter(|_| money != 0) else { continue };
            for (other, rows) in rows_of {
                let overlap = self.0.entry((first, other)).or_default();
                let rows = rows.min(rows_of_first);
                overlap.rows += rows;
                overlap.money += money * i128::from(rows);
                let is_earlier = |(day, account): &(i32, String)| (key.day, key.account) < (*day, account.as_str());
                if overlap.first.as_ref().is_none_or(is_earlier) {
                    overlap.first = Some((key.day, key.account.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// Returns the warnings.
    pub(super) fn warnings(&self, inputs: &[&Input]) -> Vec<String> {
        let name = |input: usize| inputs.get(input).map_or_else(String::new, |input| input.shown.display().to_string());
        let warning = |((one, other), Overlap { rows, money, first }): (&(usize, usize), &Overlap)| {
            let (day, account) = first.as_ref()?;
            let day = Day::from_number(u16::try_from(*day).unwrap_or(u16::MAX));
            let (noun, count) = if *rows == 1 { ("row", "counts") } else { ("rows", "count") };
            Some(format!(
                "`{}` and `{}` have {rows} {noun} of spend in common, with {} that {count} twice, from account `{}` on {day}; if \
                 both are of the same report, ingest the newer one again by itself, which replaces these days",
                Shown(&name(*one)),
                Shown(&name(*other)),
                format_micros(*money),
                Shown(account)
            ))
        };
        let mut warnings: Vec<String> = self.0.iter().take(MAX_WARNINGS).filter_map(warning).collect();
        if self.0.len() > MAX_WARNINGS {
            let others = self.0.len() - MAX_WARNINGS;
            warnings.push(format!("{others} more pairs of inputs have rows of spend in common, which count twice"));
        }
        warnings
    }
}
