//! `trueup completions` and `trueup man`: what a shell and `man` need to know about the program, made from the parser's
//! own description of it.

use crate::Arguments;
use crate::exit::Failure;
use crate::output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::Write;
use trueup::Shown;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(trueup completions bash)                                        # in ~/.bashrc
  trueup completions zsh > ~/.zfunc/_trueup                                # a folder of `fpath`
  trueup completions fish > ~/.config/fish/completions/trueup.fish";

/// Print a script that completes commands and options in a shell
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsCommand {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        // The generator panics if its output fails, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "trueup", &mut script);
        output::print(|out| out.write_all(&script))
    }
}

const MAN_EXAMPLES: &str = "\
Examples:
  trueup man > trueup.1 && man ./trueup.1
  trueup man query > trueup-query.1";

/// Print a manual page, in the format of `man`
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManCommand {
    /// The command to describe, such as `query` or `users add`; without one, the whole program
    command: Vec<String>,
}

impl ManCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut program = Arguments::command();
        program.build();
        let mut described = &program;
        for name in &self.command {
            described = described
                .find_subcommand(name)
                .ok_or_else(|| Failure::usage(format!("expected a command of trueup, but found `{}`", Shown(name))))?;
        }
        let mut page = Vec::new();
        Man::new(described.clone()).render(&mut page).map_err(Failure::fault)?;
        output::print(|out| out.write_all(&page))
    }
}
