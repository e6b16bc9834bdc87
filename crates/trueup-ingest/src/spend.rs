//! Spend: a batch restates every day of an account that it has a row of.

use crate::draft::Draft;
use crate::error::{Doing, InputFault, Kind, OfDataset};
use crate::ignored::Ignored;
use crate::parquet_file::ParquetFile;
use crate::read::{Reading, Rules};
use crate::table::Table;
use crate::{CREATED_BY, Counts, IngestError, Input};
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use hashbrown::{HashMap, HashSet};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{CheckedFile, check_ranges, reading};
use trueup_core::model::{
    ACCOUNT, DATE, Normalized, SPEND_COLUMNS, SchemaFault, SpendNormalizer, concat_spend, sort_spend,
};

/// Adds the spend of some inputs to what the dataset holds, and gives back all of its spend files.
pub(crate) fn ingest(
    inputs: &[&Input],
    held: &[DataFile],
    dir: &Path,
    group_rows: usize,
    draft: &mut Draft,
    reading: &mut Reading<'_>,
) -> Result<(Vec<DataFile>, Counts), IngestError> {
    let mut counts = Counts::default();
    let mut batches = Batches { batches: Vec::new(), bytes: 0, limit: reading.chunking.table_bytes() };
    reading.progress.stage("reading spend", Some(inputs.iter().map(|input| input.size()).sum()));
    for input in inputs {
        // Objects of NDJSON may lack members one by one, so that only the whole file shows what no object has.
        let measures = Arc::new(Mutex::new(Measures::default()));
        let rules = |schema: &_| {
            let normalizer = SpendNormalizer::of_part(schema)?;
            Ok(Box::new(SpendRules { normalizer, measures: Arc::clone(&measures) }) as _)
        };
        reading.read(input, Table::Spend, &rules, &mut counts, &mut |batch| batches.push(batch))?;
        if let Some(fault) = measures.lock().unwrap_or_else(PoisonError::into_inner).fault() {
            return Err(InputFault::Schema(fault.to_string()).of(&input.shown));
        }
    }
    if counts.taken == 0 {
        return Ok((held.to_vec(), counts));
    }
    let mut restated = Restated::default();
    for batch in &batches.batches {
        restated.add(batch).doing("read spend")?;
    }
    for file in held {
        for batch in read_held(dir, file)? {
            let kept = restated.leave_out(&batch).doing("replace spend")?;
            counts.replaced += u64::try_from(batch.num_rows() - kept.num_rows()).unwrap_or(0);
            batches.push(kept)?;
        }
    }
    reading.progress.stage("writing spend", None);
    let all = concat_spend(&batches.batches).doing("sort spend")?;
    drop(batches);
    let sorted = sort_spend(&all).doing("sort spend")?;
    drop(all);
    let row_groups: Vec<RecordBatch> = (0..sorted.num_rows())
        .step_by(group_rows)
        .map(|start| sorted.slice(start, group_rows.min(sorted.num_rows() - start)))
        .collect();
    let mut file = ParquetFile::begin(draft.create(Table::Spend, 0)?, sorted.schema_ref(), properties())?;
    for row_groups in row_groups.chunks(rayon::current_num_threads()) {
        file.write(row_groups)?;
    }
    Ok((vec![file.finish()?], counts))
}

/// Spend in stored form, all of which is held.
struct Batches {
    batches: Vec<RecordBatch>,
    bytes: usize,
    limit: usize,
}

impl Batches {
    fn push(&mut self, batch: RecordBatch) -> Result<(), IngestError> {
        self.bytes += batch.get_array_memory_size();
        let Self { bytes, limit, .. } = *self;
        if bytes > limit {
            return Err(Kind::LargeTable { what: "rows of spend", bytes, limit }.into());
        }
        self.batches.push(batch);
        Ok(())
    }
}

/// Whether any part of an input has something that can be summed.
#[derive(Default)]
struct Measures {
    met: bool,
    /// The fault of the last part that has nothing.
    fault: Option<SchemaFault>,
}

impl Measures {
    fn note(&mut self, part: &SpendNormalizer) {
        match part.no_spend() {
            Some(fault) => self.fault = Some(fault),
            None => self.met = true,
        }
    }

    /// What is wrong with the input, now that all of it was read.
    fn fault(&mut self) -> Option<SchemaFault> {
        self.fault.take().filter(|_| !self.met)
    }
}

/// The rules of spend, which note what the rows of an input can be summed by.
struct SpendRules {
    normalizer: SpendNormalizer,
    measures: Arc<Mutex<Measures>>,
}

impl Rules for SpendRules {
    fn ignored(&self) -> Vec<Ignored> {
        let unknown = |column: &String| Ignored::unknown(column, Table::Spend.name(), &SPEND_COLUMNS);
        self.normalizer.ignored_columns().iter().map(unknown).collect()
    }

    fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError> {
        // A blank line of NDJSON has no columns, and is no fault.
        if batch.num_rows() > 0 {
            self.measures.lock().unwrap_or_else(PoisonError::into_inner).note(&self.normalizer);
        }
        self.normalizer.normalize(batch)
    }
}

/// Days by account that a batch has rows of.
#[derive(Default)]
struct Restated(HashMap<String, HashSet<i32>>);

impl Restated {
    fn add(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        for (account, day) in keys(batch)? {
            self.0.entry_ref(account).or_default().insert(day);
        }
        Ok(())
    }

    /// The rows of days that are not restated.
    fn leave_out(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let kept: BooleanArray = keys(batch)?
            .map(|(account, day)| Some(!self.0.get(account).is_some_and(|days| days.contains(&day))))
            .collect();
        filter_record_batch(batch, &kept)
    }
}

fn keys(batch: &RecordBatch) -> Result<impl Iterator<Item = (&str, i32)>, ArrowError> {
    let accounts = batch.column_by_name(ACCOUNT).and_then(|column| column.as_string_opt::<i32>());
    let days = batch.column_by_name(DATE).and_then(|column| column.as_primitive_opt::<Date32Type>());
    match (accounts, days) {
        // Neither is ever null in stored spend.
        (Some(accounts), Some(days)) => Ok(accounts.iter().flatten().zip(days.values().iter().copied())),
        _ => Err(ArrowError::SchemaError("stored spend has no sound account and date".to_owned())),
    }
}

fn read_held(dir: &Path, file: &DataFile) -> Result<Vec<RecordBatch>, IngestError> {
    let path = dir.join(&file.path);
    // Spend is held in memory as a whole.
    let bytes = CheckedFile::open(dir, file).and_then(|file| file.whole()).of_dataset(&path)?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let read = || {
        let length = bytes.len();
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options)?;
        check_ranges(builder.metadata(), length as u64)?;
        Ok(builder.build()?.collect::<Result<_, _>>()?)
    };
    reading(read).of_dataset(&path)
}

fn properties() -> WriterProperties {
    let date = ColumnPath::from(DATE);
    WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_data_page_row_count_limit(usize::MAX)
        .set_offset_index_disabled(true)
        .set_compression(Compression::LZ4_RAW)
        .set_column_dictionary_enabled(date.clone(), false)
        .set_column_encoding(date, Encoding::DELTA_BINARY_PACKED)
        .build()
}
