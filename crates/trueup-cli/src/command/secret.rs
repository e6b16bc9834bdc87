//! Keys that the program is handed.

use crate::exit::Failure;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use trueup::access::SecretKey;

/// Longer than any key.
const LONGEST: u64 = 4096;

/// A key as it was typed; any text may be one.
pub(super) fn typed(text: &str) -> Result<SecretKey, std::convert::Infallible> {
    Ok(SecretKey::new(text))
}

/// The key in a file, without the space around it; `-` is stdin.
pub(super) fn read(path: &Path) -> Result<SecretKey, Failure> {
    let at_path = |error: io::Error| Failure::path(path, &error);
    let mut text = String::new();
    let read = |source: &mut dyn Read, text: &mut String| source.take(LONGEST).read_to_string(text);
    if path == Path::new("-") {
        read(&mut io::stdin().lock(), &mut text).map_err(at_path)?;
    } else {
        read(&mut File::open(path).map_err(at_path)?, &mut text).map_err(at_path)?;
    }
    match text.trim() {
        "" => Err(Failure::request(format!("expected a key in `{}`, but found nothing", path.display()))),
        // What it holds instead is not told: it may be a key after all.
        key if key.contains(char::is_whitespace) => {
            Err(Failure::request(format!("expected a key alone in `{}`, but found more", path.display())))
        }
        key => Ok(SecretKey::new(key)),
    }
}
