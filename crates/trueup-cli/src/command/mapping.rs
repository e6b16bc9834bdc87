//! `trueup mapping`: drafts a mapping of files that are not canonical.

use super::ingest::endings;
use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use crate::progress::Step;
use std::io::Write;
use std::path::PathBuf;
use trueup_ingest::mapping::{DraftOptions, Template};
use trueup_ingest::{Outputs, TextEncoding};

const EXAMPLES: &str = "\
Examples:
  trueup mapping draft crm.csv branches.csv
  trueup mapping draft crm.csv branches.csv -o crm.toml
  trueup mapping draft --template servicetitan jobs.csv calls.csv ads.csv -o crm.toml
  trueup ingest crm.csv branches.csv --mapping crm.toml --into my-data";

/// Draft mappings, which say how tables of any shape become events, spend and accounts
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum MappingCommand {
    Draft(DraftCommand),
}

impl MappingCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Draft(command) => command.run(),
        }
    }
}

/// Draft a mapping of files: a TOML file to be edited
///
/// Reads the names of the columns and the first rows of each file. The draft says which columns and formats it
/// recognized, which values look like stages, and how files are joined. What the files leave open is a question in a
/// comment; the draft does not load until all questions are answered.
///
/// Exports of the products that `--template` lists are recognized by their headers, several in one draft. The draft
/// says which file was taken for what.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DraftCommand {
    #[arg(value_name = "FILE", required = true, help = format!("Files that one mapping is to read ({})", endings()))]
    files: Vec<PathBuf>,

    /// Start from a known export of this product; may be repeated. Without it, known exports are recognized by their
    /// headers. A file that lacks columns of the export is an error, which names them
    #[arg(long = "template", value_name = "NAME", value_parser = template_names())]
    templates: Vec<Template>,

    /// Encoding of the text files that are not UTF-8 and have no byte order mark, such as utf-16, latin1 or
    /// windows-1252
    #[arg(long, value_name = "NAME")]
    encoding: Option<TextEncoding>,

    /// Sheet of XLSX files; by default the first one
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,

    /// File for the draft; without it, the draft is printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the output file if it exists; an input is never replaced
    #[arg(long, requires = "output")]
    force: bool,
}

impl DraftCommand {
    fn run(self) -> Result<(), Failure> {
        let outputs = self.files.iter().fold(Outputs::new(self.force), Outputs::input);
        let options =
            DraftOptions { encoding: self.encoding, sheet: self.sheet.clone(), templates: self.templates.clone() };
        let step = Step::new("reading files");
        let draft = trueup_ingest::mapping::draft(&self.files, &options).map_err(Failure::request)?;
        drop(step);
        let mut out = match &self.output {
            Some(path) => OutputWriter::create(path, &outputs)?,
            None => OutputWriter::stdout(),
        };
        let written = out.write_all(draft.text.as_bytes()).map_err(Failure::fault);
        out.finish(written)?;
        out.keep()?;
        for known in &draft.known_exports {
            notice::note(format_args!("`{}` is {}", known.file.display(), known.export));
        }
        if let Some(path) = &self.output {
            let questions = match draft.open_questions {
                0 => "no question is open".to_owned(),
                1 => "1 question is open".to_owned(),
                count => format!("{count} questions are open"),
            };
            notice::note(format_args!("wrote `{}`, in which {questions}", path.display()));
        }
        Ok(())
    }
}

/// Returns the parser of a template's name, which lists the names.
fn template_names() -> impl clap::builder::TypedValueParser<Value = Template> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
    let value = |template: Template| PossibleValue::new(template.name()).help(template.product());
    PossibleValuesParser::new(Template::all().map(value)).try_map(|name| name.parse::<Template>())
}
