//! The section about targets.

use crate::ReportError;
use crate::document::{Block, Cell, Section, Table, TableRow, Text};
use crate::figure::{AnswerRow, display_name};
use crate::question::{Question, Questions};
use crate::sections::Subject;
use trueup::Dataset;
use trueup::dictionary::{self, FieldKind};

/// Returns the targets of the days of the report; `None` if the month has none for these accounts. Metrics that the
/// dataset defines are left out, as in all sections.
pub(crate) fn targets(
    subject: &Subject<'_>,
    dataset: &Dataset,
    questions: &mut Questions<'_>,
) -> Result<Option<Section>, ReportError> {
    let (accounts, range) = (subject.accounts, subject.period.range);
    let is_asked = |account: &String| accounts.is_empty() || accounts.contains(account);
    let is_of_report = |name: &str| {
        dataset.targets().iter().any(|(target, _)| {
            target.metric == name && target.month.is_same_month(range.start) && is_asked(&target.account)
        })
    };
    let metrics = dictionary::all_fields().filter(|field| matches!(field.kind, FieldKind::Metric(_)));
    let metrics: Vec<&str> = metrics.map(|field| field.name).filter(|name| is_of_report(name)).collect();
    if metrics.is_empty() {
        return Ok(None);
    }
    let answer = questions.ask(&Question::new(accounts, metrics.iter().copied(), range).targets())?;
    let row = AnswerRow::Group(0);
    let table_row = |metric: &&str| TableRow {
        name: display_name(metric).to_owned(),
        cells: ["", ".target", ".pace"].map(|part| Cell::new(answer.figure(row, &format!("{metric}{part}")))).into(),
        is_total: false,
    };
    let table = Table {
        caption: format!("{} and its targets; the pace is the value divided by the target", subject.period.name),
        headings: ["Metric", "Value", "Target", "Pace"].map(str::to_owned).into(),
        rows: metrics.iter().map(table_row).collect(),
    };
    let notes = answer.notes().iter().map(|note| Block::Paragraph(Text::of(format!("{note}."))));
    let blocks = [Block::Table(table)].into_iter().chain(notes).collect();
    Ok(Some(Section { id: "targets", heading: "Targets", blocks }))
}
