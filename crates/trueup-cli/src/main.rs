//! The `trueup` program. Its library does all the work.

use std::process::ExitCode;

/// The allocator of the program. It requests huge pages, which make address translation cheaper, and keeps the memory
/// that a query frees for the next query. It is not in the library, because the program of the Python package has the
/// allocator of its process.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    trueup_cli::run(std::env::args_os()).into()
}
