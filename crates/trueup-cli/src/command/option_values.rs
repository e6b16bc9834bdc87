//! Parses the values of options: numbers of bytes and threads, seconds, ages, times to wait, folders,
//! delimiters, keys and tokens.

use crate::exit::Failure;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueup::access::SecretKey;
use trueup::{Shown, is_url};

/// Largest number of threads. No machine benefits from more, and starting far more takes time and memory.
const MAX_THREADS: usize = 1_024;

/// Largest number of bytes to read from a file with a key or a token; both are always shorter.
const MAX_KEY_FILE_BYTES: u64 = 4096;

/// Parses a whole number of bytes, at least 1, with an optional unit in any case: `512MiB`, `1GiB`, `2GB`, `1000000`.
/// `k`, `m` and `g` are powers of 1,024 like `KiB`, `MiB` and `GiB`; `KB`, `MB` and `GB` are powers of 1,000.
pub(super) fn bytes(text: &str) -> Result<usize, String> {
    let expected = || format!("expected a number of bytes such as `512MiB` or `1GiB`, but found `{}`", Shown(text));
    let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let number: usize = text[..digits].parse().map_err(|_| expected())?;
    let unit: usize = match text[digits..].trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(expected()),
    };
    number.checked_mul(unit).filter(|bytes| *bytes > 0).ok_or_else(expected)
}

/// Parses a number of threads, from 1 to [`MAX_THREADS`].
pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MAX_THREADS);
    threads.ok_or_else(|| format!("expected a whole number of threads from 1 to {MAX_THREADS}"))
}

/// Parses a positive number of seconds, such as `30` or `0.5`.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    duration(text).filter(|duration| !duration.is_zero()).ok_or_else(|| {
        format!("expected a positive number of seconds, such as `30` or `0.5`, but found `{}`", Shown(text))
    })
}

/// Parses a number of seconds, such as `30`, `0.5` or `0`.
pub(super) fn seconds_or_zero(text: &str) -> Result<Duration, String> {
    duration(text)
        .ok_or_else(|| format!("expected a number of seconds, such as `30`, `0.5` or `0`, but found `{}`", Shown(text)))
}

/// Returns the time of a number of seconds.
fn duration(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

/// Parses an age in weeks, days, hours, minutes or seconds, such as `30d`, `12h` or `0s`.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    whole_units(text)
        .ok_or_else(|| format!("expected an age such as `30d`, `12h` or `2w`, but found `{}`", Shown(text)))
}

/// Parses the time that a command may wait, in the units of [`age`], such as `30s` or `5m`.
pub(super) fn wait(text: &str) -> Result<Duration, String> {
    whole_units(text).ok_or_else(|| format!("expected a time such as `30s`, `5m` or `1h`, but found `{}`", Shown(text)))
}

/// Returns the time of a whole number of weeks, days, hours, minutes or seconds.
fn whole_units(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let seconds = match &text[digits..] {
        "w" => 7 * 86_400,
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// Parses the path of a folder of this machine. A URL would otherwise make a folder such as `s3:`.
pub(super) fn folder(text: &str) -> Result<PathBuf, String> {
    let refused = format!("expected a folder of this machine, but found `{}`", Shown(text));
    if is_url(Path::new(text)) { Err(refused) } else { Ok(text.into()) }
}

/// Parses what separates the cells of CSV files. A tab has two more spellings, because it is hard to type in a shell.
pub(super) fn delimiter(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (text, chars.next(), chars.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(char), None) => Ok(char),
        _ => Err("expected one character, such as `;` or `|`, or `tab`".to_owned()),
    }
}

/// Accepts any text as a key.
pub(super) fn key(text: &str) -> Result<SecretKey, std::convert::Infallible> {
    Ok(SecretKey::new(text))
}

/// Reads the key in a file, without the white space around it; `-` is stdin.
///
/// # Errors
/// Those of [`read_secret`].
pub(super) fn read_key(path: &Path) -> Result<SecretKey, Failure> {
    read_secret(path, "a key")
}

/// Reads the key or token in a file, without the white space around it; `-` is stdin. `expected` says which of the two.
///
/// # Errors
/// If the file cannot be read, is empty, or contains more than one word. The message does not quote the file, because
/// it may contain a secret.
pub(super) fn read_secret(path: &Path, expected: &str) -> Result<SecretKey, Failure> {
    let at_path = |error: io::Error| Failure::path(path, &error);
    let mut text = String::new();
    let read = |source: &mut dyn Read, text: &mut String| source.take(MAX_KEY_FILE_BYTES).read_to_string(text);
    if path == Path::new("-") {
        read(&mut io::stdin().lock(), &mut text).map_err(at_path)?;
    } else {
        read(&mut File::open(path).map_err(at_path)?, &mut text).map_err(at_path)?;
    }
    match text.trim() {
        "" => Err(Failure::request(format!("expected {expected} in `{}`, but found nothing", path.display()))),
        key if key.contains(char::is_whitespace) => {
            Err(Failure::request(format!("expected only {expected} in `{}`, but found more", path.display())))
        }
        key => Ok(SecretKey::new(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_THREADS, age, bytes, seconds, seconds_or_zero, threads};
    use std::time::Duration;

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes("1GiB"), Ok(1 << 30));
        assert_eq!(bytes("512 mib"), Ok(512 << 20));
        assert_eq!(bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(bytes("64k"), Ok(65_536));
        assert_eq!(bytes("100"), Ok(100));
        for text in ["", "GiB", "1.5GiB", "-1", "0", "1TiB", "99999999999GiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn there_is_at_least_one_thread_and_not_too_many() {
        assert_eq!(threads("8").map(usize::from), Ok(8));
        assert_eq!(threads("1024").map(usize::from), Ok(MAX_THREADS));
        for text in ["0", "-1", "", "two", "1.5", "1025", "18446744073709551615", "99999999999999999999"] {
            assert!(threads(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ages_have_units() {
        for (text, seconds) in [("2w", 1_209_600), ("30d", 2_592_000), ("12h", 43_200), ("90m", 5_400), ("0s", 0)] {
            assert_eq!(age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "30", "d", "-1d", "1.5d", "1 d", "1mo", "1y", "99999999999999999999s", "18446744073709551615w"]
        {
            assert!(age(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_positive_or_also_zero() {
        for parse in [seconds, seconds_or_zero] {
            assert_eq!(parse("0.5"), Ok(Duration::from_millis(500)));
            for text in ["", "-1", "NaN", "inf", "1e30", "10s"] {
                assert!(parse(text).is_err(), "{text}");
            }
        }
        assert!(seconds("0").unwrap_err().contains("expected a positive number of seconds"));
        assert_eq!(seconds_or_zero("0"), Ok(Duration::ZERO));
    }
}
