//! Values of the input in messages.

use std::fmt;

/// The most characters of a value that a message repeats.
const LONGEST: usize = 200;

/// A value of the input as a message repeats it: whole, or its beginning and the number of its characters where it is long.
///
/// ```
/// use trueup_core::Shown;
///
/// assert_eq!(Shown("acme").to_string(), "acme");
/// assert!(Shown(&"é".repeat(5_000)).to_string().ends_with("éé... (5000 characters)"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(LONGEST) {
            Some((end, _)) => write!(f, "{}... ({} characters)", &self.0[..end], self.0.chars().count()),
            None => f.write_str(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Shown};

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let longest = "ä€𝄞".repeat(LONGEST).chars().take(LONGEST).collect::<String>();
        assert_eq!(Shown(&longest).to_string(), longest);
        assert_eq!(Shown(&format!("{longest}𝄞")).to_string(), format!("{longest}... ({} characters)", LONGEST + 1));
        assert_eq!(Shown("").to_string(), "");
    }
}
