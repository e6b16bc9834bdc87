//! Amounts of memory, as the command line takes them.

use trueup_core::Shown;

/// Reads a whole number of bytes with an optional unit: `512MiB`, `1GiB`, `2GB`, `1000000`.
pub(super) fn parse(text: &str) -> Result<usize, String> {
    let expected = || format!("expected an amount of memory such as `512MiB` or `1GiB`, but found `{}`", Shown(text));
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

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units() {
        assert_eq!(parse("1GiB"), Ok(1 << 30));
        assert_eq!(parse("512 mib"), Ok(512 << 20));
        assert_eq!(parse("2GB"), Ok(2_000_000_000));
        assert_eq!(parse("64k"), Ok(65_536));
        assert_eq!(parse("100"), Ok(100));
        for text in ["", "GiB", "1.5GiB", "-1", "0", "1TiB", "99999999999GiB"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
