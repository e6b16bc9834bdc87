//! Drafts the table of an export of a known product, as its file of data says.

use super::customer::{Contact, CustomerIds, gaps};
use super::dimensions::DimensionSource;
use super::{Drafted, TableDraft};
use crate::IngestError;
use crate::mapping::canonical::stage_names;
use crate::mapping::dates::{DateFormat, read_month};
use crate::mapping::draft::export::FoundExport;
use crate::mapping::draft::formats::{AmountForm, DateForm};
use crate::mapping::draft::kind::LEAD;
use crate::mapping::draft::sample::ColumnSample;
use crate::mapping::draft::text::{
    Keys, SourceDraft, amount_sources, date_sources, key, quoted, source, source_with_others,
};
use crate::mapping::known_exports::{ColumnLine, ExportSpread, ExportTable, Roles, StageLine};
use crate::mapping::normal::Normalizer;
use crate::mapping::template::{TemplatePart, template_parts};
use std::collections::BTreeSet;

/// The column that a mapping computes to find rows of totals, and what it has on them.
pub(in crate::mapping::draft) const TOTALS: (&str, &str) = ("Totals row", "Total");

/// Conditions on rows: columns, each with values.
type Conditions = Vec<(String, Vec<String>)>;

/// The dimensions that events and spend share.
const SHARED: [&str; 3] = ["attributionChannel", "attributionCategory", "campaign"];

/// The regions whose phone numbers are recognized, those of the products' customers first.
const REGIONS: [&str; 6] = ["US", "GB", "AU", "NZ", "IE", "ZA"];

impl<'a> TableDraft<'a, '_> {
    /// Writes the table of an export.
    pub(super) fn export(&mut self, found: &FoundExport, drafted: &mut Drafted<'a>) -> Result<(), IngestError> {
        let export = found.export;
        let table = match export.table {
            ExportTable::Events => "events",
            ExportTable::Spend => "spend",
        };
        let is_spend = export.table == ExportTable::Spend;
        if let Some(other) = export.held_by.as_ref().filter(|_| found.is_held) {
            let (file, what) = (quoted(&self.sample.file_name), &export.what);
            self.text.comment(&format!(
                "The {what} of {file} make no table: the {other} have them, and they would count twice."
            ));
            return Ok(());
        }
        self.begin(table, &export.rows);
        self.currency(drafted);
        self.text.line(&format!("source = {}", quoted(found.product.template)));
        self.rows_of_use(found);
        let dates = self.date_forms(found);
        if let Some(spread) = &export.spread {
            self.spread(found, spread, &dates);
        }
        self.begin_columns(table);
        let accounts: Vec<&ColumnSample> =
            found.columns(&export.account).filter_map(|name| self.sample.column(name)).collect();
        self.ask_account(&accounts, drafted);
        self.export_customer(found, drafted);
        if let Some(stage) = &export.stage {
            self.text.line(&format!("type = {{ value = {} }}", quoted(stage)));
            self.note_stages(stage == LEAD, false, drafted);
        }
        let mut written = BTreeSet::new();
        for line in &export.lines {
            if !written.contains(line.name.as_str()) && self.export_line(found, line, &dates, is_spend, drafted)? {
                written.insert(line.name.as_str());
            }
        }
        if !is_spend {
            if !written.contains("eventId") {
                self.text.comment(
                    "No column is an id of the event (`eventId`). Without it, a longer export of the same file adds its rows again.",
                );
            }
            let shared = SHARED.into_iter().filter(|name| written.contains(name));
            drafted.of_exports.push(shared.map(str::to_owned).collect());
        }
        self.use_stage_columns(found);
        self.rest(match export.table {
            ExportTable::Events => "In events, a line such as `{}` makes one a dimension.",
            ExportTable::Spend => "Spend has no other columns than those of docs/mapping.md.",
        });
        if !export.stages.is_empty() {
            self.export_stages(found, &dates, drafted);
        }
        Ok(())
    }

    /// Writes which rows are of use, and asks about rows that may be of none.
    fn rows_of_use(&mut self, found: &FoundExport) {
        let export = found.export;
        let only = found.conditions(&export.only, self.sample);
        let mut unless = found.conditions(&export.unless, self.sample);
        if export.has_totals {
            unless.insert(0, (TOTALS.0.to_owned(), vec![TOTALS.1.to_owned()]));
        }
        for (name, own, wanted) in [("where", only, true), ("unless", unless, false)] {
            let asked = export.ask.iter().find_map(|ask| {
                let conditions = if wanted { &ask.only } else { &ask.unless };
                let conditions = found.conditions(conditions, self.sample);
                let leaves_out = conditions.iter().any(|(column, values)| self.leaves_out(column, values, wanted));
                leaves_out.then_some((&ask.question, conditions))
            });
            let line = |conditions: &Conditions| format!("{name} = {}", self.conditions(conditions));
            match asked {
                Some((question, conditions)) => {
                    let mut answers = vec![(line(&[own.clone(), conditions].concat()), String::new())];
                    if !own.is_empty() {
                        answers.push((line(&own), "the other rows count".to_owned()));
                    }
                    self.text.question(question, &answers);
                }
                None if own.is_empty() => {}
                None => {
                    let line = line(&own);
                    self.text.line(&line);
                }
            }
        }
    }

    /// Returns whether a condition leaves out a sampled row.
    fn leaves_out(&self, column: &str, values: &[String], wanted: bool) -> bool {
        let Some(column) = self.sample.column(column) else { return false };
        let has = |text: &str| values.iter().any(|value| value == text);
        (column.empty > 0 && has("") != wanted) || column.texts().any(|text| has(text) != wanted)
    }

    /// Returns conditions as a table of TOML.
    fn conditions(&self, conditions: &Conditions) -> String {
        let condition = |(column, values): &(String, Vec<String>)| {
            let values = match values.as_slice() {
                [only] => quoted(only),
                several => format!("[{}]", several.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", ")),
            };
            format!("{} = {values}", key(&self.named_among(column, self.joined)))
        };
        format!("{{ {} }}", conditions.iter().map(condition).collect::<Vec<_>>().join(", "))
    }

    /// Returns the first column of the file that has one of some roles.
    fn of_role(&self, found: &FoundExport, roles: &Roles) -> Option<&'a ColumnSample> {
        roles.texts().iter().find_map(|role| self.sample.column(found.column(role)?))
    }

    /// Returns the forms of the columns of dates. The columns of a file have their days in one order, so that one
    /// column may decide what another leaves open.
    fn date_forms(&self, found: &FoundExport) -> DateForms {
        let export = found.export;
        let spread = export.spread.iter().flat_map(|spread| [&spread.from, &spread.to]).flatten();
        let lines = export.lines.iter().filter(|line| line.name == "date").filter_map(|line| line.from.as_ref());
        let stages = export.stages.iter().map(|line| &line.date);
        let roles = lines.chain(stages).flat_map(Roles::texts).chain(spread);
        DateForms::of_columns(roles.filter_map(|role| self.sample.column(found.column(role)?)))
    }

    fn spread(&mut self, found: &FoundExport, spread: &ExportSpread, dates: &DateForms) {
        let column = |role: &Option<String>| self.sample.column(found.column(role.as_ref()?)?);
        if let Some(month) = column(&spread.month) {
            self.used.insert(month.name.clone());
            let named = quoted(&self.named(month));
            let mut formats = month_formats(month);
            let is_known = !formats.is_empty();
            if !is_known {
                formats.push(Some("..."));
            }
            let sources: Vec<SourceDraft> = formats
                .into_iter()
                .map(|format| {
                    let format = format.map(|it| format!(", format = {}", quoted(it))).unwrap_or_default();
                    let (source, note) = (format!("{{ month = {named}{format} }}"), month.examples());
                    SourceDraft { source, note, misfits: Vec::new() }
                })
                .collect();
            let question =
                format!("which format do the months of {} have, such as {}?", quoted(&month.name), month.examples());
            if !is_known {
                let answers = sources.iter().map(|it| (format!("spread = {}", it.source), String::new()));
                return self.text.question(&question, &answers.collect::<Vec<_>>());
            }
            return self.text.choice("spread", &sources, &question, &month.examples());
        }
        let (Some(from), Some(to)) = (column(&spread.from), column(&spread.to)) else { return };
        self.spread_over(from, to, dates);
    }

    /// Writes what identifies the customer.
    fn export_customer(&mut self, found: &FoundExport, drafted: &mut Drafted<'a>) {
        let Some(roles) = &found.export.customer else { return };
        let column = |role: &String| self.sample.column(found.column(role)?);
        let of = |roles: &[String]| roles.iter().filter_map(column).collect::<Vec<_>>();
        let [phones, mails, ids, names] = [&roles.phone, &roles.email, &roles.id, &roles.name].map(|it| of(it));
        let filled = |column: &&ColumnSample| column.filled > 0 || self.sample.rows == 0;
        let certain: Vec<&ColumnSample> =
            [phones.clone(), mails.clone(), ids].concat().into_iter().filter(filled).collect();
        let Some((&first, more)) = certain.split_first() else {
            let answers: Vec<(String, String)> = names
                .iter()
                .map(|column| {
                    let note = format!("{}; two people may have the same name", column.examples());
                    (format!("opportunityId = {}", quoted(&self.named(column))), note)
                })
                .collect();
            let question = "this file identifies customers by their names alone. Is a name one customer? An export with phone numbers, \
                 addresses or ids is certain.";
            self.used.extend(names.iter().map(|column| column.name.clone()));
            return self.text.question(question, &answers);
        };
        self.used.insert(first.name.clone());
        let file = self.sample.file_name.as_str();
        let contact = |column: &ColumnSample| {
            let is_of = |columns: &[&ColumnSample]| columns.iter().any(|it| it.name == column.name);
            let phone = is_of(&phones).then_some(Contact::Phone);
            phone.or_else(|| is_of(&mails).then_some(Contact::Mail))
        };
        drafted.identified_by.push(match contact(first) {
            Some(Contact::Phone) => ("phone numbers", file),
            Some(Contact::Mail) => ("addresses of mail", file),
            None => ("ids of the product", file),
        });
        drafted.customers.push(CustomerIds::new(file, first));
        // Each takes the place of those before it, up to one that every row has.
        let mut others: Vec<&ColumnSample> = Vec::new();
        let more = if more.is_empty() { names.as_slice() } else { more };
        for &column in more {
            if others.last().unwrap_or(&first).empty == 0 {
                break;
            }
            if column.name != first.name && !others.iter().any(|other| other.name == column.name) {
                others.push(column);
            }
        }
        self.used.extend(others.iter().map(|column| column.name.clone()));
        let refused = if first.empty > 0 && others.is_empty() { ", which the ingest refuses" } else { "" };
        let comment = format!("{}{}{refused}", first.examples(), gaps(first, &others));
        let part = roles.phone_part.as_deref();
        let named = self.named(first);
        let others: Vec<(String, Option<Contact>)> =
            others.into_iter().map(|column| (self.named(column), contact(column))).collect();
        let line = |region: Option<&'static str>| {
            let keys = |contact: Option<Contact>| {
                let mut keys: Keys<'_> = Vec::new();
                match contact {
                    Some(Contact::Phone) => {
                        keys.extend(part.map(|part| ("extract", part)));
                        keys.push(("normalize", "phone"));
                        keys.extend(region.map(|region| ("region", region)));
                    }
                    Some(Contact::Mail) => keys.push(("normalize", "email")),
                    None => {}
                }
                keys
            };
            let others: Vec<(String, Keys<'_>)> =
                others.iter().map(|(name, contact)| (name.clone(), keys(*contact))).collect();
            format!("opportunityId = {}", source_with_others(&named, &keys(contact(first)), &others))
        };
        if contact(first) != Some(Contact::Phone) {
            let line = line(None);
            return self.text.noted(&line, &comment);
        }
        match regions_of(first, part)[..] {
            [region, ..] => {
                let line = line(Some(region));
                self.text.noted(&line, &format!("numbers without a country code are of this region; {comment}"));
            }
            [] => {
                let question = format!(
                    "of which region are the phone numbers of {} without a country code, such as {}?",
                    quoted(&first.name),
                    first.examples()
                );
                let answers: Vec<(String, String)> =
                    REGIONS.iter().map(|region| (line(Some(region)), String::new())).collect();
                self.text.question(&question, &answers);
            }
        }
    }

    /// Writes a column of the table. Returns whether the file has what it needs.
    fn export_line(
        &mut self,
        found: &FoundExport,
        line: &'static ColumnLine,
        dates: &DateForms,
        is_spend: bool,
        drafted: &mut Drafted<'a>,
    ) -> Result<bool, IngestError> {
        let name = line.name.as_str();
        if let Some(value) = &line.value {
            self.shared_dimension(name, DimensionSource::Constant(value), drafted, is_spend);
            return Ok(true);
        }
        if let Some(template) = &line.template {
            return self.template_line(found, line, template);
        }
        let Some(column) = line.from.as_ref().and_then(|roles| self.of_role(found, roles)) else { return Ok(false) };
        match name {
            "date" => {
                self.used.insert(column.name.clone());
                match dates.of(column) {
                    Some(form) => self.date_of(column, &form, !is_spend),
                    None => self.unknown_date(column),
                }
            }
            "total" | "adSpend" | "clicks" | "impressions" => self.amount(name, Some(column)),
            _ if SHARED.contains(&name) => {
                self.used.insert(column.name.clone());
                if column.empty > 0 && column.filled > 0 && !is_spend {
                    drafted.copied.push(name.to_owned());
                }
                self.shared_dimension(name, DimensionSource::Column(column), drafted, is_spend);
            }
            _ => {
                self.used.insert(column.name.clone());
                let line = format!("{name} = {}", quoted(&self.named(column)));
                self.text.noted(&line, &column.examples());
            }
        }
        Ok(true)
    }

    /// Writes a column that is made of several. An id that would stand for different rows is left out.
    fn template_line(&mut self, found: &FoundExport, line: &ColumnLine, template: &str) -> Result<bool, IngestError> {
        let parts = template_parts(template).unwrap_or_default();
        let mut columns = Vec::new();
        let mut written = String::new();
        for part in &parts {
            match part {
                TemplatePart::Text(text) => written.push_str(text),
                TemplatePart::Column(role) => {
                    let column = found.column(role).and_then(|name| self.sample.column(name));
                    // A template cannot name a column with braces.
                    let Some(column) = column.filter(|column| !column.name.contains(['{', '}'])) else {
                        return Ok(false);
                    };
                    written.push_str(&format!("{{{}}}", self.named(column)));
                    columns.push(column.name.as_str());
                }
            }
        }
        let extract = line.extract.as_deref().and_then(|pattern| regex::Regex::new(pattern).ok());
        let id = |values: &[&str]| {
            let part = |value: &&str| match &extract {
                Some(pattern) => pattern.find(value).map(|found| found.as_str().to_owned()),
                None => Some((*value).to_owned()).filter(|value| !value.is_empty()),
            };
            Some(values.iter().map(part).collect::<Option<Vec<_>>>()?.join("\u{1f}"))
        };
        if !self.sample.is_id(&columns, &id)? {
            let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
            self.text.comment(&format!(
                "{} cannot be the id of the event, because rows with the same value differ.",
                names.join(" with ")
            ));
            return Ok(false);
        }
        let extract = line.extract.iter().map(|pattern| format!(", extract = {}", quoted(pattern)));
        let source = format!("{{ template = {}{} }}", quoted(&written), extract.collect::<String>());
        let text = format!("{} = {source}", line.name);
        self.used.extend(columns.into_iter().map(str::to_owned));
        match line.note.as_str() {
            "" => self.text.line(&text),
            note => self.text.noted(&text, note),
        }
        Ok(true)
    }

    fn unknown_date(&mut self, column: &ColumnSample) {
        let named = self.named(column);
        if column.filled == 0 {
            let line = format!("date = {}", quoted(&named));
            return self.text.noted(&line, "no value was read");
        }
        let question =
            format!("which format do the dates of {} have, such as {}?", quoted(&column.name), column.examples());
        let line = format!("date = {}", source(&named, &[("format", "...")]));
        self.text.question(&question, &[(line, String::new())]);
    }

    /// Returns the lines of stages that count: of those with one stage, the first one whose roles the file has, or
    /// each one that answers a question.
    fn stage_lines(&self, found: &FoundExport) -> Vec<&'static StageLine> {
        let mut lines: Vec<&'static StageLine> = Vec::new();
        for line in &found.export.stages {
            let has_conditions = line.only.keys().chain(line.unless.keys()).all(|role| found.column(role).is_some());
            let is_answer = |other: &&StageLine| line.ask.is_some() && other.ask == line.ask;
            let is_new = lines.iter().all(|other| other.stage != line.stage || is_answer(other));
            if is_new && has_conditions && self.of_role(found, &line.date).is_some() {
                lines.push(line);
            }
        }
        lines
    }

    fn use_stage_columns(&mut self, found: &FoundExport) {
        for line in self.stage_lines(found) {
            let columns = [Some(&line.date), line.total.as_ref()].into_iter().flatten();
            let columns: Vec<String> =
                columns.filter_map(|roles| Some(self.of_role(found, roles)?.name.clone())).collect();
            self.used.extend(columns);
            let conditions: Vec<String> =
                line.only.keys().filter_map(|role| Some(found.column(role)?.to_owned())).collect();
            self.used.extend(conditions);
        }
    }

    fn export_stages(&mut self, found: &FoundExport, dates: &DateForms, drafted: &mut Drafted<'a>) {
        let lines = self.stage_lines(found);
        let mut open: Vec<&ColumnSample> = Vec::new();
        if let Some(pattern) = &found.export.other_stages {
            let taken: BTreeSet<&str> =
                lines.iter().filter_map(|line| Some(self.of_role(found, &line.date)?.name.as_str())).collect();
            let is_open = |column: &&ColumnSample| {
                crate::mapping::inputs::is_match(&pattern.to_lowercase(), &column.name.to_lowercase())
                    && !taken.contains(column.name.as_str())
            };
            open = self.sample.columns.iter().filter(is_open).collect();
        }
        let has_leads = lines.iter().any(|line| line.stage == LEAD && line.ask.is_none());
        let is_amount = |line: &&&StageLine| line.total.as_ref().is_some_and(|it| self.of_role(found, it).is_some());
        let has_revenue = lines.iter().filter(|line| line.stage == "closed").any(|line| is_amount(&line));
        self.note_stages(has_leads, has_revenue, drafted);
        self.text.line("");
        self.text.line("[events.stages]");
        let mut asked = BTreeSet::new();
        for line in &lines {
            match &line.ask {
                None => {
                    let sources = self.stage_sources(found, line, dates);
                    if let Some(question) = self.unknown_format(found, line, dates) {
                        let answers =
                            sources.iter().map(|it| (format!("{} = {}", line.stage, it.source), String::new()));
                        self.text.question(&question, &answers.collect::<Vec<_>>());
                        continue;
                    }
                    let question = format!("which is right for {}?", line.stage);
                    self.text.choice(&line.stage, &sources, &question, &self.stage_note(found, line));
                }
                Some(question) if asked.insert(question.as_str()) => {
                    let of_question = lines.iter().filter(|other| other.ask.as_ref() == Some(question));
                    let answers = of_question.flat_map(|other| {
                        self.stage_sources(found, other, dates).into_iter().map(|found| {
                            let comment = found.comment();
                            (format!("{} = {}", other.stage, found.source), comment)
                        })
                    });
                    let answers: Vec<(String, String)> = answers.collect();
                    self.text.question(question, &answers);
                }
                Some(_) => {}
            }
        }
        for column in open {
            let Some(form) = dates.of(column) else { continue };
            let sources = date_sources(&self.named(column), &form, form.example(column), None);
            let free = stage_names().into_iter().filter(|stage| lines.iter().all(|line| line.stage != *stage));
            let answers: Vec<(String, String)> = free
                .flat_map(|stage| {
                    sources.iter().map(move |found| {
                        (format!("{stage} = {{ {} = {} }}", form.clock.column(), found.source), found.comment())
                    })
                })
                .collect();
            if !answers.is_empty() {
                let question = format!("of which stage, if any, is {}?", quoted(&column.name));
                self.text.question(&question, &answers);
            }
        }
    }

    /// Returns a question about the dates of a stage whose format is not known.
    fn unknown_format(&self, found: &FoundExport, line: &StageLine, dates: &DateForms) -> Option<String> {
        let column = self.of_role(found, &line.date).filter(|column| column.filled > 0)?;
        let question =
            || format!("which format do the dates of {} have, such as {}?", quoted(&column.name), column.examples());
        dates.of(column).is_none().then(question)
    }

    fn stage_note(&self, found: &FoundExport, line: &StageLine) -> String {
        let date = self.of_role(found, &line.date).map(ColumnSample::examples).unwrap_or_default();
        if line.note.is_empty() { date } else { format!("{}; {date}", line.note) }
    }

    /// Returns the sources that a stage may have.
    fn stage_sources(&self, found: &FoundExport, line: &StageLine, dates: &DateForms) -> Vec<SourceDraft> {
        let Some(column) = self.of_role(found, &line.date) else { return Vec::new() };
        let of_date =
            |source: SourceDraft, name: &str| SourceDraft { source: format!("{name} = {}", source.source), ..source };
        let sources: Vec<SourceDraft> = match dates.of(column) {
            Some(form) => {
                let sources = date_sources(&self.named(column), &form, form.example(column), None);
                sources.into_iter().map(|source| of_date(source, form.clock.column())).collect()
            }
            None => {
                let note = if column.filled == 0 { "no value was read" } else { "its format is not known" };
                let source = source(&self.named(column), if column.filled == 0 { &[] } else { &[("format", "...")] });
                vec![of_date(SourceDraft { source, note: note.to_owned(), misfits: Vec::new() }, "date")]
            }
        };
        let mut conditions = String::new();
        for (name, of_line) in [("where", &line.only), ("unless", &line.unless)] {
            let resolved = found.conditions(of_line, self.sample);
            if !resolved.is_empty() {
                conditions += &format!(", {name} = {}", self.conditions(&resolved));
            }
        }
        let total = line.total.as_ref().and_then(|roles| self.of_role(found, roles));
        let amounts: Vec<Option<SourceDraft>> = match total.map(|column| (column, AmountForm::of(column))) {
            None => vec![None],
            Some((column, Some(form))) => {
                amount_sources(&self.named(column), &form.readings).into_iter().map(Some).collect()
            }
            Some((column, None)) => {
                let source = quoted(&self.named(column));
                vec![Some(SourceDraft { source, note: String::new(), misfits: Vec::new() })]
            }
        };
        let combined = sources.iter().flat_map(|date| {
            let conditions = &conditions;
            let is_open = amounts.len() > 1;
            amounts.iter().map(move |amount| {
                let (total, note, misfits): (String, &str, &[String]) = match amount {
                    None => (String::new(), "", &[]),
                    Some(amount) => (format!(", total = {}", amount.source), amount.note.as_str(), &amount.misfits),
                };
                let note = if is_open { format!("{}; {note}", date.note) } else { date.note.clone() };
                SourceDraft {
                    source: format!("{{ {}{total}{conditions} }}", date.source),
                    note,
                    misfits: [&date.misfits[..], misfits].concat(),
                }
            })
        });
        combined.collect()
    }
}

/// How the dates of a file are written.
pub(super) struct DateForms {
    /// Whether days come before months, if a column shows it.
    order: Option<bool>,
    /// That of the first column of dates.
    first: Option<DateForm>,
}

impl DateForms {
    pub(super) fn of_columns<'c>(columns: impl IntoIterator<Item = &'c ColumnSample>) -> Self {
        let forms: Vec<DateForm> = columns.into_iter().filter_map(DateForm::of).collect();
        let mut orders: Vec<bool> = forms.iter().filter_map(DateForm::decided_order).collect();
        orders.sort_unstable();
        orders.dedup();
        let order = if let [order] = orders[..] { Some(order) } else { None };
        Self { order, first: forms.into_iter().next() }
    }

    /// Returns the form of a column: that of another one if it has no values.
    pub(super) fn of(&self, column: &ColumnSample) -> Option<DateForm> {
        let form =
            if column.filled == 0 { self.first.clone().map(DateForm::without_misfits) } else { DateForm::of(column) };
        form.map(|form| match self.order {
            Some(order) => form.in_order(order),
            None => form,
        })
    }
}

/// Returns the formats that fit all months of a column: `None` is that of a mapping without the key `format`.
fn month_formats(column: &ColumnSample) -> Vec<Option<&'static str>> {
    const FORMATS: [&str; 5] = ["%b %Y", "%B %Y", "%m/%Y", "%m/%d/%Y", "%d/%m/%Y"];
    let fits = |format: Option<&DateFormat>| column.texts().all(|text| read_month(text, format).is_ok());
    if fits(None) {
        return vec![None];
    }
    let fitting = FORMATS.into_iter().filter(|text| DateFormat::new(text).is_some_and(|format| fits(Some(&format))));
    // `May 2026` fits the short and the long name of the month.
    let mut formats: Vec<Option<&'static str>> = fitting.map(Some).collect();
    if formats.contains(&Some("%b %Y")) {
        formats.retain(|format| *format != Some("%B %Y"));
    }
    formats
}

/// Returns the regions of which most of the phone numbers without a country code may be, the most likely first.
/// `part` is the expression of the part of a cell that is the number, if not the whole cell is.
pub(super) fn regions_of(column: &ColumnSample, part: Option<&str>) -> Vec<&'static str> {
    let part = part.and_then(|part| regex::Regex::new(part).ok());
    let number = |text| part.as_ref().and_then(|part| part.find(text)).map_or(text, |found| found.as_str());
    let cells = column.texts().filter(|text| text.bytes().any(|byte| byte.is_ascii_digit()));
    let numbers: Vec<&str> = cells.map(number).collect();
    let fits = |region: &&'static str| {
        let normalizer = Normalizer::Phone { region: (*region).to_owned() };
        let normal = numbers.iter().filter(|number| normalizer.normalized(number).is_some()).count();
        normal * 10 >= numbers.len() * 9
    };
    REGIONS.into_iter().filter(fits).collect()
}
