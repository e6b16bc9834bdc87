//! The rows that a table is made of: joined from its inputs, and picked by its conditions.

use super::amounts::SeeText;
use super::cells::{PickedRows, StringCells, UnpickedRows};
use super::columns::{ColumnRef, KnownColumns};
use super::conditions::{Condition, FirstTexts};
use super::declaration::{Conditions, Join, TableDeclaration, Unmatched};
use super::faults::FoundFault;
use super::held::{BufferedRows, HeldRow, MemoryUse};
use super::inputs::{InputColumn, OpenedInput, Reading};
use super::stored;
use crate::IngestError;
use crate::error::{ErrorContext, MappingFault, OfMapping};
use crate::source::{Input, InputReader, ReadLimits};
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trueup_core::Shown;
use trueup_core::files::Files;

/// How the rows of a table come from its inputs.
#[derive(Default)]
pub(super) struct RowPlan {
    /// The files of the first input, and how they are read.
    source: Option<(Vec<Input>, Files, ReadLimits)>,
    /// For each input of the table, its columns.
    columns: Vec<Vec<InputColumn>>,
    joins: Vec<JoinPlan>,
    /// The checksums of what the dataset holds for joins, by their keys.
    stored_rows: BTreeMap<String, String>,
    conditions: Vec<Condition>,
    /// The columns that are read as text.
    text_columns: BTreeSet<ColumnRef>,
    /// The texts of joined columns, by batch.
    held_texts: BTreeMap<ColumnRef, Vec<StringCells>>,
}

/// A join with an input whose rows are held in memory.
struct JoinPlan {
    held: Arc<BufferedRows>,
    index: JoinIndex,
    /// The key's columns on this side.
    here: Vec<ColumnRef>,
    unmatched: Unmatched,
    /// What rows found in an input, if rows without a match stay.
    matches: Option<Matches>,
    many: bool,
    /// The fault of a row that may not be unmatched, without its value.
    refusal: FoundFault,
    /// What leaves out a row that matches none.
    drop: Arc<str>,
}

/// What the rows of a table found in a joined input. Several threads note it.
#[derive(Default)]
struct Matches {
    /// The key of the join, and the input.
    key: String,
    input: String,
    is_found: AtomicBool,
    /// Whether a row that has a key found nothing.
    is_missed: AtomicBool,
}

impl Matches {
    fn note(&self, is_found: bool) {
        let flag = if is_found { &self.is_found } else { &self.is_missed };
        // Reading is much faster than writing when all threads do it.
        if !flag.load(Ordering::Relaxed) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Returns a warning if rows have keys, and the input has none of them.
    fn warning(&self) -> Option<String> {
        let [is_found, is_missed] = [&self.is_found, &self.is_missed].map(|flag| flag.load(Ordering::Relaxed));
        (is_missed && !is_found).then(|| {
            format!(
                "key `{}`: no row has a match in the input `{}`, so that its columns are empty; a join sees only the files of \
                 this ingest: give all files of the input, or join what the dataset holds with `stored = true`",
                Shown(&self.key),
                Shown(&self.input)
            )
        })
    }
}

/// A row may match this many combinations, even if the joined inputs have fewer rows.
const MIN_MATCHES: usize = 1 << 16;

impl RowPlan {
    /// Plans the rows of a table, and finds the columns that its keys can name. A table without an input has one row.
    pub(super) fn new(
        table: &TableDeclaration,
        inputs: &BTreeMap<String, OpenedInput>,
        key: &str,
        reading: Reading<'_>,
    ) -> Result<(Self, KnownColumns), IngestError> {
        let mut plan = Self::default();
        let Some(from) = &table.from else { return Ok((plan, KnownColumns::default())) };
        let mapping = reading.mapping;
        let source_files = inputs.get(from).map(|input| input.files.clone()).unwrap_or_default();
        plan.source = Some((source_files, reading.files.clone(), reading.limits));
        let mut known = plan.add_input(from, from, inputs, &format!("{key}.from")).of_mapping(mapping)?;
        for (at, join) in table.join.iter().enumerate() {
            plan.add_join(join, inputs, &mut known, &format!("{key}.join[{at}]"), reading)?;
        }
        let conditions = plan.plan_conditions([&table.only, &table.unless], &known, key).of_mapping(mapping)?;
        plan.conditions = conditions;
        Ok((plan, known))
    }

    /// Returns the plan of an input alone.
    pub(super) fn of_columns(columns: Vec<InputColumn>) -> Self {
        Self { columns: vec![columns], ..Self::default() }
    }

    /// Plans conditions: every row must meet all of `only`, and none of `unless`.
    pub(super) fn plan_conditions(
        &mut self,
        [only, unless]: [&Conditions; 2],
        known: &KnownColumns,
        key: &str,
    ) -> Result<Vec<Condition>, MappingFault> {
        let mut planned = Vec::new();
        for (name, conditions, wanted) in [("where", only, true), ("unless", unless, false)] {
            for (column, values) in conditions {
                let key = format!("{key}.{name}.{column}");
                let known = known.find(column, &key)?;
                let column = self.add_text(known.text(&key)?);
                planned.push(Condition::new(key, &known.alias, column, values.texts(), wanted));
            }
        }
        Ok(planned)
    }

    fn add_input(
        &mut self,
        name: &str,
        alias: &str,
        inputs: &BTreeMap<String, OpenedInput>,
        key: &str,
    ) -> Result<KnownColumns, MappingFault> {
        let opened = find_input(name, inputs, key)?;
        let known = KnownColumns::new(alias, self.columns.len(), opened);
        self.columns.push(opened.columns.clone());
        Ok(known)
    }

    fn add_join(
        &mut self,
        join: &Join,
        inputs: &BTreeMap<String, OpenedInput>,
        known: &mut KnownColumns,
        key: &str,
        reading: Reading<'_>,
    ) -> Result<(), IngestError> {
        let mapping = reading.mapping;
        let on = format!("{key}.on");
        let (there, held, named) = match &join.input {
            Some(input) => {
                let there = self.add_input(input, join.alias(), inputs, &format!("{key}.input")).of_mapping(mapping)?;
                let held = find_input(input, inputs, &on).of_mapping(mapping)?.held_rows(reading)?;
                (there, held, format!("the input `{input}`"))
            }
            None => {
                let stored = stored::join(join, key, reading)?;
                let there = KnownColumns::of_stored(join.alias(), self.columns.len(), &stored.columns);
                self.columns.push(stored.columns);
                self.stored_rows.insert(key.to_owned(), stored.checksum);
                (there, Arc::new(stored.held), "the dataset".to_owned())
            }
        };
        let (mut here_keys, mut there_keys, mut shared, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (here, other) in join.on.pairs() {
            let here = known.find(here, &on).of_mapping(mapping)?;
            let qualified = format!("{}.{other}", join.alias());
            let other = if join.stored { qualified.as_str() } else { other };
            let other = there.find(other, &on).of_mapping(mapping)?;
            names.push(here.name.clone());
            if here.name == other.name {
                shared.push(other.name.clone());
            }
            here_keys.push(self.add_text(here.text(&on).of_mapping(mapping)?));
            there_keys.push(other.text(&on).of_mapping(mapping)?);
        }
        let there_keys: Vec<&str> = there_keys.into_iter().map(|column| self.name_in_file(column)).collect();
        let index = JoinIndex::new(&held, &there_keys, reading)?;
        if let Some((value, rows)) = index.repeated.first_key_value().filter(|_| !join.many) {
            let advice = if join.stored { stored::advice(join) } else { String::new() };
            let different = if join.stored { "different " } else { "" };
            let reason = format!(
                "{named} has {rows} {different}rows with this key{advice}; with `many = true`, a row with the key counts once for each"
            );
            return Err(MappingFault::new(on, reason).with_value(value.join(", ")).at(mapping));
        }
        let expected = format!("expected a row of {named} with the same key");
        let refusal = FoundFault::new(&on, &names.join(", "), expected);
        let (unmatched, many) = (join.unmatched, join.many);
        let from = join.input.as_deref().unwrap_or("the dataset");
        let drop = format!("{key}: no row of {from} with the same key").into();
        let joined = join.input.as_ref().filter(|_| unmatched == Unmatched::Keep);
        // A missing input has a warning of its own.
        let joined = joined.filter(|name| inputs.get(*name).is_some_and(|input| !input.is_missing));
        let matches = joined.map(|input| Matches { key: key.to_owned(), input: input.clone(), ..Matches::default() });
        self.joins.push(JoinPlan { held, index, here: here_keys, unmatched, matches, many, refusal, drop });
        known.join(there, &shared);
        Ok(())
    }

    /// Records that a column is read as text. Returns the column.
    pub(super) fn add_text(&mut self, column: ColumnRef) -> ColumnRef {
        self.text_columns.insert(column);
        column
    }

    /// Ends the plan: makes texts of the joined columns that are read as text.
    pub(super) fn finish(mut self, reading: Reading<'_>) -> Result<Self, IngestError> {
        for at in self.text_columns.iter().filter(|at| at.input > 0) {
            let held = self.held(at.input - 1);
            let mut all = Vec::with_capacity(held.batches.len());
            for batch in &held.batches {
                let column = batch.column_by_name(self.name_in_file(*at));
                let texts = StringCells::of_column(batch, self.name_in_file(*at)).doing("read a joined input")?;
                // Texts share the memory of a column of `Utf8`.
                if column.is_some_and(|column| *column.data_type() != DataType::Utf8) {
                    reading.memory.add(texts.bytes(), MemoryUse::JoinedFile(held.last_file()))?;
                }
                all.push(texts);
            }
            self.held_texts.insert(*at, all);
        }
        Ok(self)
    }

    /// Returns the checksums of what the dataset holds for joins, by the keys of the joins.
    pub(super) const fn stored_rows(&self) -> &BTreeMap<String, String> {
        &self.stored_rows
    }

    /// Returns the rows of a joined input; the joins are counted from 0.
    pub(super) fn held(&self, join: usize) -> &BufferedRows {
        &self.joins[join].held
    }

    /// Returns the texts of a joined column, by batch.
    pub(super) fn held_texts(&self, at: ColumnRef) -> &[StringCells] {
        self.held_texts.get(&at).map_or(&[], Vec::as_slice)
    }

    /// Passes each text of a column to `see`, in the order of files and rows, with its form and its location in words.
    /// What cannot be read is passed over, because reading the rows reports it.
    pub(super) fn each_text(&self, at: ColumnRef, see: &mut SeeText<'_>) {
        if let Some(join) = at.input.checked_sub(1) {
            for (number, texts) in (0..).zip(self.held_texts(at)) {
                let rows = self.held(join).batches.get(number as usize).map_or(0, RecordBatch::num_rows);
                for row in 0..rows {
                    let held = HeldRow { batch: number, row: u32::try_from(row).unwrap_or(u32::MAX) };
                    let location = || {
                        let place = self.held(join).location(held);
                        place.map(|(path, location)| format!("{location} of `{}`", path.display())).unwrap_or_default()
                    };
                    if let Some(text) = texts.get(row) {
                        see(text, texts.form(row), &location);
                    }
                }
            }
            return;
        }
        let Some((inputs, files, limits)) = &self.source else { return };
        for input in inputs {
            let Ok(mut reader) = InputReader::open(files, input, *limits) else { continue };
            while let Ok(Some(chunk)) = reader.next() {
                let Ok(batches) = chunk.decode(Table::Events, *limits) else { break };
                for decoded in batches.filter_map(Result::ok) {
                    let Ok(texts) = StringCells::of_column(&decoded.batch, self.name_in_file(at)) else { continue };
                    for row in 0..decoded.batch.num_rows() {
                        let location = || format!("{} of `{}`", decoded.locations.in_file(row), input.shown.display());
                        if let Some(text) = texts.get(row) {
                            see(text, texts.form(row), &location);
                        }
                    }
                }
            }
        }
    }

    /// Returns the name of a column in its files.
    pub(super) fn name_in_file(&self, at: ColumnRef) -> &str {
        &self.columns[at.input][at.column].in_file
    }

    /// Returns the type of a column's values.
    pub(super) fn data_type(&self, at: ColumnRef) -> &DataType {
        &self.columns[at.input][at.column].data_type
    }

    /// Returns the most combinations of rows of the joined inputs that a row may match. These rows are held in memory,
    /// but what several joins make of them may be many times as much. A single join never exceeds the limit.
    fn most_matches(&self) -> usize {
        let batches = self.joins.iter().flat_map(|join| &join.held.batches);
        batches.map(RecordBatch::num_rows).sum::<usize>().max(MIN_MATCHES)
    }

    /// Returns a warning for each condition whose values no row has had, so that it left out every row, or none, and
    /// for each join that has found nothing.
    pub(super) fn warnings(&self) -> Vec<String> {
        let joins = self.joins.iter().filter_map(|join| join.matches.as_ref()?.warning());
        self.conditions.iter().filter_map(Condition::warning).chain(joins).collect()
    }

    /// Returns the texts of a batch of the first input, by column.
    pub(super) fn texts_of(&self, batch: &RecordBatch) -> Result<Vec<StringCells>, ArrowError> {
        let mut texts = vec![StringCells::Absent; self.columns.first().map_or(0, Vec::len)];
        for at in self.text_columns.iter().filter(|at| at.input == 0) {
            texts[at.column] = StringCells::of_column(batch, self.name_in_file(*at))?;
        }
        Ok(texts)
    }

    /// Picks rows by the conditions on columns of the first input, joins them, and picks by the other conditions: of a
    /// batch with `rows` rows, beginning with row `first`, until at least `limit` are picked
    /// or the batch ends; a row that matches several is never cut. Returns the picked rows, the rows that are
    /// left out, the row of the batch at which to go on, and the faults of rows that may not be unmatched, or that
    /// match too many.
    pub(super) fn pick(
        &self,
        texts: &[StringCells],
        first: usize,
        rows: usize,
        limit: usize,
    ) -> (PickedRows, UnpickedRows, usize, Vec<(usize, FoundFault)>) {
        let (picked, left_out) = (PickedRows::new(self.joins.len()), UnpickedRows::new(self.joins.len()));
        let others = vec![FirstTexts::default(); self.conditions.len()];
        let (chosen, faults) = (Vec::new(), Vec::new());
        let mut picker = RowPicker { plan: self, texts, chosen, left: 0, picked, left_out, others, faults };
        let most = self.most_matches();
        let mut row = first;
        while row < rows && picker.picked.len() < limit {
            if let Some(key) = picker.unmet(row, true) {
                picker.left_out.push(number(row), &[], key);
                row += 1;
                continue;
            }
            let (picked, left_out, faults) = (picker.picked.len(), picker.left_out.len(), picker.faults.len());
            picker.left = most;
            if !picker.pick(row) {
                let fault = picker.excess(row, most);
                picker.chosen.clear();
                // The row is refused as a whole.
                picker.picked.truncate(picked);
                picker.left_out.truncate(left_out);
                picker.faults.truncate(faults);
                picker.faults.extend(fault);
            }
            row += 1;
        }
        self.conditions.iter().zip(&picker.others).for_each(|(condition, others)| condition.add(others));
        (picker.picked, picker.left_out, row, picker.faults)
    }

    /// Returns rows of a batch of the first input without any joined row.
    pub(super) fn unjoined(&self, rows: impl Iterator<Item = usize>) -> PickedRows {
        let mut unjoined = PickedRows::new(self.joins.len());
        rows.for_each(|row| unjoined.push(number(row), &[]));
        unjoined
    }

    /// Returns whether a row may match several rows of an input.
    pub(super) fn has_many(&self) -> bool {
        self.joins.iter().any(|join| join.many)
    }
}

pub(super) fn find_input<'i>(
    name: &str,
    inputs: &'i BTreeMap<String, OpenedInput>,
    key: &str,
) -> Result<&'i OpenedInput, MappingFault> {
    inputs.get(name).ok_or_else(|| MappingFault::new(key, "no [input] has this name").with_value(name))
}

/// Picks the rows of a batch one by one. It calls itself for each join in turn, because each may match several rows.
struct RowPicker<'a> {
    plan: &'a RowPlan,
    texts: &'a [StringCells],
    /// The rows that are joined so far to the row that is being picked, by join.
    chosen: Vec<HeldRow>,
    /// The further combinations of rows that the row may match.
    left: usize,
    picked: PickedRows,
    left_out: UnpickedRows,
    /// What rows have instead of the values of the conditions.
    others: Vec<FirstTexts>,
    faults: Vec<(usize, FoundFault)>,
}

impl<'a> RowPicker<'a> {
    /// Returns the key of the first condition that a row does not meet: of those on columns of the first input if
    /// `is_own`, which no join can change, or else of those on joined columns.
    fn unmet(&mut self, row: usize, is_own: bool) -> Option<&'a Arc<str>> {
        let (plan, mut first_unmet, mut others) = (self.plan, None, std::mem::take(&mut self.others));
        let conditions = plan.conditions.iter().zip(&mut others);
        // Each of them sees every row, because a value that no row has is worth a warning.
        for (condition, others) in conditions.filter(|(condition, _)| (condition.column.input == 0) == is_own) {
            if !condition.is_met(self.text(condition.column, row).unwrap_or(""), others) {
                first_unmet = first_unmet.or(Some(&condition.key));
            }
        }
        self.others = others;
        first_unmet
    }

    /// Joins the next input to a row of the first input, and then the inputs after it. Returns false once the row
    /// matches too many; `chosen` then has the rows of the first combination too many.
    fn pick(&mut self, row: usize) -> bool {
        let Some(join) = self.plan.joins.get(self.chosen.len()) else {
            // A combination that a condition leaves out counts, too, because trying it takes time.
            if !self.count() {
                return false;
            }
            match self.unmet(row, false) {
                None => self.picked.push(number(row), &self.chosen),
                Some(key) => self.left_out.push(number(row), &self.chosen, key),
            }
            return true;
        };
        let key = join_key(join.here.iter().map(|column| self.text(*column, row)));
        let has_key = key.is_some();
        let (first, others) = key.map_or((None, &[][..]), |key| join.index.find(&key));
        if let Some(matches) = join.matches.as_ref().filter(|_| has_key) {
            matches.note(first.is_some());
        }
        match (first, join.unmatched) {
            (Some(first), _) => [first].iter().chain(others).all(|held| self.pick_with(*held, row)),
            (None, Unmatched::Keep) => self.pick_with(HeldRow::NONE, row),
            (None, Unmatched::Drop) => {
                self.left_out.push(number(row), &self.chosen, &join.drop);
                self.count()
            }
            (None, Unmatched::Refuse) => {
                if !self.count() {
                    return false;
                }
                let mut fault = join.refusal.clone();
                fault.value = self.key_text(join, row);
                self.faults.push((row, fault));
                true
            }
        }
    }

    /// Joins a row of the next input, and then the inputs after it.
    fn pick_with(&mut self, held: HeldRow, row: usize) -> bool {
        self.chosen.push(held);
        let fits = self.pick(row);
        if fits {
            self.chosen.pop();
        }
        fits
    }

    /// Counts a combination of rows. Returns whether the row may match it.
    fn count(&mut self) -> bool {
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }

    /// Returns the fault of a row that matches more than `most` combinations, at its last join with `many`. Without
    /// such a join, a row matches at most one combination.
    fn excess(&self, row: usize, most: usize) -> Option<(usize, FoundFault)> {
        let join = self.plan.joins[..self.chosen.len()].iter().rfind(|join| join.many)?;
        let mut fault = join.refusal.clone();
        fault.value = self.key_text(join, row);
        fault.expected = format!("expected a key that at most {most} combinations of rows of the joined inputs match");
        Some((row, fault))
    }

    /// Returns the key of a row in a join.
    fn key_text(&self, join: &JoinPlan, row: usize) -> String {
        let texts: Vec<&str> = join.here.iter().filter_map(|column| self.text(*column, row)).collect();
        texts.join(" ")
    }

    fn text(&self, at: ColumnRef, row: usize) -> Option<&str> {
        let Some(join) = at.input.checked_sub(1) else { return self.texts[at.column].trimmed(row) };
        let held = self.chosen[join];
        self.plan.held_texts(at).get(held.batch as usize)?.trimmed(held.row as usize)
    }
}

/// Returns the number of a row of a batch. No batch has more rows than a `u32` can count.
fn number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

/// The rows of a joined input by key. Keys are compared as text, and an empty key is no key.
#[derive(Default)]
struct JoinIndex {
    first: HashMap<Box<str>, HeldRow>,
    /// The further rows of keys that several rows have.
    others: HashMap<Box<str>, Vec<HeldRow>>,
    /// The keys that several rows have, and the number of these rows.
    repeated: BTreeMap<Vec<String>, usize>,
}

/// Bytes of memory that a key of a [`JoinIndex`] takes besides its text, approximately.
const KEY_BYTES: usize = 80;

impl JoinIndex {
    fn new(held: &BufferedRows, columns: &[&str], reading: Reading<'_>) -> Result<Self, IngestError> {
        let mut index = Self::default();
        for (number, batch) in (0..).zip(&held.batches) {
            let texts = columns.iter().map(|name| StringCells::of(batch.column_by_name(name)));
            let texts: Vec<StringCells> = texts.collect::<Result<_, _>>().doing("read the keys of a join")?;
            let texts_of_keys: usize = texts.iter().map(StringCells::bytes).sum();
            let bytes = texts_of_keys + batch.num_rows() * KEY_BYTES;
            reading.memory.add(bytes, MemoryUse::JoinedFile(held.last_file()))?;
            for row in 0..batch.num_rows() {
                let Some(key) = join_key(texts.iter().map(|texts| texts.trimmed(row))) else { continue };
                let held = HeldRow { batch: number, row: u32::try_from(row).unwrap_or(u32::MAX) };
                if !index.first.contains_key(key.as_ref()) {
                    index.first.insert(key.into(), held);
                    continue;
                }
                let parts = texts.iter().map(|texts| texts.trimmed(row).unwrap_or_default().to_owned());
                *index.repeated.entry(parts.collect()).or_insert(1) += 1;
                index.others.entry(key.into()).or_default().push(held);
            }
        }
        Ok(index)
    }

    /// Returns the rows with a key: the first, and the others.
    fn find(&self, key: &str) -> (Option<HeldRow>, &[HeldRow]) {
        let others = if self.others.is_empty() { None } else { self.others.get(key) };
        (self.first.get(key).copied(), others.map_or(&[], Vec::as_slice))
    }
}

/// Returns the texts of a key as one text, which no other key has; `None` if one of them is missing.
fn join_key<'a>(mut texts: impl ExactSizeIterator<Item = Option<&'a str>>) -> Option<Cow<'a, str>> {
    if texts.len() == 1 {
        return texts.next()?.map(Cow::Borrowed);
    }
    let mut all = String::new();
    for text in texts {
        let text = text?;
        write!(all, "{}:{text}", text.len()).ok()?;
    }
    Some(all.into())
}
