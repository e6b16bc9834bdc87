//! The program `trueup`, which the package installs. `python/trueup/_program.py` calls it.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program `trueup` in this process, and returns its exit code. The first argument is the name of the program.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| trueup_cli::run(arguments))
}
