//! Texts as queries and paths spell them.

use std::borrow::Cow;

/// A name or a value of a query: `+` is a space, `%` and two digits are a byte; a `%` that is not followed by two is itself. `None`
/// if the bytes are not UTF-8.
pub(super) fn query_text(encoded: &str) -> Option<String> {
    percent(&encoded.replace('+', " "))
}

/// A segment of a path: as [`query_text`], but `+` is itself.
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

/// A text as a header can carry it: everything but letters, digits, `-`, `_` and `.` becomes `%` and two digits.
pub(super) fn header_text(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let spelled =
        text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    Cow::Owned(spelled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_decoded_and_strays_are_kept() {
        assert_eq!(query_text("a+b%20c%2C%c3%A9").as_deref(), Some("a b c,é"));
        assert_eq!(query_text("100%+%4+%zz%").as_deref(), Some("100% %4 %zz%"));
        assert_eq!(query_text("%FF"), None);
        assert_eq!(path_text("a+b").as_deref(), Some("a+b"));
    }

    #[test]
    fn a_header_stays_one_line() {
        assert_eq!(header_text("crew"), "crew");
        assert_eq!(header_text("a\r\nb, é"), "a%0D%0Ab%2C%20%C3%A9");
    }
}
