//! Drafts a mapping of files: what their names and values say, and questions about what they leave open.
//!
//! ```text
//! draft              a commented mapping file                                   draft.rs
//!   FileSample       the columns of a file, and values of its first rows        draft/sample.rs
//!   Recognition      which export of a known product a file is                  draft/export.rs
//!   FileKind         what the rows of the file are                              draft/kind.rs
//!     MonthColumns   columns that are a month each                              draft/months.rs
//!     names          what names of columns and stages mean                      draft/names.rs
//!     formats        the formats of dates and amounts that fit the values       draft/formats.rs
//!   TableDraft       the table that its rows become                             draft/table.rs, table/
//!     DraftText      lines of TOML, and questions                               draft/text.rs
//! ```

mod export;
mod formats;
mod kind;
mod months;
mod names;
mod sample;
mod table;
mod text;

use crate::IngestError;
use crate::TextEncoding;
use crate::error::FileFault;
use crate::given::is_stream;
use crate::mapping::known_exports::Template;
use crate::source::{Input, file_name, unpacked_name};
use export::{FoundExport, Recognition, RowCondition, RowTest, recognitions};
use kind::{FileKind, JoinKey, join_of_customers, kinds};
use sample::FileSample;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use table::{DraftInput, Drafted, TOTALS, TableDraft};
use text::{DraftText, key, on_one_line, quoted};
use trueup_core::dataset::is_url;

/// How files are read for a draft. The draft states these options, so that the ingest reads the files in the same
/// way.
#[derive(Clone, Debug, Default)]
pub struct DraftOptions {
    /// The encoding of text files that are not UTF-8 and have no byte order mark; there are none if absent.
    pub encoding: Option<TextEncoding>,
    /// The sheet of XLSX files; the first one if absent.
    pub sheet: Option<String>,
    /// The templates to start from, besides those of the exports that the draft recognizes. Each must fit a file.
    pub templates: Vec<Template>,
}

/// A draft of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingDraft {
    /// The mapping, as text to be edited.
    pub text: String,
    /// The number of its open questions.
    pub open_questions: usize,
    /// The files that were taken for exports of known products.
    pub known_exports: Vec<KnownFile>,
}

/// A file that is an export of a known product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// The file as it was given.
    pub file: PathBuf,
    /// What it was taken for and by what, such as ``a call log of CallRail (template `callrail`, recognized by its
    /// columns `Call Status`, `Tracking Number`, `Start Time`)``.
    pub export: String,
}

/// Drafts a mapping of some files, as text to be edited.
///
/// Each file becomes an input. Exports of known products, which have a [`Template`], are recognized by their headers.
/// The columns of other files are recognized by their names and by the values of the first rows, which also decide the
/// formats of dates and amounts, the stages of events, and which files are joined. A comment says why. What names and
/// values leave open, such as whether `01/02/2026` is in January or in February, is a question in a comment: the draft
/// does not load until its questions are answered.
///
/// # Errors
/// A file cannot be read, is a pipe or a URL, is not in its format, has no row but malformed ones, lacks the sheet, is
/// given twice, has the name of another, or lacks a column of a template that was asked for; or no file fits such a
/// template.
///
/// # Examples
/// ```
/// use trueup_ingest::mapping::DraftOptions;
///
/// # let dir = tempfile::tempdir()?;
/// let jobs = dir.path().join("jobs.csv");
/// std::fs::write(&jobs, "id,called,sold_on,sale\n7,2025-01-31,2025-02-03,1800\n")?;
/// let draft = trueup_ingest::mapping::draft(&[jobs], &DraftOptions::default())?;
/// assert!(draft.text.contains("sold = { date = \"sold_on\", total = \"sale\" }"));
/// assert!(draft.text.contains("QUESTION 1: no column is certainly the key of the account"));
/// assert_eq!(draft.open_questions, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn draft(files: &[PathBuf], options: &DraftOptions) -> Result<MappingDraft, IngestError> {
    let given: Vec<Input> = files.iter().map(|file| Input::given(file)).collect();
    given.iter().try_for_each(check_place)?;
    super::check_distinct(&given)?;
    check_names(&given)?;
    let mut samples: Vec<FileSample> =
        files.iter().map(|file| FileSample::read(file, options)).collect::<Result<_, _>>()?;
    let recognitions =
        recognitions(&samples, &options.templates).map_err(|(at, reason)| FileFault::Refused(reason).at(&files[at]))?;
    for (sample, found) in samples.iter_mut().zip(recognitions.iter().map(Recognition::found)) {
        if let Some(found) = found {
            keep_rows_of_use(sample, found)?;
        }
    }
    let inputs: Vec<DraftInput<'_>> = name_inputs(&samples);
    let kinds = kinds(&samples, &recognitions);
    let of_customers: Vec<Option<(usize, JoinKey)>> =
        (0..samples.len()).map(|at| join_of_customers(&samples, &kinds, at)).collect();
    let mut text = DraftText::default();
    for (at, ((input, kind), recognition)) in inputs.iter().zip(&kinds).zip(&recognitions).enumerate() {
        let is_joined =
            matches!(kind, FileKind::Joined(_)) || of_customers.iter().flatten().any(|(other, _)| *other == at);
        write_input(&mut text, input, (kind, recognition.found()), inputs.len() > 1 && !is_joined);
    }
    let mut drafted = Drafted::new(&samples);
    for (at, ((input, kind), recognition)) in inputs.iter().zip(&kinds).zip(&recognitions).enumerate() {
        let mut joined: Vec<_> =
            kinds.iter().zip(&inputs).filter_map(|(kind, input)| Some((kind.join_to(at)?, input))).collect();
        joined.extend(of_customers[at].iter().map(|(other, join)| (join, &inputs[*other])));
        TableDraft::new(input, &joined, &mut text).write(kind, recognition, &mut drafted)?;
    }
    let Drafted { mut copied, has_unknown_account, of_exports, identified_by, currencies, leads, revenue, .. } =
        drafted;
    if identified_by.iter().any(|(key, _)| *key != identified_by[0].0) {
        let keys: Vec<String> = identified_by.iter().map(|(key, file)| format!("{} by {key}", quoted(file))).collect();
        text.comment(&format!(
            "These files identify customers in different ways: {}. One person is then a customer of each way, and no lead becomes \
             revenue across them.",
            keys.join(", ")
        ));
        text.line("");
    }
    let of_several = [
        (
            &leads,
            "make conversions (`lead-originated`). If they are about the same people, each has two. Remove those of one file then",
        ),
        (
            &revenue,
            "make `closed` events with amounts. If they are about the same work, its revenue counts twice. Remove the `closed` \
                    events of one file then, or their `total`",
        ),
    ];
    for (files, question) in of_several {
        if files.len() > 1 {
            let names: Vec<String> = files.iter().map(|file| quoted(file)).collect();
            text.question(&format!("{} {question}.", names.join(" and ")), &[]);
            text.line("");
        }
    }
    // What the events of one export have, and those of another lack.
    let all: BTreeSet<&String> = of_exports.iter().flatten().collect();
    copied.extend(all.into_iter().filter(|name| of_exports.iter().any(|own| !own.contains(*name))).cloned());
    if !copied.is_empty() {
        text.comment("These columns are empty on some events. To give every event the values of its customer's first conversion, remove the `#`s:");
        copied.sort_unstable();
        copied.dedup();
        let names: Vec<String> = copied.iter().map(|name| quoted(name)).collect();
        text.line("#[first_touch]");
        text.line(&format!("#copy = [{}]", names.join(", ")));
        text.line("");
    }
    if currencies.len() > 1 {
        let names: Vec<String> = currencies.iter().map(|currency| format!("`{currency}`")).collect();
        let question = format!(
            "amounts are in {}. Which currency has each account? An amount in another one is refused, unless its table says with \
             `convert` by which rates it becomes one of the account: docs/mapping.md, Currencies.",
            names.join(" and ")
        );
        let answer = |currency: &String| format!("[[accounts]]\n#currency = {}\n#{ACCOUNT_COLUMNS}", quoted(currency));
        let answers: Vec<(String, String)> = currencies.iter().map(|it| (answer(it), String::new())).collect();
        text.question(&question, &answers);
    } else if has_unknown_account {
        text.comment("These lines give an account its name, and the time zone of its days. Without them, the name is the key, and the days are those of UTC:");
        text.line("#[[accounts]]");
        text.line(&format!("#{ACCOUNT_COLUMNS}"));
    }
    let names: Vec<String> = samples.iter().map(|sample| on_one_line(&shell_word(&sample.file_name))).collect();
    let head = format!(
        "# A draft of a mapping. docs/mapping.md explains every key. When it is right:\n\
         #   trueup ingest {} --mapping THIS_FILE --into DATASET\n",
        names.join(" ")
    );
    let known = samples.iter().zip(&recognitions).filter_map(|(sample, recognition)| {
        Some(KnownFile { file: sample.path.clone(), export: recognition.found()?.sentence() })
    });
    let (known_exports, open_questions) = (known.collect(), text.questions());
    Ok(MappingDraft { text: text.finish(&head), open_questions, known_exports })
}

/// The columns of an account whose days are those of New York.
const ACCOUNT_COLUMNS: &str = "columns = { account = { value = \"...\" }, accountName = { value = \"...\" }, timeZone = { value = \"America/New_York\" } }";

/// Keeps the sampled rows that the table of an export is made of.
fn keep_rows_of_use(sample: &mut FileSample, found: &FoundExport) -> Result<(), IngestError> {
    let mut conditions = Vec::new();
    for (of_export, stays) in [(&found.export.only, true), (&found.export.unless, false)] {
        let resolved = found.conditions(of_export, sample).into_iter();
        conditions.extend(resolved.map(|(column, values)| RowCondition {
            column,
            test: RowTest::OneOf(values),
            stays,
        }));
    }
    let first = sample.columns.first().filter(|_| found.export.has_totals).map(|column| column.name.clone());
    if let (Some(column), Ok(begins)) = (first, regex::Regex::new(&totals_pattern())) {
        conditions.push(RowCondition { column, test: RowTest::Matches(begins), stays: false });
    }
    sample.keep_rows(&conditions, &found.export.empty)
}

/// Returns the expression that the first cell of a row of totals matches.
fn totals_pattern() -> String {
    format!("^{}", TOTALS.1)
}

/// Refuses a URL, and a pipe: a sample is read in several passes, and the second would wait forever.
fn check_place(input: &Input) -> Result<(), IngestError> {
    let reason = if is_url(&input.path) {
        "a draft reads files of this machine; download the file first"
    } else if is_stream(input) {
        "a draft reads a file more than once, which a pipe does not allow; write its content to a file first"
    } else {
        return Ok(());
    };
    Err(FileFault::Refused(reason.to_owned()).at(&input.path))
}

/// Refuses a file that has the name of another one, with or without the ending that says how it is compressed: the
/// inputs of both would read it, and such a mapping does not load.
fn check_names(given: &[Input]) -> Result<(), IngestError> {
    let reads =
        |name: &Path, file: &Path| [file_name(file), file_name(&unpacked_name(file))].contains(&file_name(name));
    for file in given {
        if let Some(other) = given.iter().find(|other| other.path != file.path && reads(&other.path, &file.path)) {
            let reason = format!(
                "a mapping tells files apart by their names, so that the input of `{}` reads this file, too; leave this file out of \
                 the draft if both have the same columns, or else rename one",
                other.path.display()
            );
            return Err(FileFault::Refused(reason).at(&file.path));
        }
    }
    Ok(())
}

/// Returns a text as a word of a shell, in quotes if it needs them.
fn shell_word(text: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "-_.,+=@%/:".contains(char);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Gives each file an input, named after the file.
fn name_inputs(samples: &[FileSample]) -> Vec<DraftInput<'_>> {
    let mut inputs: Vec<DraftInput<'_>> = Vec::new();
    for sample in samples {
        let stem =
            unpacked_name(&sample.path).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |char: char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' };
        let base: String = stem.chars().map(plain).collect();
        let mut name = if base.is_empty() { "input".to_owned() } else { base.clone() };
        let mut number = 2;
        while inputs.iter().any(|input| input.name == name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        inputs.push(DraftInput { name, sample });
    }
    inputs
}

/// Writes an input. It may be `optional` if other files are ingested without it: those of another platform, or a
/// correction.
fn write_input(
    text: &mut DraftText,
    DraftInput { name, sample }: &DraftInput<'_>,
    (kind, found): (&FileKind, Option<&FoundExport>),
    is_optional: bool,
) {
    let rows = match (sample.is_whole, sample.rows) {
        (true, 1) => "The only row was".to_owned(),
        (false, 1) => "The first row was".to_owned(),
        (true, rows) => format!("All {rows} rows were"),
        (false, rows) => format!("The first {rows} rows were"),
    };
    text.comment(&format!("{rows} read for this draft."));
    if let Some(found) = found {
        text.comment(&format!("This is {}.", found.sentence()));
    }
    text.line(&format!("[input.{}]", key(name)));
    text.line(&format!("file = {}", quoted(&sample.file_name)));
    if is_optional {
        text.line("optional = true");
    }
    if let Some(format) = sample.format {
        text.line(&format!("format = {}", quoted(format)));
    }
    if let Some(separator) = sample.separator {
        text.line(&format!("separator = {}", quoted(&separator.to_string())));
    }
    if let Some(encoding) = sample.encoding {
        text.line(&format!("encoding = {}", quoted(encoding.name())));
    }
    if let Some(sheet) = &sample.sheet {
        text.line(&format!("sheet = {}", quoted(sheet)));
    }
    if sample.is_merged {
        text.noted("merged = true", "merged cells name the columns that they span");
    }
    match (sample.header_row, found.map(|found| &found.known_by[..])) {
        (None, _) => {}
        (Some(_), Some(names @ [_, ..])) => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            text.noted(&format!("header_row = [{}]", names.join(", ")), "the lines before it are titles");
        }
        (Some(line), _) => text.noted(&format!("header_row = {line}"), "the lines before it are titles"),
    }
    if found.is_some_and(|found| found.export.has_footer) {
        text.noted("short_rows = \"skip\"", "lines below the last row");
    } else if let Some(first) = sample.short_rows.first() {
        let rows = match sample.short_rows.len() {
            1 => format!("{first} has"),
            rows => format!("{rows} rows, of which the first is {first}, have"),
        };
        let question = format!("{rows} fewer cells than the header. Are such lines no rows, as below the last one?");
        text.question(&question, &[("short_rows = \"skip\"".to_owned(), "they are left out".to_owned())]);
    }
    let of_export = found.map_or(&[][..], |found| &found.export.empty);
    let mut empty: Vec<String> = of_export.iter().map(|cell| quoted(cell)).collect();
    if sample.cell_errors.is_empty() && !empty.is_empty() {
        text.line(&format!("empty = [{}]", empty.join(", ")));
    }
    if !sample.cell_errors.is_empty() {
        let errors: Vec<String> = sample.cell_errors.iter().map(|error| quoted(error)).collect();
        empty.extend(errors.iter().cloned());
        let question = format!(
            "cells hold the errors {}. Do they mean no value? The ingest refuses other errors.",
            errors.join(", ")
        );
        text.question(&question, &[(format!("empty = [{}]", empty.join(", ")), String::new())]);
    }
    if let (Some(first), true) = (sample.columns.first(), found.is_some_and(|found| found.export.has_totals)) {
        let (name, pattern) = (key(TOTALS.0), quoted(&totals_pattern()));
        text.line(&format!("compute = {{ {name} = {{ column = {}, extract = {pattern} }} }}", quoted(&first.name)));
    }
    if let FileKind::Months(months) = kind {
        months.input_lines().iter().for_each(|line| text.line(line));
    }
    for column in &sample.unreadable {
        text.comment(&format!("The column {} cannot be used: it holds arrays, objects or bytes.", quoted(column)));
    }
    text.line("");
}

impl FileKind {
    /// Returns the keys of the join if these rows are joined to those of file `at`.
    fn join_to(&self, at: usize) -> Option<&kind::JoinKey> {
        match self {
            Self::Joined(join) if join.to == at => Some(join),
            _ => None,
        }
    }
}
