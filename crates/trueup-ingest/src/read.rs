//! From input files to rows that keep the rules of their table.

use crate::error::{InputFault, Kind};
use crate::faults::Faults;
use crate::ignored::Ignored;
use crate::place::RowFault;
use crate::rejects::Rejects;
use crate::source::{Chunking, ColumnNames, Part, Piece, Pieces, Source};
use crate::table::Table;
use crate::{Counts, IngestError, Input, Progress, long_texts};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use rayon::prelude::*;
use trueup_core::files::Files;
use trueup_core::model::{Normalized, SchemaFault};

/// Checks the rows of one schema and gives them their stored form.
pub(crate) trait Rules: Send + Sync {
    /// The columns that are not stored and that the caller should know of.
    fn ignored(&self) -> Vec<Ignored>;
    fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError>;
}

/// The rules for a schema.
pub(crate) type MakeRules<'a> = dyn Fn(&Schema) -> Result<Box<dyn Rules + 'a>, SchemaFault> + Sync + 'a;

/// Takes rows that keep the rules, in file order.
pub(crate) type Take<'a> = dyn FnMut(RecordBatch) -> Result<(), IngestError> + Send + 'a;

/// What all reading of one ingest shares.
pub(crate) struct Reading<'a> {
    pub(crate) files: &'a Files,
    pub(crate) chunking: Chunking,
    pub(crate) progress: &'a dyn Progress,
    /// Where faulty rows go; without it the first one ends the ingest.
    pub(crate) rejects: Option<Rejects>,
    pub(crate) warnings: Vec<String>,
}

/// A piece whose rows keep the rules.
struct Checked {
    /// The columns as given.
    schema: SchemaRef,
    /// The columns that are not stored.
    ignored: Vec<Ignored>,
    batch: RecordBatch,
    faults: Faults,
    broken: Option<InputFault>,
}

impl Reading<'_> {
    /// Reads the rows of an input and hands them on in file order.
    pub(crate) fn read(
        &mut self,
        input: &Input,
        table: Table,
        make_rules: &MakeRules<'_>,
        counts: &mut Counts,
        take: &mut Take<'_>,
    ) -> Result<(), IngestError> {
        let mut source = Source::open(self.files, input, self.chunking)?;
        if let Some(schema) = source.schema() {
            let rules = make_rules(schema).map_err(|fault| InputFault::Schema(fault.to_string()).of(&input.shown))?;
            self.warn_ignored(input, &rules.ignored());
        }
        let progress = self.progress;
        let checker = Checker { table, make_rules, chunking: self.chunking };
        let check = |part: Part| {
            let bytes = part.bytes();
            let checked = checker.part(part);
            progress.advance(bytes);
            checked
        };
        let mut taking = Taking { input, checker: &checker, names: ColumnNames::default(), counts, take };
        let mut checked: Vec<CheckedPart> = Vec::new();
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
    fn next_parts(&self, source: &mut Source<'_>) -> (Vec<Part>, End) {
        let wanted = Chunking::parts();
        let mut parts = Vec::with_capacity(wanted);
        let mut bytes = 0;
        while parts.len() < wanted && bytes <= self.chunking.group_bytes {
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
    pub(crate) fn judge(&mut self, input: &Input, faults: Faults, counts: &mut Counts) -> Result<(), IngestError> {
        faults.each(|fault| self.judge_row(input, fault, counts))
    }

    /// Sets a faulty row aside, or ends the ingest.
    pub(crate) fn judge_row(&mut self, input: &Input, fault: RowFault, counts: &mut Counts) -> Result<(), IngestError> {
        let Some(rejects) = &mut self.rejects else {
            return Err(Kind::Row { path: input.shown.clone(), fault }.into());
        };
        rejects.add(&input.shown, &fault)?;
        counts.rejected += 1;
        Ok(())
    }

    /// Says once which columns of an input are not stored.
    pub(crate) fn warn_ignored(&mut self, input: &Input, ignored: &[Ignored]) {
        for column in ignored {
            let warning = column.warning(input);
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

/// What takes the rows of an input.
struct Taking<'a, 'r> {
    input: &'a Input,
    checker: &'a Checker<'a, 'r>,
    names: ColumnNames,
    counts: &'a mut Counts,
    take: &'a mut Take<'a>,
}

impl Taking<'_, '_> {
    /// Hands on the rows of a part. What did not fit in memory is checked only now.
    fn part(&mut self, reading: &mut Reading<'_>, mut part: CheckedPart) -> Result<(), IngestError> {
        loop {
            part.pieces.into_iter().try_for_each(|piece| self.piece(reading, piece))?;
            if let Some(fault) = part.fault {
                return Err(fault.of(self.input));
            }
            let Some(rest) = part.rest else { return Ok(()) };
            part = self.checker.pieces(rest);
        }
    }

    fn piece(&mut self, reading: &mut Reading<'_>, piece: Checked) -> Result<(), IngestError> {
        let Self { input, .. } = self;
        reading.judge(input, piece.faults, self.counts)?;
        if let Some(fault) = piece.broken {
            return Err(fault.of(&input.shown));
        }
        self.names.note(&piece.schema, reading.chunking).map_err(|fault| fault.of(&input.shown))?;
        reading.warn_ignored(input, &piece.ignored);
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
enum PartFault {
    Input(InputFault),
    Arrow(ArrowError),
}

impl PartFault {
    fn of(self, input: &Input) -> IngestError {
        match self {
            Self::Input(fault) => fault.of(&input.shown),
            Self::Arrow(error) => Kind::Internal { action: "check the rows", source: Box::new(error) }.into(),
        }
    }
}

/// A part whose rows keep the rules.
struct CheckedPart {
    pieces: Vec<Checked>,
    /// What the part has beyond, as far as it did not fit in memory.
    rest: Option<Pieces>,
    /// Why nothing after the pieces can be taken.
    fault: Option<PartFault>,
}

/// Checks what rows are made of.
struct Checker<'a, 'r> {
    table: Table,
    make_rules: &'a MakeRules<'r>,
    chunking: Chunking,
}

impl Checker<'_, '_> {
    /// Checks a part, as far as what it becomes fits in memory.
    fn part(&self, part: Part) -> CheckedPart {
        match part.decode(self.table, self.chunking) {
            Ok(pieces) => self.pieces(pieces),
            Err(fault) => CheckedPart { pieces: Vec::new(), rest: None, fault: Some(PartFault::Input(fault)) },
        }
    }

    fn pieces(&self, mut rest: Pieces) -> CheckedPart {
        let mut pieces = Vec::new();
        let mut bytes = 0;
        while let Some(piece) = rest.next() {
            match piece.map_err(PartFault::Input).and_then(|piece| self.piece(piece)) {
                Ok(checked) => {
                    bytes += checked.batch.get_array_memory_size() + checked.faults.bytes();
                    pieces.push(checked);
                }
                Err(fault) => return CheckedPart { pieces, rest: None, fault: Some(fault) },
            }
            if bytes > self.chunking.part_bytes() {
                return CheckedPart { pieces, rest: Some(rest), fault: None };
            }
        }
        CheckedPart { pieces, rest: None, fault: None }
    }

    fn piece(&self, mut piece: Piece) -> Result<Checked, PartFault> {
        let schema = piece.batch.schema();
        let rules =
            (self.make_rules)(&schema).map_err(|fault| PartFault::Input(InputFault::Schema(fault.to_string())))?;
        let longest = self.chunking.max_text_bytes;
        let long = long_texts::find(&piece.batch, longest);
        let mut normalized = if long.is_empty() {
            rules.normalize(&piece.batch).map_err(PartFault::Arrow)?
        } else {
            let (sound, rows) = long_texts::leave_out(&piece.batch, &long).map_err(PartFault::Arrow)?;
            let mut normalized = rules.normalize(&sound).map_err(PartFault::Arrow)?;
            normalized.faults.iter_mut().for_each(|fault| fault.row = rows[fault.row]);
            normalized
        };
        let faults = std::mem::take(&mut normalized.faults);
        let (batch, broken) = (normalized.batch, piece.broken.take());
        let faults = Faults::new(piece, long, faults, longest);
        Ok(Checked { schema, ignored: rules.ignored(), batch, faults, broken })
    }
}
