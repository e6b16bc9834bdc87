//! Drafts the stages of events: of rows that are an event each, and of rows that are a customer each.

use super::{Drafted, TableDraft, counted};
use crate::mapping::canonical::stage_names;
use crate::mapping::draft::formats::{AmountForm, DateForm, fitting};
use crate::mapping::draft::kind::{LEAD, is_doubtful_stage, only_stage};
use crate::mapping::draft::names::{
    is_amount_name, is_change_name, is_doubtful, is_id_name, is_number_name, is_yes, stages_of,
};
use crate::mapping::draft::sample::ColumnSample;
use crate::mapping::draft::text::{SourceDraft, amount_sources, date_sources, key, quoted};

/// A stage of rows that are a customer each.
struct StageDraft {
    stage: &'static str,
    answers: Vec<SourceDraft>,
}

/// Returns whether the values of a column of amounts may be numbers of something else, because neither its name nor a
/// mark of a value says money.
fn may_be_number(column: &ColumnSample) -> bool {
    !is_amount_name(&column.name) && column.texts().all(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The fewest rows with different ids from which the draft concludes that each row is a customer.
const MIN_CUSTOMERS: usize = 10;

/// The rows of an id of customers that may have the value of another row: one of this many.
const ROWS_PER_REPETITION: usize = 10;

/// The stages whose amounts are money that was agreed on or earned.
const WITH_AMOUNTS: [&str; 2] = ["sold", "closed"];

impl<'a> TableDraft<'a, '_> {
    /// Notes what else may be made of the file: conversions, or closed work with amounts.
    pub(super) fn note_stages(&self, has_leads: bool, has_revenue: bool, drafted: &mut Drafted<'a>) {
        let file = self.sample.file_name.as_str();
        drafted.leads.extend(has_leads.then_some(file));
        drafted.revenue.extend(has_revenue.then_some(file));
    }

    /// Asks about a column that marks rows as canceled.
    pub(super) fn canceled_rows(&mut self) {
        let free = self.sample.columns.iter().filter(|column| !self.used.contains(&column.name));
        let mut marks = free.filter(|column| stages_of(&column.name) == ["canceled"]).filter_map(|column| {
            let mut yes = column.values.iter().filter(|(text, _)| is_yes(text));
            let few = column.values.len() <= 2 && !column.has_more;
            yes.next().filter(|_| few).map(|(text, rows)| (column, text, *rows))
        });
        if let Some((column, text, rows)) = marks.next() {
            self.used.insert(column.name.clone());
            let condition = format!("{{ {} = {} }}", key(&self.named(column)), quoted(text));
            let question = format!(
                "{} is `{}` on {}. Are these cancellations, whatever their stage says? Then this table leaves them out, and a copy of it \
                 reads them.",
                quoted(&column.name),
                trueup_core::Shown(text),
                counted(rows)
            );
            let answers = [
                (format!("unless = {condition}"), "here".to_owned()),
                (format!("where = {condition}"), "in the copy, with `type = { value = \"canceled\" }`".to_owned()),
            ];
            self.text.question(&question, &answers);
        }
    }

    /// Asks which rows are events, if some have no stage, or if each row seems to be a customer with its last stage.
    pub(super) fn rows_of_stages(&mut self, stage: Option<&str>) {
        let Some(column) = stage.and_then(|name| self.sample.column(name)) else { return };
        let name = key(&self.named(column));
        let condition = |text: &str| format!("{{ {name} = {} }}", quoted(text));
        if column.empty > 0 {
            let question = format!(
                "{} is empty on {}. The ingest refuses such rows unless this line leaves them out. Should it?",
                quoted(&column.name),
                counted(column.empty)
            );
            self.text.question(&question, &[(format!("unless = {}", condition("")), String::new())]);
        }
        let dates: Vec<&ColumnSample> =
            self.sample.columns.iter().filter(|column| DateForm::of(column).is_some()).collect();
        let named = self.best("opportunityId").or_else(|| self.sample.columns.iter().find(|it| is_id_name(&it.name)));
        let changed = dates.iter().find(|column| is_change_name(&column.name));
        let repeated = |id: &ColumnSample| id.values.iter().filter(|(_, rows)| *rows > 1).count();
        let why = match (named.filter(|id| id.filled >= MIN_CUSTOMERS), changed) {
            (Some(id), _) if repeated(id) == 0 => format!("no two rows have the same {}", quoted(&id.name)),
            (Some(id), _) if repeated(id) * ROWS_PER_REPETITION <= id.values.len() => {
                format!("few rows have the same {}", quoted(&id.name))
            }
            (None, Some(changed)) => format!("{} is when a row was last changed", quoted(&changed.name)),
            _ => return,
        };
        if dates.len() < 2 {
            return;
        }
        let question = format!(
            "{why}, so that each row seems to be a customer with its last stage, and its dates are those of several events. A lost \
             customer would then be a cancellation, and never a lead. If so, make this table that of the leads, with `type = {{ value = \
             \"lead-originated\" }}` in place of [events.columns.type], and the date of the lead; then copy it for \
             each stage, with its own type and date, and one of these lines. Under `Deals`, docs/mapping.md shows how."
        );
        let last = column.values.iter().filter_map(|(text, rows)| {
            let stage = only_stage(text).filter(|stage| *stage != LEAD)?;
            Some((format!("where = {}", condition(text)), format!("in a copy for `{stage}`; {}", counted(*rows))))
        });
        self.text.question(&question, &last.collect::<Vec<_>>());
    }

    /// Writes the type of events that have one row each.
    pub(super) fn stages_of_rows(&mut self, stage: Option<&str>, drafted: &mut Drafted<'a>) {
        let of_all = || {
            stage_names().into_iter().map(|stage| (format!("type = {{ value = {} }}", quoted(stage)), String::new()))
        };
        let Some(column) = stage.and_then(|name| self.sample.column(name)) else {
            let question = "no column looks like the stage of the event. Which stage are these rows?";
            return self.text.question(question, &of_all().collect::<Vec<_>>());
        };
        let may_be = |stage: &str| column.texts().any(|text| only_stage(text) == Some(stage) && !is_doubtful(text));
        let has_amount = self.sample.columns.iter().any(|it| is_amount_name(&it.name) && AmountForm::of(it).is_some());
        self.note_stages(may_be(LEAD), may_be("closed") && has_amount, drafted);
        if is_doubtful_stage(column) {
            let answers: Vec<(String, String)> = self.doubtful_stage(column).into_iter().chain(of_all()).collect();
            let question = format!(
                "is {} the stage of the event? It has the values {}, which may be those of a form or a payment. If not, which stage are \
                 these rows?",
                quoted(&column.name),
                column.examples()
            );
            return self.text.question(&question, &answers);
        }
        self.text.line("");
        self.text.line("[events.columns.type]");
        let line = format!("column = {}", quoted(&self.named(column)));
        self.text.noted(&line, "by its values");
        let known: Vec<(&str, usize, Vec<&str>)> =
            column.values.iter().map(|(text, rows)| (text.as_str(), *rows, stages_of(text))).collect();
        let is_certain = |text: &str, stages: &[&str]| stages.len() == 1 && !is_doubtful(text);
        let unknown: Vec<_> = known.iter().filter(|(text, _, stages)| !is_certain(text, stages)).collect();
        let mut answers = Vec::new();
        if !unknown.is_empty() {
            answers.push((
                "unmapped = \"skip\"".to_owned(),
                "leaves out the rows of every value that is not below".to_owned(),
            ));
            self.text.question("some values are not certainly stages. Are they? If so, map them below.", &answers);
        }
        self.text.line("");
        self.text.line("[events.columns.type.map]");
        for (text, rows, stages) in &known {
            let line = |stage: &str| format!("{} = {}", quoted(text), quoted(stage));
            match stages[..] {
                [stage] if is_certain(text, stages) => self.text.noted(&line(stage), &counted(*rows)),
                [] => self.text.line(&format!("#{}  # {}; no word of it means a stage", line("?"), counted(*rows))),
                _ => stages.iter().for_each(|stage| self.text.line(&format!("#{}  # {}", line(stage), counted(*rows)))),
            }
        }
    }

    /// Returns the type of events from a column that may hold no stages; `None` if no value means a single stage.
    fn doubtful_stage(&self, column: &ColumnSample) -> Option<(String, String)> {
        let certain = column.texts().filter(|text| !is_doubtful(text));
        let known = certain.filter_map(|text| Some(format!("{} = {}", quoted(text), quoted(only_stage(text)?))));
        let known: Vec<String> = known.collect();
        let others = if known.len() < column.values.len() { ", unmapped = \"skip\"" } else { "" };
        let line =
            format!("type = {{ column = {}, map = {{ {} }}{others} }}", quoted(&self.named(column)), known.join(", "));
        let note = if others.is_empty() { "it is" } else { "it is; rows with other values are left out" };
        (!known.is_empty()).then(|| (line, note.to_owned()))
    }

    /// Writes the stages of customers that have one row each.
    pub(super) fn stages_of_customers(&mut self, stage: Option<&str>, drafted: &mut Drafted<'a>) {
        let dated: Vec<(&ColumnSample, DateForm)> =
            self.sample.columns.iter().filter_map(|column| Some((column, DateForm::of(column)?))).collect();
        let amounts: Vec<(&ColumnSample, AmountForm)> = self
            .sample
            .columns
            .iter()
            .filter(|column| {
                !self.used.contains(&column.name)
                    && dated.iter().all(|(other, _)| other.name != column.name)
                    && !is_number_name(&column.name)
            })
            .filter_map(|column| Some((column, AmountForm::of(column)?)))
            .collect();
        let mut drafts: Vec<StageDraft> = Vec::new();
        for stage in stage_names() {
            let is_of = |column: &ColumnSample| stages_of(&column.name) == [stage];
            let of_any = |column: &ColumnSample| stages_of(&column.name).is_empty() && is_amount_name(&column.name);
            let mut totals: Vec<&(&ColumnSample, AmountForm)> =
                amounts.iter().filter(|(column, _)| is_of(column)).collect();
            // An amount whose name says no stage may be that of the work.
            let is_of_any = totals.is_empty() && WITH_AMOUNTS.contains(&stage);
            if is_of_any {
                totals = amounts.iter().filter(|(column, _)| of_any(column)).collect();
            }
            let mut answers = Vec::new();
            for (column, form) in dated.iter().filter(|(column, _)| is_of(column)) {
                let name = form.clock.column();
                for date in date_sources(&self.named(column), form, form.example(column), None) {
                    for (total, form) in &totals {
                        // Of several amounts, the values say which is which.
                        let is_open = totals.len() > 1 || is_of_any || may_be_number(total);
                        let note = if is_open { total.examples() } else { date.note.clone() };
                        let readings = amount_sources(&self.named(total), &form.readings).into_iter();
                        answers.extend(readings.map(|amount| SourceDraft {
                            source: format!("{name} = {}, total = {}", date.source, amount.source),
                            note: note.clone(),
                            misfits: [&date.misfits[..], &amount.misfits].concat(),
                        }));
                    }
                    let is_open = !totals.is_empty();
                    if is_of_any || totals.iter().all(|(total, _)| may_be_number(total)) {
                        let note = match (is_open, is_of_any) {
                            (true, true) => "without an amount".to_owned(),
                            (true, false) => "if these are numbers, and no amounts".to_owned(),
                            (false, _) => date.note,
                        };
                        answers.push(SourceDraft { source: format!("{name} = {}", date.source), note, ..date });
                    }
                }
                self.used.insert(column.name.clone());
            }
            // An amount of a stage without a date is not used.
            if !answers.is_empty() {
                self.used.extend(totals.iter().map(|(column, _)| column.name.clone()));
            }
            drafts.push(StageDraft { stage, answers });
        }
        let has = |stage: &str| drafts.iter().any(|draft| draft.stage == stage && !draft.answers.is_empty());
        let is_amount = |found: &SourceDraft| found.source.contains(", total = ");
        let has_revenue = drafts.iter().any(|draft| draft.stage == "closed" && draft.answers.iter().any(is_amount));
        self.note_stages(has(LEAD), has_revenue, drafted);
        let canceled = stage.and_then(|name| self.sample.column(name)).filter(|_| !has("canceled"));
        let open: Vec<&(&ColumnSample, DateForm)> =
            dated.iter().filter(|(column, _)| !self.used.contains(&column.name)).collect();
        self.rest("In events, a line such as `{}` makes one a dimension.");
        self.text.line("");
        self.text.line("[events.stages]");
        for StageDraft { stage, answers } in &drafts {
            let line = |source: &str| format!("{stage} = {{ {source} }}");
            match &answers[..] {
                [] => {}
                [only] => {
                    let comment = format!("by the names of its columns{}", fitting(&only.misfits));
                    self.text.noted(&line(&only.source), &comment);
                }
                several => {
                    let lines: Vec<(String, String)> =
                        several.iter().map(|found| (line(&found.source), found.comment())).collect();
                    self.text.question(&format!("which is right for {stage}?"), &lines);
                }
            }
        }
        if let Some(column) = canceled {
            self.canceled_customers(column, &dated);
        }
        for (column, form) in open {
            let (sources, stages) = (date_sources(&self.named(column), form, "", None), stages_of(&column.name));
            let stages = if stages.is_empty() { stage_names().to_vec() } else { stages };
            let name = form.clock.column();
            let answers = stages.iter().flat_map(|stage| {
                sources.iter().map(move |found| (format!("{stage} = {{ {name} = {} }}", found.source), String::new()))
            });
            let question =
                format!("{} holds dates such as {}. Of which stage, if any?", quoted(&column.name), column.examples());
            self.text.question(&question, &answers.collect::<Vec<_>>());
        }
    }

    /// Asks when customers were lost whose last stage says so, because no date has the name of this stage.
    fn canceled_customers(&mut self, column: &ColumnSample, dated: &[(&ColumnSample, DateForm)]) {
        let texts: Vec<&(String, usize)> =
            column.values.iter().filter(|(text, _)| only_stage(text) == Some("canceled")).collect();
        let names: Vec<String> = texts.iter().map(|(text, _)| quoted(text)).collect();
        if names.is_empty() {
            return;
        }
        let condition = format!("where = {{ {} = [{}] }}", key(&self.named(column)), names.join(", "));
        let answers = dated.iter().flat_map(|(date, form)| {
            let (name, examples) = (form.clock.column(), date.examples());
            let sources = date_sources(&self.named(date), form, "", None).into_iter();
            sources.map(move |found| (name, found.source, examples.clone()))
        });
        let answers: Vec<(String, String)> = answers
            .map(|(name, date, examples)| (format!("canceled = {{ {name} = {date}, {condition} }}"), examples))
            .collect();
        let rows: usize = texts.iter().map(|(_, rows)| rows).sum();
        let question = format!(
            "{} is {} on {}, but no column is named like the day of a cancellation. Which is it?",
            quoted(&column.name),
            names.join(", "),
            counted(rows)
        );
        self.text.question(&question, &answers);
    }
}
