//! Notices that the amounts of events may be in a column with another name than `total`. Without a column `total`, all
//! revenue is 0.

use super::dictionaries::lock;
use crate::Input;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use std::collections::BTreeMap;
use std::sync::Mutex;
use trueup_core::Shown;
use trueup_core::model::{TOTAL, amount_from_text, is_ignored_event_column};

/// Words in the names of columns that may hold amounts.
const MONEY_WORDS: [&str; 3] = ["revenue", "amount", "price"];

/// What the batches of one input, or of all inputs of a mapping, have shown. Several threads add to it.
#[derive(Default)]
pub(super) struct MissingTotal(Mutex<SeenColumns>);

#[derive(Default)]
struct SeenColumns {
    has_total: bool,
    /// The columns that are named like money, and whether they hold nothing but numbers.
    like_money: BTreeMap<String, bool>,
}

impl MissingTotal {
    /// Adds a batch, with the columns of the input.
    pub(super) fn look(&self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut seen = lock(&self.0);
        seen.has_total |= batch.column_by_name(TOTAL).is_some();
        if seen.has_total {
            return Ok(());
        }
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let name = field.name().to_lowercase();
            let is_named = MONEY_WORDS.iter().any(|word| name.contains(word)) && !is_ignored_event_column(field.name());
            if is_named
                && seen.like_money.get(field.name()) != Some(&false)
                && let Some(holds_numbers) = holds_numbers(column)?
            {
                seen.like_money.insert(field.name().clone(), holds_numbers);
            }
        }
        Ok(())
    }

    /// Returns the warning for the batches so far, and forgets them. `input` is the last input.
    pub(super) fn take_warning(&self, input: &Input) -> Option<String> {
        let SeenColumns { has_total, like_money } = std::mem::take(&mut *lock(&self.0));
        let named = like_money.into_iter().filter(|(_, holds_numbers)| *holds_numbers);
        let named: Vec<String> = named.map(|(name, _)| format!("`{}`", Shown(&name))).collect();
        if has_total || named.is_empty() {
            return None;
        }
        Some(format!(
            "`{}`: there is no column `total`, so that these events have no amounts and all revenue is 0; if the amounts are in \
             {}, name that column `total`",
            input.declared_by().display(),
            named.join(" or ")
        ))
    }
}

/// Returns whether all values of a column are numbers; `None` if there are no values.
fn holds_numbers(column: &ArrayRef) -> Result<Option<bool>, ArrowError> {
    let texts = arrow_cast::cast(column, &DataType::Utf8)?;
    let mut texts = texts.as_string::<i32>().iter().flatten().filter(|text| !text.is_empty()).peekable();
    Ok(texts.peek().is_some().then(|| texts.all(|text| amount_from_text(text).is_ok())))
}
