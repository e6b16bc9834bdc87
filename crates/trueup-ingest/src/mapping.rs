//! Turns tables of any shape into canonical tables, whose columns have the names of the data model, as a mapping file
//! describes. `docs/mapping.md` documents the format.
//!
//! ```text
//! Mapping::read        the file as written, and a check without data          declaration.rs, check.rs
//! Mapping::tables      plans each canonical table
//!   inputs::open       the given files by input, and their columns            inputs.rs
//!   BufferedRows           the rows of joined inputs, in a share of the memory    held.rs
//!   TablePlanner       a TableMapper for each table                           table.rs
//!     RowPlan          joins, whose inputs are read now, and conditions       rows.rs, columns.rs,
//!                                                                             conditions.rs
//!     ColumnPlanner    the origin of each column, and how it is read          column.rs, origin.rs, canonical.rs
//! TableMapper::map     makes a canonical batch, when the ingest reads an input
//!   InputRows          makes rows of columns, and columns of others           computed.rs, unpivot.rs
//!   RowPlan::pick      joins and picks rows                                   rows.rs, cells.rs
//!   ColumnPlan::read   reads a column of these rows                           column/read.rs, values.rs, dates.rs,
//!                                                                             times.rs, amounts.rs, normal.rs
//!   SpreadPlan         divides spend over days                                spread.rs
//!   MoneyPlan          checks and converts currencies                         money.rs
//!   FirstTouchCredit   gives events the values of their first conversions     credit.rs
//! MappedTables::find_records   reads which records the files deliver         records.rs
//! ```
//!
//! `faults` holds what is wrong with rows. `draft` drafts a mapping of files; `known_exports` has what it knows of the
//! exports of products.

mod amounts;
mod canonical;
mod cells;
mod check;
mod column;
mod columns;
mod computed;
mod conditions;
mod credit;
mod dates;
mod declaration;
mod draft;
mod faults;
mod held;
mod inputs;
mod known_exports;
mod money;
mod normal;
mod origin;
mod patch;
mod records;
mod rows;
mod spread;
mod stored;
mod table;
mod template;
mod times;
mod unpivot;
mod values;

pub use draft::{DraftOptions, KnownFile, MappingDraft, draft};
pub use known_exports::{ParseTemplateError, Template};
pub(crate) use patch::{PatchKeyRules, PatchKeys, PatchMapper, PatchedEvents};

use crate::error::{ErrorContext, ErrorKind, FileFault, MappingFault, OPEN, OfMapping};
use crate::monitor::{Monitor, Phase};
use crate::read::{RowRules, TableReader};
use crate::records::DeliveredRecords;
use crate::rejects::FaultyRows;
use crate::report::LeftOutRows;
use crate::source::{FileFormat, Input, LeftOutLines, ReadLimits, ReadOptions, file_name};
use crate::table::Table;
use crate::{IngestError, Interrupt};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use credit::{ConversionRules, Conversions, FirstConversions, FirstTouchCredit};
use declaration::{EventTableDeclaration, MappingFile, TableDeclaration};
use held::{BufferedRows, MemoryCharge, MemoryUse};
use inputs::Reading;
pub(crate) use inputs::StoredDataset;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use records::{RecordRules, Records};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use table::{TableMapper, TablePlanner};
use times::{ClockRule, KnownAccounts};
use trueup_core::dataset::InputProtocol;
use trueup_core::dataset::manifest::checksum;
use trueup_core::files::Files;
use trueup_core::model::{Accounts, CellFault, ClockZone, SOURCE};

/// A mapping, which describes how the rows of files become events, spend, accounts and targets.
///
/// ```
/// use trueup_ingest::mapping::Mapping;
///
/// # let dir = tempfile::tempdir()?;
/// let (file, jobs) = (dir.path().join("jobs.toml"), dir.path().join("jobs.csv"));
/// std::fs::write(&file, r#"
/// [input.jobs]
/// file = "jobs.csv"
///
/// [[events]]
/// from = "jobs"
/// columns = { account = { value = "acme" }, opportunityId = "id", type = { value = "sold" }, date = "day" }
/// "#)?;
/// std::fs::write(&jobs, "id,day\n7,2025-01-31\n")?;
/// let made = Mapping::read(&file)?.run(&[jobs], dir.path())?;
/// assert_eq!(made.events, [dir.path().join("events-001.parquet")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mapping {
    path: PathBuf,
    /// The name in protocols.
    name: String,
    /// Whether a dataset has it, and it was not given.
    is_stored: bool,
    text: String,
    file: MappingFile,
    /// The checksum of what the mapping says of events, whatever the order of its keys, and without its comments.
    events_checksum: String,
}

/// The files that a mapping wrote: canonical Parquet files, in the order of the mapping's tables. A wide table has a
/// file for each of its stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedFiles {
    /// Files of events.
    pub events: Vec<PathBuf>,
    /// Files of spend.
    pub spend: Vec<PathBuf>,
    /// Files of accounts.
    pub accounts: Vec<PathBuf>,
    /// Files of targets.
    pub targets: Vec<PathBuf>,
}

/// The canonical tables that a mapping makes of the files that are given as events. Empty without a mapping.
#[derive(Default)]
pub(crate) struct MappedTables {
    /// What warnings call the mapping; `None` if there is none.
    title: Option<String>,
    /// The inputs of each table, in the order of the mapping's tables.
    inputs: Vec<(Table, Input)>,
    /// How many of `inputs` each canonical table has. A wide table of the mapping makes one for each of its stages.
    lengths: Vec<usize>,
    /// The inputs that tables of events join, by their names.
    pub(crate) joined_to_events: Vec<(String, Vec<Input>)>,
    /// The checksums of what the dataset holds for joins of tables of events, by the keys of the joins.
    pub(crate) stored_rows_for_events: BTreeMap<String, String>,
    /// The checksum of what the mapping says of events.
    events_checksum: String,
    /// The files that have lines, and the lines of each that become no rows.
    left_out: Vec<(PathBuf, Arc<LeftOutLines>)>,
    /// The optional inputs without a file, in words.
    missing: Vec<String>,
    credit: Option<Arc<FirstTouchCredit>>,
    /// The inputs that list the records of the tables of events, and the records, once they are found.
    record_inputs: Vec<Input>,
    records: OnceLock<DeliveredRecords>,
    accounts: Arc<KnownAccounts>,
    /// What the joined inputs and the first conversions take; `None` without a mapping.
    memory: Option<MemoryCharge>,
}

impl Mapping {
    /// Reads a mapping file and checks it as far as possible without data.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has a key that mappings do not have or a wrong kind of value, has a key
    /// that cannot be carried out, or is a draft with open questions.
    pub fn read(path: &Path) -> Result<Self, IngestError> {
        let text = std::fs::read_to_string(path).at(OPEN, path)?;
        Self::parse(text, path)
    }

    /// Checks the mapping that a dataset has. `path` is that of its file, for messages.
    pub(crate) fn stored(text: String, path: &Path) -> Result<Self, IngestError> {
        Ok(Self { name: "mapping of the dataset".to_owned(), is_stored: true, ..Self::parse(text, path)? })
    }

    /// Returns the mapping file as it is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether a dataset has the mapping, and it was not given.
    pub(crate) fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// Returns what warnings call the mapping.
    fn title(&self) -> String {
        if self.is_stored { self.name.clone() } else { format!("mapping `{}`", self.path.display()) }
    }

    fn parse(text: String, path: &Path) -> Result<Self, IngestError> {
        let mut file: MappingFile = toml::from_str(&text).map_err(|error| match single_table(&text) {
            Some(fault) => fault.at(path),
            None => ErrorKind::MappingSyntax { path: path.to_owned(), error: Box::new(error) }.into(),
        })?;
        check::mapping(&file).of_mapping(path)?;
        file.add_rates();
        let events_checksum = events_checksum(&text, &file);
        Ok(Self { path: path.to_owned(), name: file_name(path), is_stored: false, text, file, events_checksum })
    }

    /// Makes the mapping's tables from the given files, and writes them to a folder that exists. The files are
    /// `events-001.parquet`, `spend-001.parquet` and so on; files of these names are replaced.
    ///
    /// Dates are written as dates, times as UTC microseconds, and amounts as they are read: text stays text.
    ///
    /// # Errors
    /// A file is given twice or belongs to no input or to several, an input has no file, its files have different
    /// columns, a file cannot be read or written or is not in its format, joined inputs or first conversions do not fit
    /// in memory, a column does not exist or has a type that its key cannot use, a key of a joined input recurs without
    /// `many`, a row without a match is refused, a row matches too many combinations of rows, or a value cannot be
    /// read; the first such row is reported. A time without an offset is such a value, unless the mapping has a
    /// `time_zone` for its column. Files written before the error stay in the folder and are of no use.
    pub fn run(&self, inputs: &[PathBuf], folder: &Path) -> Result<MappedFiles, IngestError> {
        let (files, limits) = (Files::default(), ReadLimits::default());
        let inputs: Vec<Input> = inputs.iter().map(|path| Input::given(path)).collect();
        let tables = self.tables(&inputs, &files, limits, None, None)?;
        let monitor = Monitor::new(None, Interrupt::default(), Duration::ZERO);
        let mut reader = TableReader::new(&files, limits, &monitor, FaultyRows::Stop);
        tables.find_first_conversions(&reader)?;
        let mut made = MappedFiles::default();
        for (table, inputs) in tables.by_table() {
            let paths = match table {
                Table::Spend => &mut made.spend,
                Table::Accounts => &mut made.accounts,
                Table::Targets => &mut made.targets,
                Table::Events | Table::Insights => &mut made.events,
            };
            let path = folder.join(format!("{}-{:03}.parquet", table.name(), paths.len() + 1));
            write_table(table, inputs, &path, &mut reader)?;
            paths.push(path);
        }
        Ok(made)
    }

    /// Plans the mapping's tables over the given files, and reads the inputs that they join. `clock_zone` is the time
    /// zone of clock times for which the mapping has none, and `stored` what the dataset holds; `None` outside of an
    /// ingest.
    pub(crate) fn tables(
        &self,
        inputs: &[Input],
        files: &Files,
        limits: ReadLimits,
        clock_zone: Option<ClockZone>,
        stored: Option<StoredDataset<'_>>,
    ) -> Result<MappedTables, IngestError> {
        check_distinct(inputs)?;
        let accounts = Arc::default();
        let clock = ClockRule::of_option(clock_zone, &accounts);
        let memory = MemoryCharge::new(limits);
        let (mapping, name, is_stored) = (self.path.as_path(), self.name.as_str(), self.is_stored);
        let mentioned = &self.file.mentioned_columns();
        let reading = Reading { mapping, name, is_stored, mentioned, stored, files, limits, memory: &memory };
        let opened = inputs::open(&self.file, reading, inputs)?;
        let credit = self.file.first_touch.as_ref();
        let credit = credit.map(|first_touch| Arc::new(FirstTouchCredit::new(first_touch.copy.clone())));
        let planner = TablePlanner {
            reading,
            maps: &self.file.map,
            clock: &clock,
            inputs: &opened,
            credit: credit.as_ref(),
            accounts: &accounts,
            rates: &|convert| self.file.rates_input(convert).to_owned(),
        };
        self.keep_last_records(&planner)?;
        let (title, credit) = (Some(self.title()), credit.clone());
        let mut tables = MappedTables { title, credit, accounts: accounts.clone(), ..MappedTables::default() };
        let mut add = |table: Table, (from, source): (Option<&String>, Option<&String>), mapper: TableMapper| {
            let files = from.and_then(|from| opened.get(from)).map_or_else(
                || {
                    let options = ReadOptions { format: Some(FileFormat::ONE_ROW), ..ReadOptions::default() };
                    vec![Input { options: Arc::new(options), ..Input::given(&self.path) }]
                },
                |opened| opened.files.clone(),
            );
            let mapper: Arc<TableMapper> = Arc::new(mapper);
            tables.lengths.push(files.len());
            let own = source.or(from).map(|name| Arc::from(name.as_str()));
            let mapped = |file: Input| {
                let source = file.options.source.clone().or_else(|| own.clone());
                let options = Arc::new(ReadOptions { source, ..ReadOptions::clone(&file.options) });
                (table, Input { mapper: Some(mapper.clone()), options, ..file })
            };
            tables.inputs.extend(files.into_iter().map(mapped));
        };
        let is_missing = |from: &String| opened.get(from).is_some_and(|input| input.is_missing);
        for (at, table) in self.file.events.iter().enumerate().filter(|(_, table)| !is_missing(&table.from)) {
            for mapper in planner.events(table, at)? {
                tables.stored_rows_for_events.extend(mapper.stored_rows().clone());
                add(Table::Events, (Some(&table.from), table.source.as_ref()), mapper);
            }
        }
        tables.record_inputs = self.record_inputs(&planner)?;
        for (target, declared) in self.file.tables() {
            let has_rows = |table: &TableDeclaration| !table.from.as_ref().is_some_and(is_missing);
            for (at, table) in declared.iter().enumerate().filter(|(_, table)| has_rows(table)) {
                add(target, (table.from.as_ref(), table.source.as_ref()), planner.table(target, table, at)?);
            }
        }
        tables.memory = Some(memory);
        let joined: BTreeSet<&String> =
            self.file.events.iter().flat_map(|table| &table.join).filter_map(|join| join.input.as_ref()).collect();
        let rates = self.file.events.iter().filter_map(|table| table.convert.as_ref());
        let rates: Vec<String> = rates.map(|convert| self.file.rates_input(convert).to_owned()).collect();
        let joined = joined.into_iter().chain(&rates).collect::<BTreeSet<&String>>();
        let files = |name: &String| Some((name.clone(), opened.get(name)?.files.clone()));
        tables.joined_to_events = joined.into_iter().filter_map(files).collect();
        let all_files = opened.values().flat_map(|input| &input.files);
        let counted = |file: &Input| Some((file.shown.clone(), file.options.left_out.clone()?));
        tables.left_out = all_files.filter_map(counted).collect();
        let missing = self.file.input.iter().filter(|(name, _)| is_missing(name));
        tables.missing = missing.map(|(name, input)| format!("`{name}` (`{}`)", input.file)).collect();
        tables.events_checksum.clone_from(&self.events_checksum);
        Ok(tables)
    }
}

impl Mapping {
    /// Leaves out of joined inputs what a later file delivers of a record, because the events of the record come from
    /// that file, too.
    fn keep_last_records(&self, planner: &TablePlanner<'_>) -> Result<(), IngestError> {
        let joins = self.file.events.iter().map(|table| &table.join);
        let joins = joins.chain(self.file.other_tables().map(|table| &table.join)).flatten();
        let joined: BTreeSet<&String> = joins.filter_map(|join| join.input.as_ref()).collect();
        let has_several =
            |name: &String| joined.contains(name) && planner.inputs.get(name).is_some_and(|it| it.files.len() > 1);
        for (name, opened) in planner.inputs.iter().filter(|(name, _)| has_several(name)) {
            let mut listing = Vec::new();
            for (at, table) in self.file.events.iter().enumerate().filter(|(_, table)| table.from == *name) {
                // What is joined must have its last records first.
                let may_join = !table.join.iter().filter_map(|join| join.input.as_ref()).any(has_several);
                listing.extend(planner.records(table, at, may_join)?);
            }
            if !listing.is_empty() {
                let mut rows = BufferedRows::read(&opened.files, planner.reading)?;
                records::keep_last(&mut rows, &listing, planner.reading.limits)
                    .doing("find the records of a joined input")?;
                opened.hold(rows);
            }
        }
        Ok(())
    }

    /// Plans what lists the records of the tables of events.
    fn record_inputs(&self, planner: &TablePlanner<'_>) -> Result<Vec<Input>, IngestError> {
        let mut listing: Vec<Input> = Vec::new();
        // From a source to the input whose records it has.
        let mut inputs: BTreeMap<Arc<str>, &String> = BTreeMap::new();
        for (at, table) in self.file.events.iter().enumerate() {
            let Some(opened) = planner.inputs.get(&table.from).filter(|input| !input.is_missing) else { continue };
            let Some(mapper) = planner.records(table, at, true)? else { continue };
            let mapper: Arc<TableMapper> = Arc::new(mapper);
            for file in &opened.files {
                let own = table.source.as_ref().unwrap_or(&table.from);
                let source = file.options.source.clone().unwrap_or_else(|| Arc::from(own.as_str()));
                let has_own_source = table.columns.contains_key(SOURCE);
                let other = *inputs.entry(source.clone()).or_insert(&table.from);
                if *other != table.from && !has_own_source {
                    let reason = format!(
                        "the input `{other}` has records of the same source, and the records of each would replace \
                         the ones of the other; give the tables a `source` of their own"
                    );
                    let fault =
                        MappingFault::new(format!("events[{at}].record"), reason).with_value(source.to_string());
                    return Err(fault.at(&self.path));
                }
                let options = Arc::new(ReadOptions { source: Some(source), ..ReadOptions::clone(&file.options) });
                listing.push(Input { mapper: Some(mapper.clone()), options, ..file.clone() });
            }
        }
        Ok(listing)
    }
}

impl MappedTables {
    /// Returns the records that the files deliver; `None` if events are no records, or if they are not found yet.
    pub(crate) fn records(&self) -> Option<&DeliveredRecords> {
        self.records.get()
    }

    /// Reads the files whose events are records, and finds which records they deliver. A row that cannot be read
    /// delivers none; it is reported when the events are read.
    pub(crate) fn find_records(&self, reader: &TableReader<'_>) -> Result<(), IngestError> {
        if self.record_inputs.is_empty() || self.records.get().is_some() {
            return Ok(());
        }
        let TableReader { files, limits, monitor, .. } = *reader;
        let mut reader = TableReader::new(files, limits, monitor, FaultyRows::PassOver);
        monitor.begin(Phase::FindingRecords, Some(self.record_inputs.iter().map(Input::size).sum()));
        let mut paths: Vec<PathBuf> = Vec::new();
        for input in &self.record_inputs {
            if !paths.contains(&input.path) {
                paths.push(input.path.clone());
            }
        }
        let mut found = DeliveredRecords::new(paths);
        for input in &self.record_inputs {
            let source = input.options.source.clone();
            let rules = |_: &Schema| Ok(Box::new(RecordRules { source: source.clone() }) as Box<dyn RowRules<Records>>);
            let Some(file) = found.file(&input.path) else { continue };
            reader.read(input, Table::Events, &rules, &mut InputProtocol::default(), &mut |records| {
                let before = found.bytes();
                for [account, source, record] in &records.0 {
                    found.add(account, source, record, file);
                }
                let added = found.bytes() - before;
                self.memory.as_ref().map_or(Ok(()), |memory| memory.add(added, MemoryUse::Records))
            })?;
        }
        self.records.get_or_init(|| found);
        Ok(())
    }

    /// Sets the accounts whose time zones turn clock times into points in time, and whose currencies amounts are in.
    /// Must be called before events and spend are read.
    pub(crate) fn set_accounts(&self, accounts: &Accounts) {
        self.accounts.set(accounts);
    }

    /// Returns the bytes of memory that are held until the ingest ends.
    pub(crate) fn held_bytes(&self) -> usize {
        self.memory.as_ref().map_or(0, MemoryCharge::used)
    }

    /// Returns the inputs of a table: the given ones, unless the mapping reads them, and what the mapping makes.
    pub(crate) fn inputs_of(&self, table: Table, given: &[(Table, Input)]) -> Vec<Input> {
        let is_mapped = self.title.is_some() && table == Table::Events;
        let direct = given.iter().filter(|(of, _)| *of == table && !is_mapped);
        direct.chain(self.inputs.iter().filter(|(of, _)| *of == table)).map(|(_, input)| input.clone()).collect()
    }

    /// Returns the checksum of what the mapping says of events; `None` without a mapping.
    pub(crate) fn checksum_for_events(&self) -> Option<&str> {
        self.title.as_ref().map(|_| self.events_checksum.as_str())
    }

    /// Returns warnings about values and matches that the mapping names and no row had, and about optional inputs
    /// without a file. Must be called after all rows are read.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let Some(mapping) = &self.title else { return Vec::new() };
        let mut all: Vec<String> = self.missing_warning().into_iter().collect();
        for mapper in self.inputs.iter().filter_map(|(_, input)| input.mapper.as_ref()) {
            for warning in mapper.warnings().into_iter().map(|warning| format!("{mapping}, {warning}")) {
                // The stages of a wide table have the same rows.
                if !all.contains(&warning) {
                    all.push(warning);
                }
            }
        }
        all
    }

    /// Returns a warning about optional inputs of which no file was given.
    fn missing_warning(&self) -> Option<String> {
        let inputs = match self.missing.as_slice() {
            [] => return None,
            [_] => "input",
            _ => "inputs",
        };
        Some(format!("no file was given of the optional {inputs} {}", self.missing.join(", ")))
    }

    /// Returns the lines that become no rows, of each file that has such lines. They are known once the files are read.
    pub(crate) fn left_out(&self) -> Vec<LeftOutRows> {
        let left_out = self.left_out.iter().map(|(file, lines)| {
            let [title_lines, blank_lines, short_rows] = lines.counts();
            LeftOutRows { file: file.clone(), title_lines, blank_lines, short_rows }
        });
        left_out.filter(|file| file.title_lines + file.blank_lines + file.short_rows > 0).collect()
    }

    /// Reads the events and finds the first conversion of each customer, if the mapping gives first-touch credit. A row
    /// that cannot be read gives none; it is reported when the events are read again.
    pub(crate) fn find_first_conversions(&self, reader: &TableReader<'_>) -> Result<(), IngestError> {
        let Some(credit) = self.credit.as_ref().filter(|credit| !credit.is_found()) else { return Ok(()) };
        let TableReader { files, limits, monitor, .. } = *reader;
        let mut reader = TableReader::new(files, limits, monitor, FaultyRows::PassOver);
        let events = || self.inputs.iter().filter(|(table, _)| *table == Table::Events).map(|(_, input)| input);
        monitor.begin(Phase::FindingConversions, Some(events().map(Input::size).sum()));
        let mut found = FirstConversions::default();
        let rules = |_: &Schema| Ok(Box::new(ConversionRules(credit)) as Box<dyn RowRules<Conversions>>);
        for input in events() {
            reader.read(input, Table::Events, &rules, &mut InputProtocol::default(), &mut |conversions| {
                let before = found.bytes();
                found.add(&conversions);
                let added = found.bytes() - before;
                self.memory.as_ref().map_or(Ok(()), |memory| memory.add(added, MemoryUse::FirstConversions))
            })?;
        }
        credit.give(found);
        Ok(())
    }

    /// Returns the inputs of each table.
    fn by_table(&self) -> impl Iterator<Item = (Table, &[(Table, Input)])> {
        let mut rest = self.inputs.as_slice();
        self.lengths.iter().filter_map(move |length| {
            let (inputs, others) = rest.split_at(*length);
            rest = others;
            Some((inputs.first()?.0, inputs))
        })
    }
}

/// Returns the checksum of what a mapping, whose text is that of `file`, says of events: of everything but its tables
/// of spend, accounts and targets, and the inputs that no table of events reads.
fn events_checksum(text: &str, file: &MappingFile) -> String {
    let read = |table: &EventTableDeclaration| {
        let joined = table.join.iter().filter_map(|join| join.input.clone());
        joined.chain([table.from.clone()]).collect::<Vec<_>>()
    };
    let read: BTreeSet<String> = file.events.iter().flat_map(read).collect();
    // It was parsed before.
    let mut keys: serde_json::Map<String, serde_json::Value> = toml::from_str(text).unwrap_or_default();
    keys.retain(|key, _| !matches!(key.as_str(), "spend" | "accounts" | "targets"));
    if let Some(serde_json::Value::Object(inputs)) = keys.get_mut("input") {
        inputs.retain(|name, _| read.contains(name));
    }
    checksum(serde_json::Value::Object(keys).to_string())
}

/// Finds `[events]` in place of `[[events]]`, about which the parser says only that it expected a sequence.
fn single_table(text: &str) -> Option<MappingFault> {
    let file: toml::Table = toml::from_str(text).ok()?;
    let is_single = |name: &&str| file.get(*name).is_some_and(toml::Value::is_table);
    let name = ["events", "spend", "accounts", "targets"].into_iter().find(is_single)?;
    Some(MappingFault::new(name, format!("expected `[[{name}]]` in double brackets, because there may be several")))
}

/// Writes the rows of a canonical table to a Parquet file.
fn write_table(
    table: Table,
    inputs: &[(Table, Input)],
    path: &Path,
    reader: &mut TableReader<'_>,
) -> Result<(), IngestError> {
    let mapped = inputs.first().and_then(|(_, input)| input.mapper.as_ref());
    let schema = plain_schema(mapped.map_or_else(|| Arc::new(Schema::empty()), |mapper| mapper.schema().clone()));
    let properties = WriterProperties::builder().set_compression(Compression::LZ4_RAW).build();
    let file = File::create(path).at("create", path)?;
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).writing(path)?;
    let rules = |_: &Schema| Ok(Box::new(EveryRow) as Box<dyn RowRules<RecordBatch>>);
    for (_, input) in inputs {
        reader.read(input, table, &rules, &mut InputProtocol::default(), &mut |batch| {
            let columns = batch.columns().iter().zip(schema.fields());
            let columns = columns.map(|(column, field)| arrow_cast::cast(column, field.data_type()));
            let batch =
                columns.collect::<Result<_, _>>().and_then(|columns| RecordBatch::try_new(schema.clone(), columns));
            writer.write(&batch.writing(path)?).writing(path)
        })?;
    }
    writer.close().writing(path).map(drop)
}

/// Returns the columns with texts in place of dictionaries of texts.
fn plain_schema(schema: SchemaRef) -> SchemaRef {
    let plain = |field: &Arc<Field>| match field.data_type() {
        DataType::Dictionary(_, values) => field.as_ref().clone().with_data_type(values.as_ref().clone()),
        _ => field.as_ref().clone(),
    };
    Arc::new(Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>()))
}

/// The rules of tables that are written as they are mapped: every row is sound.
struct EveryRow;

impl RowRules<RecordBatch> for EveryRow {
    fn normalize(&self, batch: &RecordBatch) -> Result<(RecordBatch, Vec<CellFault>), ArrowError> {
        Ok((batch.clone(), Vec::new()))
    }
}

/// Checks that no file is given twice, because its rows would count twice.
fn check_distinct(files: &[Input]) -> Result<(), IngestError> {
    let mut seen = BTreeSet::new();
    for file in files {
        if !seen.insert(file.path.canonicalize().at(OPEN, &file.path)?) {
            return Err(FileFault::Refused("the file is given twice".to_owned()).at(&file.shown));
        }
    }
    Ok(())
}
