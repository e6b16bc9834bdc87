//! Percent-encoding of queries, paths and headers.

use std::borrow::Cow;

/// Decodes a name or a value of a query.
///
/// `+` is a space, and `%` with two hexadecimal digits is a byte. Any other `%` stays as it is. Returns `None` if the
/// bytes are not UTF-8.
pub(super) fn query_text(encoded: &str) -> Option<String> {
    percent(&encoded.replace('+', " "))
}

/// Decodes a segment of a path, like [`query_text`], but keeps `+`.
pub(super) fn path_text(encoded: &str) -> Option<String> {
    percent(encoded)
}

fn percent(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, after @ ..]) if let (Some(high), Some(low)) = (digit(*high), digit(*low)) => {
                bytes.push(high << 4 | low);
                rest = after;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Encodes a text for a header: every byte except ASCII letters, digits, `-`, `_` and `.` becomes `%` and two digits.
pub(super) fn header_text(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let spelled =
        text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    Cow::Owned(spelled.collect())
}

/// The longest list in one header, in bytes, because clients and proxies refuse responses whose headers are longer than
/// a few pages.
const MAX_LIST_BYTES: usize = 4 << 10;
/// Ends a list that was cut.
const MORE: &str = "...";

/// Joins names for one header, each encoded by [`header_text`]. A list that is too long is cut between names and ends
/// with `...`.
pub(super) fn header_list(names: &[String]) -> String {
    let mut list = String::new();
    for (place, name) in names.iter().enumerate() {
        let separator = if place == 0 { "" } else { ", " };
        let name = header_text(name);
        // Nothing follows the last name. After any other, there must be room to end the list.
        let after = if place + 1 == names.len() { 0 } else { ", ".len() + MORE.len() };
        if list.len() + separator.len() + name.len() + after > MAX_LIST_BYTES {
            return list + separator + MORE;
        }
        list += separator;
        list += &name;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_between_names() {
        let names = |count: usize| (0..count).map(|number| format!("n{number:04}é")).collect::<Vec<_>>();
        assert_eq!(header_list(&[]), "");
        assert_eq!(header_list(&names(2)), "n0000%C3%A9, n0001%C3%A9");
        let whole = header_list(&names(315));
        assert_eq!((whole.len(), whole.ends_with("n0314%C3%A9")), (315 * 13 - 2, true));
        let cut = header_list(&names(2_000));
        assert!(cut.len() <= MAX_LIST_BYTES && cut.len() > MAX_LIST_BYTES - 20, "{}", cut.len());
        assert!(cut.ends_with("%C3%A9, ..."), "{cut}");
        assert_eq!(header_list(&["x".repeat(5_000)]), "...");
        assert_eq!(header_list(&["x".repeat(4_096)]).len(), 4_096);
    }

    #[test]
    fn bytes_are_decoded_and_other_percent_signs_are_kept() {
        assert_eq!(query_text("a+b%20c%2C%c3%A9").as_deref(), Some("a b c,é"));
        assert_eq!(query_text("100%+%4+%zz%").as_deref(), Some("100% %4 %zz%"));
        assert_eq!(query_text("%FF"), None);
        assert_eq!(path_text("a+b").as_deref(), Some("a+b"));
    }

    #[test]
    fn a_header_value_stays_on_one_line() {
        assert_eq!(header_text("crew"), "crew");
        assert_eq!(header_text("a\r\nb, é"), "a%0D%0Ab%2C%20%C3%A9");
    }
}
