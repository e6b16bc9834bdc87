//! What is said beside the results, on stderr; in colour on a terminal, unless `NO_COLOR` is set.

use crate::exit::Exit;
use crate::output::terminal::{printable, printable_lines};
use std::fmt::Display;
use std::io::Write;

/// Says why the program ends.
pub(crate) fn error(message: &str) {
    say(format_args!("\u{1b}[1;31merror:\u{1b}[0m {}", printable_lines(message)));
}

/// Says what the reader should know although it stops nothing.
pub(crate) fn warning(message: impl Display) {
    say(format_args!("\u{1b}[1;33mwarning:\u{1b}[0m {}", printable(&message.to_string())));
}

/// Says what has been done.
pub(crate) fn note(message: impl Display) {
    say(format_args!("{}", printable(&message.to_string())));
}

/// Says what the argument parser has to say: help and version on stdout, wrong usage on stderr.
pub(crate) fn usage(refused: &clap::Error) -> Exit {
    let plain = refused.to_string();
    let shown = printable_lines(&plain);
    if shown == plain {
        // Where nobody listens any more, as in `trueup --help | head -1`, there is nobody to tell.
        drop(refused.print());
    } else {
        // It repeats an argument that a terminal would obey; without that, and without colours.
        say(format_args!("{}", shown.trim_end()));
    }
    if refused.use_stderr() { Exit::Usage } else { Exit::Done }
}

fn say(message: std::fmt::Arguments<'_>) {
    // A notice that cannot be written has no other place to go, and must not turn a good result into a failure.
    drop(writeln!(anstream::stderr(), "{message}"));
}
