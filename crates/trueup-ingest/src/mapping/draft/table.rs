//! Drafts the table that the rows of a file become.

use super::formats::{AmountForm, Clock, DateForm};
use super::kind::{FileKind, JoinKey};
use super::names::{ACCOUNT_LIKE, plain, rank, stages_of};
use super::sample::{ColumnSample, FileSample};
use super::text::{DraftText, amount_sources, date_sources, key, quoted, source};
use crate::mapping::canonical::STAGES;
use std::collections::BTreeSet;

/// An input of a draft.
pub(super) struct DraftInput<'a> {
    pub(super) name: String,
    pub(super) sample: &'a FileSample,
}

/// The table of a file while it is written.
pub(super) struct TableDraft<'a> {
    name: &'a str,
    sample: &'a FileSample,
    /// The inputs that are joined.
    joined: &'a [(&'a JoinKey, &'a DraftInput<'a>)],
    /// The columns that the table uses.
    used: BTreeSet<String>,
    text: &'a mut DraftText,
}

impl<'a> TableDraft<'a> {
    pub(super) fn new(
        input: &'a DraftInput<'a>,
        joined: &'a [(&'a JoinKey, &'a DraftInput<'a>)],
        text: &'a mut DraftText,
    ) -> Self {
        Self { name: &input.name, sample: input.sample, joined, used: BTreeSet::new(), text }
    }

    /// Writes the table. Adds columns of events that are empty on some rows to `copied`.
    pub(super) fn write(mut self, kind: &FileKind, copied: &mut Vec<String>) {
        match kind {
            FileKind::Events { stage } => {
                self.begin("events", "each row is an event");
                self.account();
                self.customer();
                self.dates("date");
                self.amount("total", self.best("total"));
                self.event_id();
                self.dimensions(&["attributionChannel", "attributionCategory", "campaign"], copied);
                self.used.extend(stage.clone());
                self.rest();
                self.stages_of_rows(stage.as_deref());
            }
            FileKind::Customers => {
                self.begin("events", "each row is a customer, with the dates of its stages");
                self.account();
                self.customer();
                self.dimensions(&["attributionChannel", "attributionCategory", "campaign"], &mut Vec::new());
                self.stages_of_customers();
            }
            FileKind::Spend => {
                self.begin("spend", "each row is the spend of a day");
                self.account();
                self.dates("date");
                self.dimensions(&["attributionCategory", "attributionChannel", "campaign"], &mut Vec::new());
                for name in ["adSpend", "managementFee", "clicks", "impressions"] {
                    self.amount(name, self.best(name));
                }
                self.rest();
            }
            FileKind::Joined(_) => {}
            FileKind::Unknown => {
                let columns: Vec<String> = self.sample.columns.iter().map(|column| quoted(&column.name)).collect();
                let question = format!(
                    "what are the rows of {}? They have no dates, and no other file has their keys. Its columns: {}",
                    quoted(&self.sample.file_name),
                    columns.join(", ")
                );
                let answer = format!(
                    "[[accounts]]\n#from = {}\n#columns = {{ account = \"...\", accountName = \"...\" }}",
                    quoted(self.name)
                );
                self.text.question(&question, &[(answer, String::new())]);
            }
        }
        self.text.line("");
    }

    fn begin(&mut self, table: &str, why: &str) {
        self.text.comment(&format!("{}: {why}.", quoted(&self.sample.file_name)));
        self.text.line(&format!("[[{table}]]"));
        self.text.line(&format!("from = {}", quoted(self.name)));
        let joins = self.joined.iter().map(|(join, input)| {
            let on = if join.here == join.there {
                quoted(&join.here)
            } else {
                format!("{{ {} = {} }}", key(&join.here), quoted(&join.there))
            };
            format!("{{ input = {}, on = {on}, unmatched = \"refuse\" }}", quoted(&input.name))
        });
        let joins: Vec<String> = joins.collect();
        if !joins.is_empty() {
            for (join, input) in self.joined {
                self.used.insert(join.here.clone());
                let unmatched = match join.unmatched {
                    0 => "every sampled key has a row".to_owned(),
                    count => format!(
                        "{count} sampled keys have no row: `keep` or `drop` such rows, or stop at them (`refuse`)"
                    ),
                };
                self.text.comment(&format!("Joined to {}: {unmatched}.", quoted(&input.name)));
            }
            self.text.line(&format!("join = [{}]", joins.join(", ")));
        }
        self.text.line("");
        self.text.line(&format!("[{table}.columns]"));
    }

    /// Returns the column whose name fits a canonical column best.
    fn best(&self, canonical: &str) -> Option<&'a ColumnSample> {
        let free = self.sample.columns.iter().filter(|column| !self.used.contains(&column.name));
        free.filter_map(|column| Some((rank(canonical, &column.name)?, column)))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, column)| column)
    }

    fn account(&mut self) {
        if let Some(column) = self.best("account") {
            self.used.insert(column.name.clone());
            let comment = format!("by its name; {}", column.examples());
            return self.text.noted(&format!("account = {}", quoted(&column.name)), &comment);
        }
        let looks_like = |column: &&ColumnSample| ACCOUNT_LIKE.contains(&plain(&column.name).as_str());
        let own = self.sample.columns.iter().filter(looks_like);
        let mut answers: Vec<(String, String)> =
            own.map(|column| (format!("account = {}", quoted(&column.name)), column.examples())).collect();
        for (join, input) in self.joined {
            let others =
                input.sample.columns.iter().filter(|column| column.name != join.there && column.data_type.is_string());
            answers.extend(others.map(|column| {
                let is_own = self.sample.column(&column.name).is_some();
                let name = if is_own { format!("{}.{}", input.name, column.name) } else { column.name.clone() };
                (format!("account = {}", quoted(&name)), format!("of {}: {}", quoted(&input.name), column.examples()))
            }));
        }
        answers.push(("account = { value = \"...\" }".to_owned(), "the same for every row".to_owned()));
        self.text.question(
            "no column is certainly the key of the account (the business, or the location of it). Which is it?",
            &answers,
        );
    }

    fn customer(&mut self) {
        if let Some(column) = self.best("opportunityId").filter(|column| column.empty == 0) {
            self.used.insert(column.name.clone());
            let comment = format!("by its name; {} distinct values such as {}", distinct(column), column.examples());
            return self.text.noted(&format!("opportunityId = {}", quoted(&column.name)), &comment);
        }
        let may_be =
            |column: &&ColumnSample| column.empty == 0 && column.values.len() > 1 && DateForm::of(column).is_none();
        let answers = self.sample.columns.iter().filter(may_be);
        let answers: Vec<(String, String)> = answers
            .map(|column| {
                let note = format!("{} distinct values such as {}", distinct(column), column.examples());
                (format!("opportunityId = {}", quoted(&column.name)), note)
            })
            .collect();
        self.text.question("no column is certainly the id of the customer. Which is it?", &answers);
    }

    fn event_id(&mut self) {
        match self.best("eventId").filter(|column| column.is_unique()) {
            Some(column) => {
                self.used.insert(column.name.clone());
                self.text.noted(&format!("eventId = {}", quoted(&column.name)), "by its name; every sampled row has another");
            }
            None => self.text.comment(
                "No column is known to be the id of the event (`eventId`). Without it, a longer export of the same file adds its rows again.",
            ),
        }
    }

    /// Writes `date` and `dateTime` of a table with one column of dates.
    fn dates(&mut self, canonical: &str) {
        let free = |column: &&ColumnSample| !self.used.contains(&column.name);
        let mut dated: Vec<(&ColumnSample, DateForm)> = self
            .sample
            .columns
            .iter()
            .filter(free)
            .filter_map(|column| Some((column, DateForm::of(column)?)))
            .collect();
        dated.sort_by_key(|(column, _)| rank("date", &column.name).unwrap_or(usize::MAX));
        let named = dated.iter().filter(|(column, _)| rank("date", &column.name).is_some()).count();
        if dated.len() > 1 && named != 1 {
            let answers = dated.iter().flat_map(|(column, form)| {
                let sources = date_sources(&column.name, form, "", None).into_iter();
                sources.map(|(source, _)| (format!("{canonical} = {source}"), column.examples()))
            });
            let answers: Vec<(String, String)> = answers.collect();
            return self.text.question("several columns hold dates. Which is the date of the row?", &answers);
        }
        let Some((column, form)) = dated.into_iter().next() else { return };
        self.used.insert(column.name.clone());
        let example = column.texts().next().unwrap_or_default();
        let comment = format!("fits every sampled value, such as {}", column.examples());
        if form.clock != Clock::Zoned {
            let sources = date_sources(&column.name, &form, example, None);
            let question =
                format!("which format do the dates of {} have? Each fits every sampled value.", quoted(&column.name));
            self.text.choice(canonical, &sources, &question, &comment);
        }
        match form.clock {
            Clock::Zoned => {
                let sources = date_sources(&column.name, &form, example, None);
                let question = format!(
                    "which format do the times of {} have? Each fits every sampled value.",
                    quoted(&column.name)
                );
                self.text.choice("dateTime", &sources, &question, &comment);
            }
            Clock::Local if canonical == "date" => {
                let sources = date_sources(&column.name, &form, example, Some("America/New_York"));
                let answers: Vec<(String, String)> = sources
                    .into_iter()
                    .map(|(source, note)| {
                        (format!("dateTime = {source}"), if form.formats.len() > 1 { note } else { String::new() })
                    })
                    .collect();
                let question = format!(
                    "the clock times of {} name no time zone. Which one is it? Without an answer, events keep their date alone.",
                    quoted(&column.name)
                );
                self.text.question(&question, &answers);
            }
            Clock::Local | Clock::None => {}
        }
    }

    fn amount(&mut self, canonical: &str, column: Option<&'a ColumnSample>) {
        let Some(column) = column else { return };
        let Some(form) = AmountForm::of(column) else {
            if column.filled > 0 {
                self.used.insert(column.name.clone());
                let question = format!(
                    "{} is named like an amount, but its values are not: {}. How are they read?",
                    quoted(&column.name),
                    column.examples()
                );
                let answer = (format!("{canonical} = {}", source(&column.name, &[("remove", "...")])), String::new());
                self.text.question(&question, &[answer]);
            }
            return;
        };
        self.used.insert(column.name.clone());
        let sources = amount_sources(&column.name, &form.readings);
        let question = format!("what is the decimal mark of {}, such as {}?", quoted(&column.name), column.examples());
        self.text.choice(canonical, &sources, &question, &format!("by its name; {}", column.examples()));
    }

    fn dimensions(&mut self, names: &[&str], copied: &mut Vec<String>) {
        for name in names {
            let Some(column) = self.best(name) else { continue };
            self.used.insert(column.name.clone());
            if column.empty > 0 && column.filled > 0 {
                copied.push((*name).to_owned());
            }
            let empty = if column.empty == 0 { String::new() } else { format!("; empty on {} rows", column.empty) };
            self.text.noted(
                &format!("{name} = {}", quoted(&column.name)),
                &format!("by its name; {}{empty}", column.examples()),
            );
        }
    }

    /// Names the columns that nothing uses.
    fn rest(&mut self) {
        let rest = self.sample.columns.iter().filter(|column| !self.used.contains(&column.name));
        let rest: Vec<&str> = rest.map(|column| column.name.as_str()).collect();
        if let Some(first) = rest.first() {
            let names: Vec<String> = rest.iter().map(|name| quoted(name)).collect();
            let (names, line) = (names.join(", "), format!("{} = {}", key(first), quoted(first)));
            self.text.comment(&format!("Not used: {names}. In events, a line such as `{line}` makes one a dimension."));
        }
    }

    /// Writes the type of events that have one row each.
    fn stages_of_rows(&mut self, stage: Option<&str>) {
        let Some(column) = stage.and_then(|name| self.sample.column(name)) else {
            let answers: Vec<(String, String)> =
                STAGES.iter().map(|stage| (format!("type = {{ value = {} }}", quoted(stage)), String::new())).collect();
            return self
                .text
                .question("no column looks like the stage of the event. Which stage are these rows?", &answers);
        };
        self.text.line("");
        self.text.line("[events.columns.type]");
        self.text.noted(&format!("column = {}", quoted(&column.name)), "by its values");
        let known: Vec<(&str, usize, Vec<&str>)> =
            column.values.iter().map(|(text, rows)| (text.as_str(), *rows, stages_of(text))).collect();
        let unknown: Vec<_> = known.iter().filter(|(_, _, stages)| stages.len() != 1).collect();
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
                [stage] => self.text.noted(&line(stage), &counted(*rows)),
                [] => self.text.line(&format!("#{}  # {}; no word of it means a stage", line("?"), counted(*rows))),
                _ => stages.iter().for_each(|stage| self.text.line(&format!("#{}  # {}", line(stage), counted(*rows)))),
            }
        }
    }

    /// Writes the stages of customers that have one row each.
    fn stages_of_customers(&mut self) {
        let dated: Vec<(&ColumnSample, DateForm)> =
            self.sample.columns.iter().filter_map(|column| Some((column, DateForm::of(column)?))).collect();
        let amounts: Vec<(&ColumnSample, AmountForm)> = self
            .sample
            .columns
            .iter()
            .filter(|column| {
                !self.used.contains(&column.name) && dated.iter().all(|(other, _)| other.name != column.name)
            })
            .filter_map(|column| Some((column, AmountForm::of(column)?)))
            .collect();
        let mut lines: Vec<(&str, Vec<(String, String)>)> = Vec::new();
        for stage in STAGES {
            let is_of = |column: &ColumnSample| stages_of(&column.name) == [stage];
            let totals: Vec<&(&ColumnSample, AmountForm)> =
                amounts.iter().filter(|(column, _)| is_of(column)).collect();
            let mut answers = Vec::new();
            for (column, form) in dated.iter().filter(|(column, _)| is_of(column)) {
                let name = if form.clock == Clock::Zoned { "dateTime" } else { "date" };
                for (date, note) in date_sources(&column.name, form, column.texts().next().unwrap_or_default(), None) {
                    let mut sources: Vec<(String, String)> = vec![(format!("{name} = {date}"), note)];
                    for (total, form) in &totals {
                        let readings = amount_sources(&total.name, &form.readings).into_iter();
                        let with = |(amount, _): &(String, String)| {
                            (format!("{}, total = {amount}", sources[0].0), sources[0].1.clone())
                        };
                        sources = readings.map(|reading| with(&reading)).collect();
                    }
                    answers.extend(sources);
                }
                self.used.insert(column.name.clone());
            }
            self.used.extend(totals.iter().map(|(column, _)| column.name.clone()));
            lines.push((stage, answers));
        }
        let open: Vec<&(&ColumnSample, DateForm)> =
            dated.iter().filter(|(column, _)| !self.used.contains(&column.name)).collect();
        self.rest();
        self.text.line("");
        self.text.line("[events.stages]");
        for (stage, answers) in &lines {
            let line = |source: &str| format!("{stage} = {{ {source} }}");
            match &answers[..] {
                [] => {}
                [(source, _)] => self.text.noted(&line(source), "by the names of its columns"),
                several => {
                    let lines: Vec<(String, String)> =
                        several.iter().map(|(source, note)| (line(source), note.clone())).collect();
                    self.text.question(&format!("which is right for {stage}?"), &lines);
                }
            }
        }
        for (column, form) in open {
            let (sources, stages) = (date_sources(&column.name, form, "", None), stages_of(&column.name));
            let stages = if stages.is_empty() { STAGES.to_vec() } else { stages };
            let answers = stages.iter().flat_map(|stage| {
                sources.iter().map(move |(date, _)| (format!("{stage} = {{ date = {date} }}"), String::new()))
            });
            let question = format!(
                "{} holds dates such as {}. Of which stage, if of any?",
                quoted(&column.name),
                column.examples()
            );
            self.text.question(&question, &answers.collect::<Vec<_>>());
        }
    }
}

fn distinct(column: &ColumnSample) -> String {
    if column.has_more { format!("more than {}", column.values.len()) } else { column.values.len().to_string() }
}

fn counted(rows: usize) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}
