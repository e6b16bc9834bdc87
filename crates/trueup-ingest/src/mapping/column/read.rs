//! Reads a column of a canonical table from picked rows.

use super::{CellPlan, ColumnPlan, ComposedText, DatePart, TextAlternative, TextCells, TextOrigin, TextPart};
use crate::mapping::amounts::{AmountRules, EachText};
use crate::mapping::cells::{CellForm, PickedTexts, RowView, StringCells};
use crate::mapping::dates::{read_day, read_day_of_parts, read_time};
use crate::mapping::declaration::Unmapped;
use crate::mapping::faults::{ColumnSite, PickedFaults};
use crate::mapping::times::{ClockRule, days_of_timestamps, instants_of_clock_times, instants_of_timestamps};
use crate::mapping::values::{Cleaning, TextRules, ValueReader, read_truth, read_written_count};
use crate::report::NotNormalValue;
use arrow_array::builder::StringBuilder;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::take::take;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::Arc;
use trueup_core::model::{GivenTime, UtcMicros};

impl ColumnPlan {
    /// Returns whether a value that the column's map does not have leaves its row out.
    pub(in crate::mapping) fn skips_rows(&self) -> bool {
        self.text_cells().any(|cells| cells.rules.unmapped == Unmapped::Skip)
    }

    /// Returns whether each picked row stays, as far as the maps of this column and of its parts say.
    pub(in crate::mapping) fn kept_rows(&self, view: &RowView<'_>) -> Vec<bool> {
        let mut kept = vec![true; view.len()];
        for cells in self.text_cells() {
            let texts = cells.origin.of(view);
            let mut known = KnownTexts::default();
            let stays = |text: Option<&str>, form| !cells.rules.skips(text, form);
            for (row, kept) in kept.iter_mut().enumerate() {
                let (text, form) = texts.cell(row);
                *kept &= known.get(text, form, stays);
            }
        }
        kept
    }

    /// Returns what is read as text: the column, or the parts of a date that are columns.
    fn text_cells(&self) -> impl Iterator<Item = &TextCells> {
        let (whole, parts) = match &self.cells {
            CellPlan::Strings(cells) => (Some(cells), &[][..]),
            CellPlan::Parts(parts) => (None, &parts[..]),
            _ => (None, &[][..]),
        };
        let parts = parts.iter().filter_map(|part| match part {
            DatePart::Column(_, cells) => Some(cells),
            DatePart::Constant(_) => None,
        });
        whole.into_iter().chain(parts).map(Box::as_ref)
    }

    /// Returns whether [`ColumnPlan::read`] needs the accounts of the rows.
    pub(in crate::mapping) fn needs_accounts(&self) -> bool {
        match &self.cells {
            CellPlan::ClockTimes(clock) => clock.depends_on_account(),
            CellPlan::Strings(cells) => {
                matches!(&cells.reader, ValueReader::Instant(_, clock) if clock.depends_on_account())
            }
            _ => false,
        }
    }

    /// Reads the column. A row whose value cannot be read is null and has a fault. `accounts` are those of the picked
    /// rows, if they are needed.
    pub(in crate::mapping) fn read(
        &self,
        view: &RowView<'_>,
        accounts: &StringCells,
        faults: &mut PickedFaults,
    ) -> Result<ArrayRef, ArrowError> {
        let as_it_is = || view.array(self.site.at, false);
        match &self.cells {
            CellPlan::Constant(one) => take(one, &UInt32Array::from(vec![0; view.len()]), None),
            CellPlan::AsItIs => as_it_is(),
            CellPlan::DaysOfTimestamps => days_of_timestamps(&as_it_is()?),
            CellPlan::Timestamps => instants_of_timestamps(&as_it_is()?),
            CellPlan::ClockTimes(clock) => {
                let instant = |row, time| clock.instant(time, accounts.get(row));
                instants_of_clock_times(&as_it_is()?, instant, |row, value, expected| {
                    faults.add(row, self.site.fault(view, row, value, expected));
                })
            }
            CellPlan::Strings(cells) => cells.read(&self.site, view, accounts, faults),
            CellPlan::Parts(parts) => Ok(self.read_parts(parts, view, faults)),
        }
    }

    /// Reads dates in parts. There is no date if every part that is a column is empty.
    fn read_parts(&self, parts: &[DatePart; 3], view: &RowView<'_>, faults: &mut PickedFaults) -> ArrayRef {
        let origins = parts.each_ref().map(|part| match part {
            DatePart::Constant(_) => None,
            DatePart::Column(_, cells) => Some(cells.origin.of(view)),
        });
        let days = (0..view.len()).map(|row| {
            let mut found: [Option<Cow<'_, str>>; 3] = Default::default();
            for ((part, origin), slot) in parts.iter().zip(&origins).zip(&mut found) {
                *slot = match (part, origin) {
                    (DatePart::Constant(value), _) => Some(Cow::Borrowed(value.as_str())),
                    (DatePart::Column(site, cells), Some(origin)) => {
                        let (text, form) = origin.cell(row);
                        match cells.rules.apply(text.as_deref(), form) {
                            Ok(value) => value.map(|(value, _)| Cow::Owned(value.into_owned())),
                            Err(reason) => {
                                let value = text.unwrap_or_default().into_owned();
                                faults.add(row, site.fault(view, row, value, reason));
                                return None;
                            }
                        }
                    }
                    (DatePart::Column(..), None) => None,
                };
            }
            let read = if let [Some(year), Some(month), Some(day)] = &found {
                read_day_of_parts(year, month, day).map(Some)
            } else {
                // A constant year does not make a date if the other cells are empty.
                let is_empty = |(part, text): (&DatePart, &Option<_>)| part.site().is_none() || text.is_none();
                let all_empty = parts.iter().zip(&found).all(is_empty);
                if all_empty { Ok(None) } else { Err("expected year, month and day, or none of them".to_owned()) }
            };
            read.unwrap_or_else(|reason| {
                let value: Vec<&str> = found.iter().flatten().map(AsRef::as_ref).collect();
                faults.add(row, self.site.fault(view, row, value.join(" "), reason));
                None
            })
        });
        Arc::new(days.collect::<PrimitiveArray<Date32Type>>())
    }
}

impl TextOrigin {
    /// Returns the texts of picked rows.
    fn of<'a>(&'a self, view: &RowView<'a>) -> OriginTexts<'a> {
        match self {
            Self::Column(at) => OriginTexts::Column(view.texts(*at)),
            Self::Composed(ComposedText { parts, cleaning, otherwise }) => {
                let part = |part: &'a TextPart| match part {
                    TextPart::Text(text) => PartTexts::Text(text),
                    TextPart::Column(at) => PartTexts::Column(view.texts(*at)),
                };
                let alternative = |alternative: &'a TextAlternative| match alternative {
                    TextAlternative::Column(at) => AlternativeTexts::Column(view.texts(*at)),
                    TextAlternative::Source(cells) => AlternativeTexts::Made(cells.origin.of(view), &cells.rules),
                };
                let otherwise = otherwise.iter().map(alternative).collect();
                OriginTexts::Composed { parts: parts.iter().map(part).collect(), cleaning, otherwise }
            }
        }
    }
}

/// The texts of an origin by picked row.
enum OriginTexts<'a> {
    Column(PickedTexts<'a>),
    Composed { parts: Vec<PartTexts<'a>>, cleaning: &'a Cleaning, otherwise: Vec<AlternativeTexts<'a>> },
}

/// What takes the place of missing texts, by picked row.
enum AlternativeTexts<'a> {
    Column(PickedTexts<'a>),
    /// Texts of a source, and its rules.
    Made(OriginTexts<'a>, &'a TextRules),
}

/// The texts of a part by picked row.
enum PartTexts<'a> {
    Text(&'a str),
    Column(PickedTexts<'a>),
}

impl<'a> OriginTexts<'a> {
    /// Returns the text of a row; `None` if there is none, or if a column of several has none.
    fn get(&self, row: usize) -> Option<Cow<'a, str>> {
        self.cell(row).0
    }

    /// Returns the text of a row, as [`OriginTexts::get`] does, and its form. What is made of several is a text.
    fn cell(&self, row: usize) -> (Option<Cow<'a, str>>, CellForm) {
        match self {
            Self::Column(texts) => (texts.get(row).map(Cow::Borrowed), texts.form(row)),
            Self::Composed { parts, cleaning, otherwise } => {
                let mut composed = String::new();
                for part in parts {
                    match part {
                        PartTexts::Text(text) => composed.push_str(text),
                        PartTexts::Column(texts) => match cleaning.cleaned(texts.get(row), texts.form(row)) {
                            Some(text) => composed.push_str(&text),
                            None => {
                                let found = otherwise.iter().find_map(|it| it.cell(row, cleaning));
                                return found.map_or((None, CellForm::Text), |(text, form)| (Some(text), form));
                            }
                        },
                    }
                }
                (Some(Cow::Owned(composed)), CellForm::Text)
            }
        }
    }
}

impl<'a> AlternativeTexts<'a> {
    /// Returns the text of a row, and its form; `None` if nothing is left of it. `cleaning` is that of the column.
    fn cell(&self, row: usize, cleaning: &Cleaning) -> Option<(Cow<'a, str>, CellForm)> {
        match self {
            Self::Column(texts) => {
                let text = texts.get(row).filter(|text| !cleaning.trims || !text.trim().is_empty())?;
                Some((Cow::Borrowed(text), CellForm::Text))
            }
            Self::Made(texts, rules) => {
                let (text, form) = texts.cell(row);
                // Its map keeps or empties what it does not have, so that no value is a fault.
                let (text, is_normal) = rules.apply_normalized(text.as_deref(), form).ok().flatten()?;
                Some((Cow::Owned(text.into_owned()), CellForm::Made { is_normal }))
            }
        }
    }
}

impl TextCells {
    fn read(
        &self,
        site: &ColumnSite,
        view: &RowView<'_>,
        accounts: &StringCells,
        faults: &mut PickedFaults,
    ) -> Result<ArrayRef, ArrowError> {
        CellReader { cells: self, site, view, texts: self.origin.of(view) }.read(accounts, faults)
    }
}

/// Reads the texts of a column from picked rows.
struct CellReader<'a> {
    cells: &'a TextCells,
    site: &'a ColumnSite,
    view: &'a RowView<'a>,
    texts: OriginTexts<'a>,
}

impl CellReader<'_> {
    fn read(&self, accounts: &StringCells, faults: &mut PickedFaults) -> Result<ArrayRef, ArrowError> {
        Ok(match &self.cells.reader {
            ValueReader::Amount(amounts) => return self.read_amounts(amounts, faults),
            ValueReader::Key | ValueReader::Text if self.cells.normalizes() => self.read_normalized(faults),
            ValueReader::Key | ValueReader::Text if !self.cells.has_codes() => return self.read_texts(faults),
            ValueReader::Key | ValueReader::Text | ValueReader::Stage => return self.read_codes(faults),
            ValueReader::Day(format) => {
                self.read_numbers::<Date32Type>(faults, |text, form| match day_of_value(text, form) {
                    Some(day) => read_day(day, None),
                    None => read_day(text, format.as_ref()),
                })
            }
            ValueReader::Instant(format, clock) => {
                let format = |text: &str, form| format.as_ref().filter(|_| day_of_value(text, form).is_none());
                let read = |text: &str, form| match read_time(text, format(text, form))? {
                    // Equal texts are the same time unless they are times of different accounts.
                    GivenTime::Clock(time) if !clock.depends_on_account() => {
                        clock.instant(time, None).map(GivenTime::Instant)
                    }
                    time => Ok(time),
                };
                let times = self.read_all::<GivenTime>(faults, read);
                self.instants(times, clock, accounts, faults)
            }
            ValueReader::Count(mark) => {
                self.read_numbers::<Int64Type>(faults, |text, form| read_written_count(text, form, *mark))
            }
            ValueReader::Truth => {
                Arc::new(self.read_all(faults, |text, _| read_truth(text)).into_iter().collect::<BooleanArray>())
            }
        })
    }

    /// Adds the fault of a row, whose cell then has no value.
    fn refuse<T>(&self, row: usize, reason: String, faults: &mut PickedFaults) -> Option<T> {
        let value = self.texts.get(row).unwrap_or_default().into_owned();
        faults.add(row, self.site.fault(self.view, row, value, reason));
        None
    }

    /// Returns the points in time of times as they were read. `clock` gives a clock time its zone, which may be that of
    /// the row's account.
    fn instants(
        &self,
        times: Vec<Option<GivenTime>>,
        clock: &ClockRule,
        accounts: &StringCells,
        faults: &mut PickedFaults,
    ) -> ArrayRef {
        let instants = times.into_iter().enumerate().map(|(row, time)| {
            let read = match time? {
                GivenTime::Instant(instant) => Ok(instant),
                GivenTime::Clock(time) => clock.instant(time, accounts.get(row)),
            };
            let read = read.map(|UtcMicros(instant)| Some(instant));
            read.unwrap_or_else(|expected| self.refuse(row, expected, faults))
        });
        Arc::new(instants.collect::<PrimitiveArray<TimestampMicrosecondType>>().with_timezone("UTC"))
    }

    /// Reads all rows as numbers or dates.
    fn read_numbers<T: ArrowPrimitiveType>(
        &self,
        faults: &mut PickedFaults,
        read: impl Fn(&str, CellForm) -> Result<T::Native, String>,
    ) -> ArrayRef
    where
        PrimitiveArray<T>: FromIterator<Option<T::Native>>,
    {
        Arc::new(self.read_all(faults, read).into_iter().collect::<PrimitiveArray<T>>())
    }

    /// Reads all rows with `read`, after the rules have changed their texts. Equal texts are mostly read once.
    fn read_all<T: Copy>(
        &self,
        faults: &mut PickedFaults,
        mut read: impl FnMut(&str, CellForm) -> Result<T, String>,
    ) -> Vec<Option<T>> {
        let mut known = KnownTexts::default();
        let mut read = |text: Option<&str>, form| match self.cells.rules.apply(text, form)? {
            Some((text, form)) => read(&text, form).map(Some),
            None => self.cells.reader.read_nothing(),
        };
        let cells = (0..self.view.len()).map(|row| {
            let (text, form) = self.texts.cell(row);
            known.get(text, form, &mut read).unwrap_or_else(|reason| self.refuse(row, reason, faults))
        });
        cells.collect()
    }

    /// Reads texts as an Arrow dictionary, because they recur: a map or the stages make them.
    fn read_codes(&self, faults: &mut PickedFaults) -> Result<ArrayRef, ArrowError> {
        let mut codes: HashMap<String, i32> = HashMap::new();
        let mut names = StringBuilder::new();
        let rows = self.read_all(faults, |text, _| {
            self.cells.reader.check(text)?;
            if let Some(code) = codes.get(text) {
                return Ok(*code);
            }
            // There are at most as many codes as rows of a batch.
            let code = i32::try_from(codes.len()).unwrap_or(i32::MAX);
            codes.insert(text.to_owned(), code);
            names.append_value(text);
            Ok(code)
        });
        let rows: Int32Array = rows.into_iter().collect();
        Ok(Arc::new(DictionaryArray::try_new(rows, Arc::new(names.finish()))?))
    }

    /// Reads amounts as texts of digits with a decimal point.
    fn read_amounts(&self, amounts: &AmountRules, faults: &mut PickedFaults) -> Result<ArrayRef, ArrowError> {
        let Self { cells: TextCells { origin, rules, reader }, view, texts, .. } = self;
        let is_plain = |row| texts.get(row).is_none_or(|text| amounts.is_plain(&text));
        if let TextOrigin::Column(at) = origin
            && rules.is_plain()
            && (0..view.len()).all(is_plain)
        {
            return view.array(*at, true);
        }
        let each_text: &EachText<'_> = &|see| {
            let TextOrigin::Column(at) = origin else { return };
            view.plan.each_text(*at, &mut |text, form, location| {
                if let Some(text) = rules.cleaning.cleaned(Some(text), form) {
                    see(&text, form, location);
                }
            });
        };
        let mut made = StringBuilder::new();
        for row in 0..view.len() {
            let (text, form) = texts.cell(row);
            let read = rules.apply(text.as_deref(), form).and_then(|found| match found {
                Some((text, form)) => Ok(Some(amounts.read(&text, form, each_text)?.into_owned())),
                None => reader.read_nothing(),
            });
            made.append_option(read.unwrap_or_else(|reason| self.refuse(row, reason, faults)));
        }
        Ok(Arc::new(made.finish()))
    }

    /// Reads texts in the one spelling that each has.
    fn read_normalized(&self, faults: &mut PickedFaults) -> ArrayRef {
        let mut known = KnownTexts::default();
        let read = |text: Option<&str>, form| match self.cells.rules.apply_normalized(text, form)? {
            Some((text, is_normal)) => Ok(Some((Arc::<str>::from(text), is_normal))),
            None => self.cells.reader.read_nothing(),
        };
        let (mut made, mut first) = (StringBuilder::new(), 0);
        for row in 0..self.view.len() {
            let (text, form) = self.texts.cell(row);
            let read = known.get(text.clone(), form, read);
            let read = read.unwrap_or_else(|reason: String| self.refuse(row, reason, faults));
            if let Some((_, false)) = &read {
                faults.not_normal.count += 1;
                if first < NotNormalValue::MAX {
                    let value = text.unwrap_or_default().into_owned();
                    let fault = self.site.fault(self.view, row, value, String::new());
                    faults.not_normal.first.push((row, fault));
                    first += 1;
                }
            }
            made.append_option(read.map(|(text, _)| text));
        }
        Arc::new(made.finish())
    }

    /// Returns whether trimming changes the text of a row.
    fn trims_any(&self) -> bool {
        let has_margin = |text: Cow<'_, str>| match text.as_bytes() {
            [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => false,
            _ => text.trim().len() < text.len(),
        };
        let mut rows = 0..self.view.len();
        self.cells.rules.cleaning.trims && rows.any(|row| self.texts.get(row).is_some_and(has_margin))
    }

    /// Reads texts, which stay as they are after the rules have changed them.
    fn read_texts(&self, faults: &mut PickedFaults) -> Result<ArrayRef, ArrowError> {
        let Self { cells: TextCells { origin, rules, reader }, view, texts, .. } = self;
        let whole = match origin {
            TextOrigin::Column(at) if rules.is_plain() && !self.trims_any() => Some(view.array(*at, true)?),
            _ => None,
        };
        if let Some(whole) = &whole
            && reader.reads_everything()
        {
            return Ok(whole.clone());
        }
        let mut made = StringBuilder::new();
        for row in 0..view.len() {
            let (text, form) = texts.cell(row);
            let read = rules.apply(text.as_deref(), form).and_then(|changed| match changed {
                Some((changed, _)) => reader.check(&changed).map(|()| Some(changed)),
                None => reader.read_nothing(),
            });
            let changed = read.unwrap_or_else(|reason| self.refuse(row, reason, faults));
            if whole.is_none() {
                made.append_option(changed);
            }
        }
        Ok(whole.unwrap_or_else(|| Arc::new(made.finish())))
    }
}

/// Returns the day of a cell that is a date or a point in time in its file; `None` for any other cell. The text of a
/// date or a point in time begins with `YYYY-MM-DD`, whatever the format of the column's texts.
fn day_of_value(text: &str, form: CellForm) -> Option<&str> {
    const DAY: usize = 10;
    let is_date = form == CellForm::Value && matches!(text.as_bytes(), [_, _, _, _, b'-', _, _, b'-', ..]);
    text.get(..DAY).filter(|_| is_date)
}

/// What texts were read as, so that a text that recurs is read once. If most rows have a new text, no further texts are
/// remembered.
struct KnownTexts<'a, T> {
    known: HashMap<&'a str, T>,
    /// The rows so far whose text could be remembered.
    rows: usize,
}

/// The number of distinct texts that are remembered in any case.
const FEW_TEXTS: usize = 1 << 10;

/// Beyond [`FEW_TEXTS`], another text is remembered if there were this many rows per remembered text.
const ROWS_PER_TEXT: usize = 2;

impl<T> Default for KnownTexts<'_, T> {
    fn default() -> Self {
        Self { known: HashMap::new(), rows: 0 }
    }
}

impl<'a, T: Clone> KnownTexts<'a, T> {
    /// Returns what `read` makes of the text of the next row. A missing text, a cell that is not a text in the file,
    /// and a text that is not borrowed from the input are always read.
    fn get(
        &mut self,
        text: Option<Cow<'a, str>>,
        form: CellForm,
        mut read: impl FnMut(Option<&str>, CellForm) -> T,
    ) -> T {
        let (Some(Cow::Borrowed(text)), CellForm::Text) = (&text, form) else {
            return read(text.as_deref(), form);
        };
        let text: &'a str = text;
        self.rows += 1;
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let value = read(Some(text), form);
        if self.known.len() < FEW_TEXTS.max(self.rows / ROWS_PER_TEXT) {
            self.known.insert(text, value.clone());
        }
        value
    }
}
