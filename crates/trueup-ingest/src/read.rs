//! From input files to rows that keep the rules of their table.

use crate::error::{ErrorKind, InputFault};
use crate::faults::RowFaults;
use crate::ignored::IgnoredColumn;
use crate::place::RowFault;
use crate::rejects::RejectsWriter;
use crate::source::{ChunkDecoder, ColumnNames, DecodedBatch, InputReader, RawChunk, ReadLimits};
use crate::table::Table;
use crate::{IngestError, Input, Progress, RowCounts, long_texts};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use rayon::prelude::*;
use trueup_core::files::Files;
use trueup_core::model::{Normalized, SchemaFault};

/// Checks the rows of one schema and gives them their stored form.
pub(crate) trait RowRules: Send + Sync {
    /// The columns that are not stored and that the caller should know of.
    fn ignored(&self) -> Vec<IgnoredColumn>;
    fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError>;
}

/// The rules for a schema.
pub(crate) type MakeRowRules<'a> = dyn Fn(&Schema) -> Result<Box<dyn RowRules + 'a>, SchemaFault> + Sync + 'a;

/// Takes rows that keep the rules, in file order.
pub(crate) type Take<'a> = dyn FnMut(RecordBatch) -> Result<(), IngestError> + Send + 'a;

/// What all reading of one ingest shares.
pub(crate) struct TableReader<'a> {
    pub(crate) files: &'a Files,
    pub(crate) limits: ReadLimits,
    pub(crate) progress: &'a dyn Progress,
    /// Where faulty rows go; without it the first one ends the ingest.
    pub(crate) rejects: Option<RejectsWriter>,
    pub(crate) warnings: Vec<String>,
}

/// A piece whose rows keep the rules.
struct CheckedBatch {
    /// The columns as given.
    schema: SchemaRef,
    /// The columns that are not stored.
    ignored: Vec<IgnoredColumn>,
    batch: RecordBatch,
    faults: RowFaults,
    broken: Option<InputFault>,
}

impl TableReader<'_> {
    /// Reads the rows of an input and hands them on in file order.
    pub(crate) fn read(
        &mut self,
        input: &Input,
        table: Table,
        make_rules: &MakeRowRules<'_>,
        counts: &mut RowCounts,
        take: &mut Take<'_>,
    ) -> Result<(), IngestError> {
        let mut source = InputReader::open(self.files, input, self.limits)?;
        if let Some(schema) = source.schema() {
            let rules = make_rules(schema).map_err(|fault| InputFault::Schema(fault.to_string()).of(&input.shown))?;
            self.warn_ignored(input, &rules.ignored());
        }
        let progress = self.progress;
        let checker = ChunkChecker { table, make_rules, limits: self.limits };
        let check = |part: RawChunk| {
            let bytes = part.bytes();
            let checked = checker.part(part);
            progress.advance(bytes);
            checked
        };
        let mut taking = RowSink { input, checker: &checker, names: ColumnNames::default(), counts, take };
        let mut checked: Vec<CheckedChunk> = Vec::new();
        loop {
            let (parts, end) = self.next_parts(&mut source);
            // What was checked before is taken meanwhile, which may spill rows and leave threads idle.
            let (next, taken) = rayon::join(
                || parts.into_par_iter().map(check).collect(),
                || checked.into_iter().try_for_each(|part| taking.part(self, part)),
            );
            taken?;
            checked = next;
            if let End::More = end {
                continue;
            }
            checked.into_iter().try_for_each(|part| taking.part(self, part))?;
            return if let End::Broken(error) = end { Err(error) } else { Ok(()) };
        }
    }

    /// Parts enough to keep every thread busy, as far as they fit in memory, and whether there are more. What stands before a
    /// fault in the file is judged before it.
    fn next_parts(&self, source: &mut InputReader<'_>) -> (Vec<RawChunk>, End) {
        let wanted = ReadLimits::parts();
        let mut parts = Vec::with_capacity(wanted);
        let mut bytes = 0;
        while parts.len() < wanted && bytes <= self.limits.group_bytes {
            match source.next() {
                Ok(Some(part)) => {
                    bytes += part.memory();
                    parts.push(part);
                }
                Ok(None) => return (parts, End::Done),
                Err(error) => return (parts, End::Broken(error)),
            }
        }
        (parts, End::More)
    }

    /// Sets faulty rows aside, or ends the ingest with the first.
    pub(crate) fn judge(
        &mut self,
        input: &Input,
        faults: RowFaults,
        counts: &mut RowCounts,
    ) -> Result<(), IngestError> {
        faults.each(|fault| self.judge_row(input, fault, counts))
    }

    /// Sets a faulty row aside, or ends the ingest.
    pub(crate) fn judge_row(
        &mut self,
        input: &Input,
        fault: RowFault,
        counts: &mut RowCounts,
    ) -> Result<(), IngestError> {
        let Some(rejects) = &mut self.rejects else {
            return Err(ErrorKind::Row { path: input.shown.clone(), fault }.into());
        };
        rejects.add(&input.shown, &fault)?;
        counts.rejected += 1;
        Ok(())
    }

    /// Says once which columns of an input are not stored.
    pub(crate) fn warn_ignored(&mut self, input: &Input, ignored: &[IgnoredColumn]) {
        for column in ignored {
            let warning = column.warning(input);
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

/// What takes the rows of an input.
struct RowSink<'a, 'r> {
    input: &'a Input,
    checker: &'a ChunkChecker<'a, 'r>,
    names: ColumnNames,
    counts: &'a mut RowCounts,
    take: &'a mut Take<'a>,
}

impl RowSink<'_, '_> {
    /// Hands on the rows of a part. What did not fit in memory is checked only now.
    fn part(&mut self, reader: &mut TableReader<'_>, mut part: CheckedChunk) -> Result<(), IngestError> {
        loop {
            part.pieces.into_iter().try_for_each(|piece| self.piece(reader, piece))?;
            if let Some(fault) = part.fault {
                return Err(fault.of(self.input));
            }
            let Some(rest) = part.rest else { return Ok(()) };
            part = self.checker.pieces(rest);
        }
    }

    fn piece(&mut self, reader: &mut TableReader<'_>, piece: CheckedBatch) -> Result<(), IngestError> {
        let Self { input, .. } = self;
        reader.judge(input, piece.faults, self.counts)?;
        if let Some(fault) = piece.broken {
            return Err(fault.of(&input.shown));
        }
        self.names.note(&piece.schema, reader.limits).map_err(|fault| fault.of(&input.shown))?;
        reader.warn_ignored(input, &piece.ignored);
        self.counts.taken += u64::try_from(piece.batch.num_rows()).unwrap_or(0);
        (self.take)(piece.batch)
    }
}

/// What follows the parts that were read.
enum End {
    More,
    Done,
    Broken(IngestError),
}

/// Why a part cannot be checked.
enum ChunkFault {
    Input(InputFault),
    Arrow(ArrowError),
}

impl ChunkFault {
    fn of(self, input: &Input) -> IngestError {
        match self {
            Self::Input(fault) => fault.of(&input.shown),
            Self::Arrow(error) => ErrorKind::Internal { action: "check the rows", source: Box::new(error) }.into(),
        }
    }
}

/// A part whose rows keep the rules.
struct CheckedChunk {
    pieces: Vec<CheckedBatch>,
    /// What the part has beyond, as far as it did not fit in memory.
    rest: Option<ChunkDecoder>,
    /// Why nothing after the pieces can be taken.
    fault: Option<ChunkFault>,
}

/// Checks what rows are made of.
struct ChunkChecker<'a, 'r> {
    table: Table,
    make_rules: &'a MakeRowRules<'r>,
    limits: ReadLimits,
}

impl ChunkChecker<'_, '_> {
    /// Checks a part, as far as what it becomes fits in memory.
    fn part(&self, part: RawChunk) -> CheckedChunk {
        match part.decode(self.table, self.limits) {
            Ok(pieces) => self.pieces(pieces),
            Err(fault) => CheckedChunk { pieces: Vec::new(), rest: None, fault: Some(ChunkFault::Input(fault)) },
        }
    }

    fn pieces(&self, mut rest: ChunkDecoder) -> CheckedChunk {
        let mut pieces = Vec::new();
        let mut bytes = 0;
        while let Some(piece) = rest.next() {
            match piece.map_err(ChunkFault::Input).and_then(|piece| self.piece(piece)) {
                Ok(checked) => {
                    bytes += checked.batch.get_array_memory_size() + checked.faults.bytes();
                    pieces.push(checked);
                }
                Err(fault) => return CheckedChunk { pieces, rest: None, fault: Some(fault) },
            }
            if bytes > self.limits.part_bytes() {
                return CheckedChunk { pieces, rest: Some(rest), fault: None };
            }
        }
        CheckedChunk { pieces, rest: None, fault: None }
    }

    fn piece(&self, mut piece: DecodedBatch) -> Result<CheckedBatch, ChunkFault> {
        let schema = piece.batch.schema();
        let rules =
            (self.make_rules)(&schema).map_err(|fault| ChunkFault::Input(InputFault::Schema(fault.to_string())))?;
        let longest = self.limits.max_text_bytes;
        let long = long_texts::find(&piece.batch, longest);
        let mut normalized = if long.is_empty() {
            rules.normalize(&piece.batch).map_err(ChunkFault::Arrow)?
        } else {
            let (sound, rows) = long_texts::leave_out(&piece.batch, &long).map_err(ChunkFault::Arrow)?;
            let mut normalized = rules.normalize(&sound).map_err(ChunkFault::Arrow)?;
            normalized.faults.iter_mut().for_each(|fault| fault.row = rows[fault.row]);
            normalized
        };
        let faults = std::mem::take(&mut normalized.faults);
        let (batch, broken) = (normalized.batch, piece.broken.take());
        let faults = RowFaults::new(piece, long, faults, longest);
        Ok(CheckedBatch { schema, ignored: rules.ignored(), batch, faults, broken })
    }
}
