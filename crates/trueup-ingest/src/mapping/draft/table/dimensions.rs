//! Drafts the dimensions that events and spend share, and asks where their values differ.

use super::{Drafted, TableDraft, counted};
use crate::mapping::draft::sample::ColumnSample;
use crate::mapping::draft::text::quoted;
use hashbrown::HashSet;

/// A dimension of events or of spend.
pub(super) struct Dimension<'a> {
    name: &'static str,
    is_spend: bool,
    /// The name of the file.
    file: &'a str,
    column: &'a ColumnSample,
}

impl Dimension<'_> {
    /// Returns whether this dimension and `column` both have values, and have none in common.
    fn has_other_values(&self, column: &ColumnSample) -> bool {
        let known: HashSet<&str> = self.column.texts().collect();
        column.filled > 0 && !known.is_empty() && column.texts().all(|text| !known.contains(text))
    }
}

impl<'a> TableDraft<'a, '_> {
    /// Writes the dimensions that events and spend share. Returns the names of the partly empty ones.
    pub(super) fn dimensions(&mut self, drafted: &mut Drafted<'a>, is_spend: bool) -> Vec<String> {
        let mut partly_empty = Vec::new();
        for name in ["attributionChannel", "attributionCategory", "campaign"] {
            let Some(column) = self.best(name) else { continue };
            self.used.insert(column.name.clone());
            if column.empty > 0 && column.filled > 0 {
                partly_empty.push(name.to_owned());
            }
            let line = format!("{name} = {}", quoted(&self.named(column)));
            let has_other_values = |known: &&Dimension<'_>| {
                known.name == name && known.is_spend != is_spend && known.has_other_values(column)
            };
            match drafted.dimensions.iter().find(has_other_values) {
                Some(other) => self.other_values(name, column, other),
                None => {
                    let empty = match column.empty {
                        0 => String::new(),
                        rows => format!("; empty on {}", counted(rows)),
                    };
                    self.text.noted(&line, &format!("by its name; {}{empty}", column.examples()));
                }
            }
            drafted.dimensions.push(Dimension { name, is_spend, file: &self.sample.file_name, column });
        }
        partly_empty
    }

    /// Asks about a dimension that has no value in common with that of another table.
    fn other_values(&mut self, name: &str, column: &ColumnSample, other: &Dimension<'_>) {
        const LISTED: usize = 20;
        let question = format!(
            "{} and {} of {} have no value in common: {}, but {}. A row of a report has leads and spend only where the values are equal. \
             Which values mean the same?",
            quoted(&column.name),
            quoted(&other.column.name),
            quoted(other.file),
            column.examples(),
            other.column.examples()
        );
        let named = quoted(&self.named(column));
        let map: Vec<String> = column.texts().take(LISTED).map(|text| format!("{} = \"...\"", quoted(text))).collect();
        let answers = [
            (format!("{name} = {{ column = {named}, map = {{ {} }} }}", map.join(", ")), String::new()),
            (format!("{name} = {named}"), "none of them".to_owned()),
        ];
        self.text.question(&question, &answers);
    }
}
