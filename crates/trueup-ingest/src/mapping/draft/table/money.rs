//! Drafts the amounts of events, and the currencies of tables.

use super::{Drafted, TableDraft};
use crate::mapping::draft::formats::{AmountForm, DateForm, fitting};
use crate::mapping::draft::names::{is_amount_name, is_currency_name, is_net_name, is_tax_name};
use crate::mapping::draft::sample::{ColumnSample, FileSample};
use crate::mapping::draft::text::{amount_sources, quoted};

/// Returns the column of a file that names the currencies of its amounts.
fn currency_column(sample: &FileSample) -> Option<&ColumnSample> {
    let is_code = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase());
    let mut columns = sample.columns.iter().filter(|column| is_currency_name(&column.name) && column.filled > 0);
    columns.find(|column| column.texts().all(is_code))
}

/// Returns the currencies that a column of a file names.
pub(super) fn currencies(sample: &FileSample) -> impl Iterator<Item = &str> {
    currency_column(sample).into_iter().flat_map(ColumnSample::texts)
}

impl<'a> TableDraft<'a, '_> {
    /// Writes what the amounts are in, if those of the files are in several currencies.
    pub(super) fn currency(&mut self, drafted: &Drafted<'_>) {
        let column = currency_column(self.sample).filter(|_| drafted.currencies.len() > 1);
        if let Some(column) = column {
            self.used.insert(column.name.clone());
            let line = format!("currency = {{ column = {} }}", quoted(&self.named(column)));
            self.text.noted(&line, &column.examples());
        }
    }

    /// Writes the amount of an event, or asks which it is.
    pub(super) fn amount_of_event(&mut self) {
        let free = self.sample.columns.iter().filter(|column| !self.used.contains(&column.name));
        let amounts: Vec<&'a ColumnSample> = free.collect();
        let of_name = |is_named: fn(&str) -> bool| {
            let named = amounts.iter().filter(|column| is_named(&column.name) && AmountForm::of(column).is_some());
            named.copied().collect::<Vec<_>>()
        };
        let (net, taxes) = (of_name(is_net_name), of_name(is_tax_name));
        match self.best("total") {
            Some(total) if net.is_empty() || taxes.is_empty() => self.amount("total", Some(total)),
            Some(total) => {
                let answers = [self.amount_answers(&net, "without tax"), self.amount_answers(&[total], "with tax")];
                let tax: Vec<String> = taxes.iter().map(|column| quoted(&column.name)).collect();
                let question =
                    format!("there are amounts with and without {}. Which is the revenue?", tax.join(" and "));
                self.text.question(&question, &answers.concat());
            }
            None => {
                let named = of_name(is_amount_name).into_iter().filter(|column| DateForm::of(column).is_none());
                let answers = self.amount_answers(&named.collect::<Vec<_>>(), "");
                if !answers.is_empty() {
                    self.text
                        .question("no column is certainly the amount of the event. Which is it, if any?", &answers);
                }
            }
        }
    }

    /// Returns lines that make columns the amount of the event.
    fn amount_answers(&self, columns: &[&ColumnSample], note: &str) -> Vec<(String, String)> {
        let forms = columns.iter().filter_map(|column| Some((*column, AmountForm::of(column)?)));
        let answers = forms.flat_map(|(column, form)| {
            let sources = amount_sources(&self.named(column), &form.readings);
            let is_open = sources.len() > 1;
            sources.into_iter().map(move |found| {
                let mark = if is_open { found.note } else { String::new() };
                let notes: Vec<String> =
                    [note.to_owned(), column.examples(), mark].into_iter().filter(|it| !it.is_empty()).collect();
                (format!("total = {}", found.source), notes.join("; ") + &fitting(&found.misfits))
            })
        });
        answers.collect()
    }
}
