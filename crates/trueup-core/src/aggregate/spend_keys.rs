//! A dimension's values on rows of spend, as codes.

use super::QueryContext;
use super::day_tables::DayTable;
use crate::dictionary::SpendColumn;
use crate::scan::{SpendColumns, SpendTextColumn, TextDictionary};
use std::sync::Arc;

/// Codes of a column that spend carries.
pub(super) enum SpendKeyEncoder<'a> {
    /// The empty text on every row.
    Empty,
    Text(&'a SpendTextColumn),
    AccountName(&'a QueryContext<'a>, &'a SpendTextColumn),
    Day(&'a QueryContext<'a>, &'a DayTable, &'a [u16]),
}

impl<'a> SpendKeyEncoder<'a> {
    pub(super) fn new(context: &'a QueryContext<'a>, split: &'a SpendColumns, column: SpendColumn) -> Self {
        let [category, channel, campaign] = &split.texts;
        let stored = |texts: &'a Option<Arc<SpendTextColumn>>| texts.as_deref().map_or(Self::Empty, Self::Text);
        match column {
            SpendColumn::Account => Self::Text(&split.accounts),
            SpendColumn::AccountName => Self::AccountName(context, &split.accounts),
            SpendColumn::AttributionCategory => stored(category),
            SpendColumn::AttributionChannel => stored(channel),
            SpendColumn::Campaign => stored(campaign),
            SpendColumn::Date | SpendColumn::Week | SpendColumn::Month => {
                let table = context.calendar.spend_table(column);
                table.map_or(Self::Empty, |table| Self::Day(context, table, &split.days))
            }
        }
    }

    /// The texts by code.
    pub(super) fn texts(&self) -> TextDictionary {
        match self {
            Self::Empty => Arc::new(std::iter::once("").collect()),
            Self::Text(column) => column.texts.clone(),
            Self::AccountName(context, accounts) => context.account_names(&accounts.texts),
            Self::Day(_, table, _) => table.texts.clone(),
        }
    }

    /// Writes the codes of rows to `codes`.
    pub(super) fn fill(&self, rows: &[u32], codes: &mut Vec<u32>) {
        codes.clear();
        match self {
            Self::Empty => codes.resize(rows.len(), 0),
            Self::Text(column) | Self::AccountName(_, column) => column.codes.gather(rows, codes),
            Self::Day(context, table, days) => {
                codes.extend(rows.iter().map(|row| table.codes[context.calendar.offset(days[*row as usize])]));
            }
        }
    }
}
