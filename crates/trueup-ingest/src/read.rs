//! From input files to rows that keep the rules of their table.

use crate::cells::Cells;
use crate::error::{InputFault, Kind};
use crate::ignored::Ignored;
use crate::place::{Place, RowFault};
use crate::rejects::Rejects;
use crate::source::{Chunking, Part, Piece, Source};
use crate::table::Table;
use crate::{Counts, IngestError, Input, Progress};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use rayon::prelude::*;
use trueup_core::model::{Fault, Normalized, SchemaFault};

/// Checks the rows of one schema and gives them their stored form.
pub(crate) trait Rules: Send + Sync {
    /// The columns that are not stored and that the caller should know of.
    fn ignored(&self) -> Vec<Ignored>;
    fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError>;
}

/// The rules for a schema.
pub(crate) type MakeRules<'a> = dyn Fn(&Schema) -> Result<Box<dyn Rules + 'a>, SchemaFault> + Sync + 'a;

/// What all reading of one ingest shares.
pub(crate) struct Reading<'a> {
    pub(crate) chunking: Chunking,
    pub(crate) progress: &'a dyn Progress,
    /// Where faulty rows go; without it the first one ends the ingest.
    pub(crate) rejects: Option<Rejects>,
    pub(crate) warnings: Vec<String>,
}

/// A piece whose rows keep the rules.
struct Checked {
    batch: RecordBatch,
    /// In file order.
    faults: Vec<RowFault>,
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
        take: &mut (dyn FnMut(RecordBatch) -> Result<(), IngestError> + Send),
    ) -> Result<(), IngestError> {
        let mut source = Source::open(input, self.chunking)?;
        if let Some(schema) = source.schema() {
            let rules = make_rules(schema).map_err(|fault| InputFault::Schema(fault.to_string()).of(&input.shown))?;
            self.warn_ignored(input, &rules.ignored());
        }
        let progress = self.progress;
        let check = |part: Part| {
            let bytes = part.bytes();
            let checked = check(part, table, make_rules);
            progress.advance(bytes);
            checked
        };
        let mut checked: Vec<CheckedPart> = Vec::new();
        loop {
            let (parts, end) = self.next_parts(&mut source);
            // What was checked before is taken meanwhile, which may spill rows and leave threads idle.
            let (next, taken) = rayon::join(
                || parts.into_par_iter().map(check).collect(),
                || checked.into_iter().try_for_each(|part| self.take_part(input, part, counts, take)),
            );
            taken?;
            checked = next;
            if let End::More = end {
                continue;
            }
            checked.into_iter().try_for_each(|part| self.take_part(input, part, counts, take))?;
            return if let End::Broken(error) = end { Err(error) } else { Ok(()) };
        }
    }

    /// Hands on the rows of a part.
    fn take_part(
        &mut self,
        input: &Input,
        part: CheckedPart,
        counts: &mut Counts,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let (pieces, ignored) = part.map_err(|fault| fault.of(input))?;
        self.warn_ignored(input, &ignored);
        for piece in pieces {
            self.judge(input, piece.faults, counts)?;
            if let Some(fault) = piece.broken {
                return Err(fault.of(&input.shown));
            }
            counts.taken += u64::try_from(piece.batch.num_rows()).unwrap_or(0);
            take(piece.batch)?;
        }
        Ok(())
    }

    /// Parts enough to keep every thread busy, as far as they fit in memory, and whether there are more. What stands before a
    /// fault in the file is judged before it.
    fn next_parts(&self, source: &mut Source<'_>) -> (Vec<Part>, End) {
        let wanted = rayon::current_num_threads() * 2;
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
    pub(crate) fn judge(
        &mut self,
        input: &Input,
        faults: Vec<RowFault>,
        counts: &mut Counts,
    ) -> Result<(), IngestError> {
        for fault in faults {
            let Some(rejects) = &mut self.rejects else {
                return Err(Kind::Row { path: input.shown.clone(), fault }.into());
            };
            rejects.add(&input.shown, &fault)?;
            counts.rejected += 1;
        }
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

/// The pieces of a part, and the columns of it that are not stored.
type CheckedPart = Result<(Vec<Checked>, Vec<Ignored>), PartFault>;

fn check(part: Part, table: Table, make_rules: &MakeRules<'_>) -> CheckedPart {
    let pieces = part.decode(table).map_err(PartFault::Input)?;
    let mut ignored = Vec::new();
    let mut checked = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let rules = make_rules(piece.batch.schema_ref())
            .map_err(|fault| PartFault::Input(InputFault::Schema(fault.to_string())))?;
        let normalized = rules.normalize(&piece.batch).map_err(PartFault::Arrow)?;
        ignored.extend(rules.ignored());
        let faults = row_faults(&piece, &normalized.faults).map_err(PartFault::Arrow)?;
        checked.push(Checked { batch: normalized.batch, faults, broken: piece.broken });
    }
    Ok((checked, ignored))
}

/// The faults of a piece with their places, in file order.
pub(crate) fn row_faults(piece: &Piece, faults: &[Fault]) -> Result<Vec<RowFault>, ArrowError> {
    let mut all = piece.torn.clone();
    if faults.is_empty() {
        return Ok(all);
    }
    let cells = Cells::new(&piece.batch);
    for fault in faults {
        let shown = fault.to_string();
        let reason = shown.strip_prefix(&format!("column `{}`: ", fault.column)).unwrap_or(&shown).to_owned();
        all.push(RowFault {
            place: piece.places.of(fault.row),
            column: Some(fault.column.clone()),
            value: Some(fault.value.clone()),
            reason,
            cells: cells.of(fault.row)?,
        });
    }
    all.sort_by_key(|fault| match fault.place {
        Place::Line(line) => (line, 0),
        Place::Row { row_group, row } => (u64::try_from(row_group).unwrap_or(0), row),
    });
    Ok(all)
}
