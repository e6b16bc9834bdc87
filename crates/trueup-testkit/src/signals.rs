//! Programs for tests that send them signals.

use std::ffi::OsStr;
use std::process::Command;

/// Returns a command that runs a program which a hangup ends, even if the tests themselves ignore hangups, as under
/// `nohup`. A program inherits what is ignored, and no safe code can change that; `env` of the GNU core utilities can,
/// and is replaced by the program, so that both have the same process id.
#[must_use]
pub fn program(path: impl AsRef<OsStr>) -> Command {
    if cfg!(target_os = "linux") {
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(path);
        return command;
    }
    Command::new(path)
}
