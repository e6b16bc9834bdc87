//! `trueup query`: one question, one answer.

use super::selection::Selection;
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, Format, Sink};
use std::path::PathBuf;

/// Ask for metrics.
#[derive(Debug, clap::Args)]
pub(crate) struct Query {
    #[command(flatten)]
    selection: Selection,

    /// How the answer is written; by default as the ending of FILE says, or as a table
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write the answer to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Query {
    pub(super) fn run(self) -> Result<(), Failure> {
        let ending = self.output.as_deref().and_then(Format::of);
        let format = self.format.or(ending).unwrap_or(Format::Table);
        let dataset = self.selection.open()?;
        let answer = dataset.run(&self.selection.query(&dataset)?, self.selection.execution())?;
        for name in answer.unknown_fields() {
            notice::warning(format_args!(
                "neither the dictionary nor the dataset knows `{name}`; it is empty on every row"
            ));
        }
        output::write(&answer, format, &mut Sink::open(self.output.as_deref())?)
    }
}
