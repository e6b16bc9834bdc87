//! The texts of a field: as columns of a table, and as lines.

use crate::output::{Format, ResultTableBuilder};
use std::fmt;
use trueup::Dataset;
use trueup::dictionary::{self, DimensionSource, Field, FieldKind, Metric};

/// A field of the dictionary, or a column that only the dataset has.
pub(super) struct FieldDescription<'a> {
    pub(super) name: &'a str,
    /// `None` for a column that only the dataset has.
    field: Option<&'static Field>,
    /// Whether the dataset has the field: false only for a stored dimension whose column the dataset does not have.
    /// `None` without a dataset.
    is_in_dataset: Option<bool>,
}

impl<'a> FieldDescription<'a> {
    pub(super) fn of(name: &'a str, dataset: Option<&Dataset>) -> Self {
        let field = dictionary::field(name);
        let has_column = |dataset: &Dataset| match field.map(|field| &field.kind) {
            Some(FieldKind::Dimension(dimension)) if dimension.source == DimensionSource::Stored => {
                dataset.columns().contains(name)
            }
            _ => true,
        };
        Self { name, field, is_in_dataset: dataset.map(has_column) }
    }

    /// Returns the fields of the dictionary, then the columns that only the dataset has. Leaves out the stored
    /// dimensions whose columns the dataset does not have.
    pub(super) fn all(dataset: Option<&'a Dataset>) -> Vec<Self> {
        let names = dictionary::fields().chain(dictionary::cohort_fields()).map(|field| field.name);
        let columns = dataset.into_iter().flat_map(|dataset| dataset.columns());
        let own = columns.map(String::as_str).filter(|name| dictionary::field(name).is_none());
        let fields = names.chain(own).map(|name| Self::of(name, dataset));
        fields.filter(|field| field.is_in_dataset != Some(false)).collect()
    }

    fn metric(&self) -> Option<&'static Metric> {
        match &self.field?.kind {
            FieldKind::Metric(metric) => Some(metric),
            FieldKind::Dimension(_) => None,
        }
    }

    pub(super) fn is_metric(&self) -> bool {
        self.metric().is_some()
    }

    fn kind(&self) -> &'static str {
        if self.is_metric() { "metric" } else { "dimension" }
    }

    fn display_name(&self) -> &'a str {
        self.field.map_or(self.name, |field| field.display_name)
    }

    fn definition(&self) -> &'static str {
        self.field.map_or("A column of the events of this dataset.", |field| field.definition)
    }

    fn format(&self) -> &'static str {
        self.field.map_or("text", |field| field.format.name())
    }

    /// Writes the field for people, as lines of a label and a text.
    pub(super) fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        writeln!(out, "{}: {}\n\n{}\n", self.name, self.display_name(), self.definition())?;
        writeln!(out, "type       {}, shown as {}", self.kind(), self.format())?;
        if let Some(metric) = self.metric() {
            writeln!(out, "unit       {}", metric.unit.name())?;
            writeln!(out, "formula    {}", metric.formula)?;
            let mut measures: Vec<_> = metric.formula.measures().collect();
            measures.dedup();
            for measure in measures {
                writeln!(out, "             {}: {}", measure.name(), measure.definition())?;
            }
            writeln!(out, "adds up    {}", metric.adds_up())?;
            writeln!(out, "better     {}", metric.direction.name())?;
        }
        if let Some(FieldKind::Dimension(dimension)) = self.field.map(|field| &field.kind) {
            let splits =
                if dimension.spend.is_some() { "is split by it" } else { "is not split: each value shows the whole" };
            writeln!(out, "spend      {splits}")?;
        }
        if let Some(field) = self.field.filter(|field| !field.values.is_empty()) {
            writeln!(out, "values     {}", field.values.join(", "))?;
        }
        if self.field.is_some_and(|field| field.benchmark) {
            writeln!(out, "benchmarks support it")?;
        }
        match self.is_in_dataset {
            Some(false) => writeln!(out, "dataset    no event has this column; it is empty on every row"),
            _ => Ok(()),
        }
    }
}

/// Returns the fields as a table, one row per field: for people only the most important columns, because a terminal is
/// narrow.
pub(super) fn table<'a>(fields: &[FieldDescription<'a>], format: Format) -> ResultTableBuilder {
    let column = |table: ResultTableBuilder, name: &str, text: &dyn Fn(&FieldDescription<'a>) -> &'a str| {
        table.texts(name, fields.iter().map(|field| text(field).to_owned()))
    };
    let table = column(ResultTableBuilder::default(), "name", &|field| field.name);
    let table = column(table, "type", &|field| field.kind());
    if format == Format::Table {
        let table = column(table, "unit", &|field| field.metric().map_or(field.format(), |metric| metric.unit.name()));
        return column(table, "definition", &|field| field.definition());
    }
    let table = column(table, "displayName", &|field| field.display_name());
    let table = column(table, "format", &|field| field.format());
    let table = column(table, "unit", &|field| field.metric().map_or("", |metric| metric.unit.name()));
    let formula = |field: &FieldDescription<'_>| field.metric().map(|metric| metric.formula.to_string());
    let table = table.texts("formula", fields.iter().map(|field| formula(field).unwrap_or_default()));
    let table = column(table, "addsUp", &|field| field.metric().map_or("", Metric::adds_up));
    column(table, "definition", &|field| field.definition())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueup::dictionary::Additivity;

    #[test]
    fn every_additivity_has_a_text() {
        for metric in FieldDescription::all(None).iter().filter_map(FieldDescription::metric) {
            assert_eq!(metric.additivity == Additivity::NOWHERE, metric.adds_up().starts_with("never"), "{metric:?}");
        }
    }
}
