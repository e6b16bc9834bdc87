//! Texts of the data in HTML and SVG.

use std::fmt;

/// The characters that have a meaning in HTML.
const ESCAPED: [char; 5] = ['&', '<', '>', '"', '\''];

/// A text of the data, with the characters escaped that have a meaning in HTML.
pub(crate) struct HtmlEscaped<'a>(pub(crate) &'a str);

impl fmt::Display for HtmlEscaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is between two of the characters is written at once: that of a logo has 700,000 characters.
        for run in self.0.split_inclusive(ESCAPED) {
            let plain = run.trim_end_matches(ESCAPED);
            f.write_str(plain)?;
            f.write_str(match &run[plain.len()..] {
                "&" => "&amp;",
                "<" => "&lt;",
                ">" => "&gt;",
                "\"" => "&quot;",
                "'" => "&#39;",
                _ => "",
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_with_a_meaning_is_escaped() {
        for (text, expected) in [
            ("", ""),
            ("plain é", "plain é"),
            ("<a href=\"x\">'&amp;'</a>", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39;&lt;/a&gt;"),
            ("&&<<é>", "&amp;&amp;&lt;&lt;é&gt;"),
        ] {
            assert_eq!(HtmlEscaped(text).to_string(), expected);
        }
    }
}
