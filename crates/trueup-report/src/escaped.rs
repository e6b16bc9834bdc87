//! Texts of the data in HTML and SVG.

use std::fmt;

/// A text of the data, with the characters escaped that have a meaning in HTML.
pub(crate) struct HtmlEscaped<'a>(pub(crate) &'a str);

impl fmt::Display for HtmlEscaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                char => write!(f, "{char}")?,
            }
        }
        Ok(())
    }
}
