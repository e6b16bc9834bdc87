//! Words of commands that a person can copy into a shell.

/// Quotes a word for a POSIX shell, if necessary.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:+@%,".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_are_quoted_if_a_shell_would_change_them() {
        assert_eq!(shell_word("target/trueup-demo"), "target/trueup-demo");
        assert_eq!(shell_word("my demo"), "'my demo'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
