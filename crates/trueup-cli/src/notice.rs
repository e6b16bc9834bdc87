//! Messages on stderr, in color on a terminal unless `NO_COLOR` is set.

use crate::exit::Exit;
use crate::output::wrap;
use crate::progress;
use crate::terminal::{printable, printable_lines};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use terminal_size::{Width, terminal_size_of};

/// Reports an error: the one that ends the program, or one of several faults of a jobs file.
pub(crate) fn error(message: &str) {
    print(format_args!("\u{1b}[1;31merror:\u{1b}[0m {}", printable_lines(message)));
}

/// Reports something that the user should know although the command continues.
pub(crate) fn warning(message: impl Display) {
    print(format_args!("\u{1b}[1;33mwarning:\u{1b}[0m {}", printable(&message.to_string())));
}

/// Reports what the command has done.
pub(crate) fn note(message: impl Display) {
    print(format_args!("{}", printable(&message.to_string())));
}

/// Prints what the argument parser returned instead of arguments: help and version on stdout, wrong usage on stderr.
pub(crate) fn usage(refused: &clap::Error) -> Exit {
    let plain = refused.to_string();
    let shown = printable_lines(&plain);
    if shown == plain {
        // A reader that has closed the pipe, as in `trueup --help | head -1`, is not an error.
        drop(refused.print());
    } else {
        // The message repeats an argument with control characters: print it without these, and without colors.
        print(format_args!("{}", shown.trim_end()));
    }
    if refused.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// Tells a person at a terminal something that a script need not know.
pub(crate) fn aside(message: impl Display) {
    if std::io::stderr().is_terminal() {
        note(message);
    }
}

fn print(message: std::fmt::Arguments<'_>) {
    // On a terminal, a line ends between words. A width of 0 means that the terminal does not know its width.
    let width =
        terminal_size_of(std::io::stderr()).map(|(Width(width), _)| usize::from(width)).filter(|width| *width > 0);
    let lines = match width {
        Some(width) => wrap(&message.to_string(), width),
        None => format!("{message}\n"),
    };
    // If stderr cannot be written, there is nowhere else to report it, and a good result must not turn into a failure.
    progress::above(|| drop(write!(anstream::stderr(), "{lines}")));
}
