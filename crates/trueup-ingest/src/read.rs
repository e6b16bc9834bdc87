//! Reads inputs, checks their rows against the rules of a table, and passes the sound rows on in file order.
//!
//! ```text
//! TableReader::read        one input; calls the steps below until the input ends
//!   InputReader::next      RawChunk: a block of text, a row group, or decoded rows  source.rs
//!   ChunkChecker::check    decodes and checks a chunk, on any thread
//!     RawChunk::decode     DecodedBatch: rows in the columns of the input           source/
//!     check_rows           leaves out rows with texts that are too long             row_check.rs
//!       RowRules           sound rows, and the faults of the others                 events/encode.rs, spend.rs
//!   RowSink::take_chunk    rejects faulty rows, and passes the sound ones on, in file order
//! ```

use crate::amounts::unreadable_row;
use crate::error::{ErrorContext, FileFault, MAX_RULES, RejectedRows, RowFault};
use crate::monitor::Monitor;
use crate::rejects::FaultyRows;
use crate::report::{IgnoredColumn, NotNormalValue};
use crate::row_check::{BatchFaults, CHECK, check_rows};
use crate::shared_id_places::SharedIdPlaces;
use crate::source::{
    ChunkDecoder, ColumnNames, DecodedBatch, InputReader, LocatedValue, MappedOutcomes, RawChunk, ReadLimits, check_fit,
};
use crate::table::Table;
use crate::{IngestError, Input};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use rayon::prelude::*;
use std::collections::BTreeMap;
use trueup_core::dataset::{ControlTotals, InputProtocol};
use trueup_core::files::Files;
use trueup_core::model::{CellFault, SchemaFault};

/// Sound rows, in the form that the rules of their table give them.
pub(crate) trait CheckedRows: Send + 'static {
    /// Returns the number of rows, and the sums of their amounts.
    fn totals(&self) -> ControlTotals;

    /// Returns the bytes of memory that the rows take.
    fn bytes(&self) -> usize;
}

/// The rules of a table for inputs of one schema. `R` is the form that sound rows get.
pub(crate) trait RowRules<R>: Send + Sync {
    /// Returns the columns that are not stored and that the user should know of.
    fn ignored(&self) -> Vec<IgnoredColumn> {
        Vec::new()
    }

    /// Returns the sound rows, and the faults of the others.
    fn normalize(&self, batch: &RecordBatch) -> Result<(R, Vec<CellFault>), ArrowError>;
}

/// Makes the rules for a schema.
pub(crate) type MakeRowRules<'a, R> = dyn Fn(&Schema) -> Result<Box<dyn RowRules<R> + 'a>, SchemaFault> + Sync + 'a;

/// Takes sound rows, in file order.
pub(crate) type TakeRows<'a, R> = dyn FnMut(R) -> Result<(), IngestError> + Send + 'a;

/// Reads the inputs of one ingest, table by table.
pub(crate) struct TableReader<'a> {
    pub(crate) files: &'a Files,
    pub(crate) limits: ReadLimits,
    pub(crate) monitor: &'a Monitor,
    pub(crate) faulty_rows: FaultyRows,
    /// The faulty rows so far, without the ones that are passed over.
    pub(crate) rejected: RejectedRows,
    pub(crate) warnings: Vec<String>,
    /// The first values that `normalize` of a mapping leaves as they are.
    pub(crate) not_normal: Vec<NotNormalValue>,
    /// If rows are read only to find and reject the ones that share an event id: what is known of these ids. Other
    /// faults were treated when the rows were read for the first time.
    pub(crate) shared_ids: Option<SharedIdPlaces>,
}

impl<'a> TableReader<'a> {
    /// Begins without any row.
    pub(crate) fn new(files: &'a Files, limits: ReadLimits, monitor: &'a Monitor, faulty_rows: FaultyRows) -> Self {
        let (rejected, warnings, not_normal) = (RejectedRows::default(), Vec::new(), Vec::new());
        Self { files, limits, monitor, faulty_rows, rejected, warnings, not_normal, shared_ids: None }
    }

    /// Reads an input and passes its sound rows to `take` in file order.
    pub(crate) fn read<R: CheckedRows>(
        &mut self,
        input: &Input,
        table: Table,
        make_rules: &MakeRowRules<'_, R>,
        protocol: &mut InputProtocol,
        take: &mut TakeRows<'_, R>,
    ) -> Result<(), IngestError> {
        self.read_rows(input, table, make_rules, protocol, take)?;
        // What has read the file is gone, and has counted them.
        protocol.skipped = input.skipped();
        Ok(())
    }

    fn read_rows<R: CheckedRows>(
        &mut self,
        input: &Input,
        table: Table,
        make_rules: &MakeRowRules<'_, R>,
        protocol: &mut InputProtocol,
        take: &mut TakeRows<'_, R>,
    ) -> Result<(), IngestError> {
        let mut source = InputReader::open(self.files, input, self.limits)?;
        if let Some(schema) = source.schema() {
            check_fit(schema, table).map_err(|fault| fault.at(input.declared_by()))?;
            let rules = make_rules(schema).map_err(|fault| FileFault::Schema(fault).at(input.declared_by()))?;
            self.warn_ignored(input, &rules.ignored());
        }
        let monitor = self.monitor;
        let checker = ChunkChecker { input, table, make_rules, limits: self.limits, monitor };
        let check = |chunk: RawChunk| {
            let bytes = chunk.bytes();
            let checked = checker.check(chunk);
            monitor.add(0, bytes);
            checked
        };
        let mut sink = RowSink { input, checker: &checker, names: ColumnNames::default(), protocol, take };
        let mut checked: Vec<CheckedChunk<R>> = Vec::new();
        loop {
            monitor.check()?;
            let (chunks, end) = self.next_chunks(&mut source);
            // Checks these chunks while the chunks before them are taken, because taking may spill rows and leave
            // threads idle.
            let (next, taken) = rayon::join(
                || chunks.into_par_iter().map(check).collect(),
                || checked.into_iter().try_for_each(|chunk| sink.take_chunk(self, chunk)),
            );
            taken?;
            checked = next;
            if let InputEnd::NotYet = end {
                continue;
            }
            checked.into_iter().try_for_each(|chunk| sink.take_chunk(self, chunk))?;
            return if let InputEnd::Failed(error) = end { Err(error) } else { Ok(()) };
        }
    }

    /// Returns as many of the next chunks as keep every thread busy and fit in memory, and what follows them. If the
    /// file has a fault, the chunks before it are still returned, so that a fault in their rows is reported first.
    fn next_chunks(&self, source: &mut InputReader<'_>) -> (Vec<RawChunk>, InputEnd) {
        let wanted = ReadLimits::chunks();
        let mut chunks = Vec::with_capacity(wanted);
        let mut bytes = 0;
        while chunks.len() < wanted && bytes <= self.limits.decoded_bytes {
            match source.next() {
                Ok(Some(chunk)) => {
                    bytes += chunk.memory();
                    chunks.push(chunk);
                }
                Ok(None) => return (chunks, InputEnd::Reached),
                Err(error) => return (chunks, InputEnd::Failed(error)),
            }
        }
        (chunks, InputEnd::NotYet)
    }

    /// Treats the faulty rows of a batch as [`FaultyRows`] says.
    pub(crate) fn reject_rows(
        &mut self,
        input: &Input,
        table: Table,
        faults: BatchFaults,
        protocol: &mut InputProtocol,
    ) -> Result<(), IngestError> {
        faults.each(|fault| self.reject_row(input, table, fault, protocol))
    }

    /// Treats a faulty row as [`FaultyRows`] says.
    pub(crate) fn reject_row(
        &mut self,
        input: &Input,
        table: Table,
        fault: RowFault,
        protocol: &mut InputProtocol,
    ) -> Result<(), IngestError> {
        let fault = match &mut self.shared_ids {
            Some(places) => match places.take(&input.shown, fault) {
                Some(fault) => fault,
                None => return Ok(()),
            },
            None => fault,
        };
        let rule = fault.column.as_ref().map_or_else(|| fault.rule.to_string(), |it| format!("{it}: {}", fault.rule));
        let totals = fault.totals.unwrap_or_else(|| unreadable_row(table));
        match &mut self.faulty_rows {
            FaultyRows::PassOver => return Ok(()),
            FaultyRows::Stop => return Err(fault.at(&input.shown)),
            FaultyRows::Refuse { first } => {
                self.rejected.add(&input.shown, &fault);
                first.get_or_insert_with(|| fault.at(&input.shown));
            }
            FaultyRows::Reject(rejects) => {
                self.rejected.add(&input.shown, &fault);
                rejects.add(&input.shown, &fault)?;
            }
        }
        add_rejected(&mut protocol.rejected, rule, totals);
        Ok(())
    }

    /// Returns whether the ingest will fail because of faulty rows. Further rows are then only checked.
    pub(crate) fn is_refusing(&self) -> bool {
        matches!(self.faulty_rows, FaultyRows::Refuse { first: Some(_) })
    }

    /// Adds the first values of an input that `normalize` leaves as they are, until there are enough of all inputs.
    fn keep_not_normal(&mut self, input: &Input, values: Vec<LocatedValue>) {
        for LocatedValue { file, location, column, value } in values {
            let file = file.unwrap_or_else(|| input.shown.clone());
            let value = NotNormalValue { file, location, column, value };
            // The stages of a wide table read the same rows.
            if self.not_normal.len() < NotNormalValue::MAX && !self.not_normal.contains(&value) {
                self.not_normal.push(value);
            }
        }
    }

    /// Adds a warning for each ignored column of an input, unless there is one already.
    pub(crate) fn warn_ignored(&mut self, input: &Input, ignored: &[IgnoredColumn]) {
        for column in ignored {
            let warning = column.warning(input);
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

/// Adds a row that breaks a rule, given with its column.
fn add_rejected(rejected: &mut BTreeMap<String, ControlTotals>, rule: String, totals: ControlTotals) {
    let is_full = rejected.len() >= MAX_RULES && !rejected.contains_key(&rule);
    *rejected.entry(if is_full { "other rules".to_owned() } else { rule }).or_default() += totals;
}

/// What follows the chunks that were read.
enum InputEnd {
    /// More chunks, probably.
    NotYet,
    /// Nothing.
    Reached,
    /// What cannot be read.
    Failed(IngestError),
}

/// Decodes and checks chunks.
struct ChunkChecker<'a, 'r, R> {
    input: &'a Input,
    table: Table,
    make_rules: &'a MakeRowRules<'r, R>,
    limits: ReadLimits,
    monitor: &'a Monitor,
}

/// A chunk whose rows are checked.
struct CheckedChunk<R> {
    batches: Vec<CheckedBatch<R>>,
    /// The rows that did not fit in memory and are not decoded yet.
    rest: Option<ChunkDecoder>,
    /// The reason why nothing after the batches can be taken, if there is one.
    fault: Option<IngestError>,
}

/// A batch whose rows are checked: the sound rows, and the faults of the others.
struct CheckedBatch<R> {
    /// The columns of the input.
    schema: SchemaRef,
    ignored: Vec<IgnoredColumn>,
    rows: R,
    faults: BatchFaults,
    outcomes: Box<MappedOutcomes>,
    /// The reason why the rest of the file cannot be read, if there is one.
    fatal: Option<FileFault>,
}

impl<R: CheckedRows> ChunkChecker<'_, '_, R> {
    /// Checks a chunk, as far as its rows fit in memory.
    fn check(&self, chunk: RawChunk) -> CheckedChunk<R> {
        match chunk.decode(self.table, self.limits) {
            Ok(decoder) => self.check_more(decoder),
            Err(fault) => CheckedChunk { batches: Vec::new(), rest: None, fault: Some(fault.at(&self.input.shown)) },
        }
    }

    /// Checks further rows of a chunk, as far as they fit in memory.
    fn check_more(&self, mut rest: ChunkDecoder) -> CheckedChunk<R> {
        let mut batches = Vec::new();
        let mut bytes = 0;
        while let Some(decoded) = rest.next() {
            let decoded = decoded.map_err(|fault| fault.at(&self.input.shown));
            match decoded.and_then(|decoded| self.check_batch(decoded)) {
                Ok(checked) => {
                    bytes += checked.rows.bytes() + checked.faults.bytes();
                    batches.push(checked);
                }
                Err(fault) => return CheckedChunk { batches, rest: None, fault: Some(fault) },
            }
            if bytes > self.limits.chunk_bytes() {
                return CheckedChunk { batches, rest: Some(rest), fault: None };
            }
        }
        CheckedChunk { batches, rest: None, fault: None }
    }

    fn check_batch(&self, mut decoded: DecodedBatch) -> Result<CheckedBatch<R>, IngestError> {
        let schema = decoded.batch.schema();
        let rules = (self.make_rules)(&schema).map_err(|fault| FileFault::Schema(fault).at(&self.input.shown))?;
        let (fatal, outcomes) = (decoded.fatal.take(), std::mem::take(&mut decoded.outcomes));
        self.monitor.add(decoded.batch.num_rows() + decoded.malformed.len(), 0);
        let (rows, faults) =
            check_rows(decoded, self.table, self.limits.max_text_bytes, |batch| rules.normalize(batch).doing(CHECK))?;
        Ok(CheckedBatch { schema, ignored: rules.ignored(), rows, faults, outcomes, fatal })
    }
}

/// Takes the checked rows of an input.
struct RowSink<'a, 'r, R> {
    input: &'a Input,
    checker: &'a ChunkChecker<'a, 'r, R>,
    names: ColumnNames,
    protocol: &'a mut InputProtocol,
    take: &'a mut TakeRows<'a, R>,
}

impl<R: CheckedRows> RowSink<'_, '_, R> {
    /// Takes the rows of a chunk. Rows that did not fit in memory are decoded and checked now.
    fn take_chunk(&mut self, reader: &mut TableReader<'_>, mut chunk: CheckedChunk<R>) -> Result<(), IngestError> {
        loop {
            chunk.batches.into_iter().try_for_each(|batch| self.take_batch(reader, batch))?;
            if let Some(fault) = chunk.fault {
                return Err(fault);
            }
            let Some(rest) = chunk.rest else { return Ok(()) };
            chunk = self.checker.check_more(rest);
        }
    }

    fn take_batch(&mut self, reader: &mut TableReader<'_>, checked: CheckedBatch<R>) -> Result<(), IngestError> {
        let input = self.input;
        reader.reject_rows(input, self.checker.table, checked.faults, self.protocol)?;
        if let Some(fault) = checked.fatal {
            return Err(fault.at(&input.shown));
        }
        self.names.add(&checked.schema, reader.limits).map_err(|fault| fault.at(&input.shown))?;
        reader.warn_ignored(input, &checked.ignored);
        self.protocol.taken += checked.rows.totals();
        let MappedOutcomes { protocol, first_not_normal } = *checked.outcomes;
        self.protocol.add(protocol);
        reader.keep_not_normal(input, first_not_normal);
        if reader.is_refusing() { Ok(()) } else { (self.take)(checked.rows) }
    }
}
