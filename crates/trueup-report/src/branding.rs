//! The name, the logo and the comment that a report gets.

use crate::document::{Block, Section, Span, Text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

/// The most bytes of a logo, and of a comment.
const MAX_LOGO_BYTES: usize = 512 << 10;
const MAX_COMMENT_BYTES: usize = 64 << 10;

/// The beginnings of images that browsers show, with their types. An image is shown as such, so that SVG runs nothing.
const IMAGES: [(&[u8], &str); 6] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
    (b"<svg", "image/svg+xml"),
    (b"<?xml", "image/svg+xml"),
];

/// A name, a logo and a comment on a report; none of them by default.
///
/// ```
/// use trueup_report::Branding;
///
/// let branding = Branding::default().name("Lakeside Marketing").comment("**A good month.** Thank you.")?;
/// assert!(branding.logo(b"no image").is_err());
/// # Ok::<(), trueup_report::BrandingFault>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Branding {
    pub(crate) name: Option<String>,
    /// The logo, as a `data:` URL. All reports share it.
    pub(crate) logo: Option<Arc<str>>,
    comment: Option<String>,
}

/// Why a logo or a comment is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrandingFault {
    /// The logo is no image that browsers show.
    #[error("expected a PNG, JPEG, GIF, WebP or SVG image")]
    NoImage,
    /// The logo or the comment is too large.
    #[error("{found} bytes are too many; at most {limit} are taken")]
    TooLarge {
        /// Its bytes.
        found: usize,
        /// The most bytes that are taken.
        limit: usize,
    },
}

fn check_size(found: usize, limit: usize) -> Result<(), BrandingFault> {
    if found > limit { Err(BrandingFault::TooLarge { found, limit }) } else { Ok(()) }
}

impl Branding {
    /// Sets the name of whom the report is from.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets the logo, from the bytes of an image file. HTML alone shows it.
    ///
    /// # Errors
    /// The bytes are no image, or too many.
    pub fn logo(self, bytes: &[u8]) -> Result<Self, BrandingFault> {
        check_size(bytes.len(), MAX_LOGO_BYTES)?;
        let image = IMAGES.iter().find(|(beginning, _)| bytes.starts_with(beginning)).ok_or(BrandingFault::NoImage)?;
        let url = format!("data:{};base64,{}", image.1, STANDARD.encode(bytes));
        Ok(Self { logo: Some(url.into()), ..self })
    }

    /// Sets the comment: a little Markdown. Paragraphs are separated by blank lines, items of lists begin with `-`, and
    /// headings with `#`; `**strong**` and `*emphasized*` texts are as in Markdown. Everything else is text, also HTML.
    ///
    /// # Errors
    /// The comment is too long.
    pub fn comment(self, text: impl Into<String>) -> Result<Self, BrandingFault> {
        let text = text.into();
        check_size(text.len(), MAX_COMMENT_BYTES)?;
        Ok(Self { comment: Some(text), ..self })
    }

    /// Returns the section with the comment, if there is one.
    pub(crate) fn section(&self) -> Option<Section> {
        let blocks = blocks(self.comment.as_deref()?);
        (!blocks.is_empty()).then_some(Section { id: "comment", heading: "Comment", blocks })
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut paragraph, mut items) = (Vec::new(), String::new(), Vec::new());
    // The last blank line ends what is open.
    for line in text.lines().map(str::trim).chain([""]) {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        let heading =
            line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')).filter(|rest| rest.starts_with(' '));
        if (line.is_empty() || item.is_some() || heading.is_some()) && !paragraph.is_empty() {
            blocks.push(Block::Paragraph(inline(&std::mem::take(&mut paragraph))));
        }
        if item.is_none() && !items.is_empty() {
            blocks.push(Block::List(std::mem::take(&mut items)));
        }
        match (item, heading) {
            (Some(item), _) => items.push(inline(item.trim())),
            (None, Some(heading)) => blocks.push(Block::Heading(inline(heading.trim()))),
            (None, None) => {
                if !paragraph.is_empty() && !line.is_empty() {
                    paragraph.push(' ');
                }
                paragraph.push_str(line);
            }
        }
    }
    blocks
}

/// Reads the marks of strong and emphasized texts. A mark without an end is text.
fn inline(text: &str) -> Text {
    let (mut spans, mut plain, mut rest) = (Vec::new(), String::new(), text);
    while let Some(at) = rest.find(['*', '\\']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix('\\') {
            let escaped = after.chars().next().filter(char::is_ascii_punctuation);
            plain.push(escaped.unwrap_or('\\'));
            rest = &after[escaped.map_or(0, char::len_utf8)..];
            continue;
        }
        let mark = if rest.starts_with("**") { "**" } else { "*" };
        let inside = &rest[mark.len()..];
        match inside.find(mark).filter(|end| *end > 0 && !inside.starts_with(' ')) {
            Some(end) => {
                spans.push(Span::Plain(std::mem::take(&mut plain)));
                let marked = inside[..end].to_owned();
                spans.push(if mark == "**" { Span::Strong(marked) } else { Span::Emphasis(marked) });
                rest = &inside[end + mark.len()..];
            }
            None => {
                plain.push_str(mark);
                rest = inside;
            }
        }
    }
    spans.push(Span::Plain(plain + rest));
    Text(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let text_of = |text: &Text| {
            let span = |span: &Span| match span {
                Span::Plain(text) => text.clone(),
                Span::Strong(text) => format!("<b>{text}</b>"),
                Span::Emphasis(text) => format!("<i>{text}</i>"),
                Span::Figure(figure) => figure.shown.clone(),
            };
            text.0.iter().map(span).collect::<String>()
        };
        let block = |block: &Block| match block {
            Block::Paragraph(text) => format!("p {}", text_of(text)),
            Block::Heading(text) => format!("h {}", text_of(text)),
            Block::List(items) => format!("l {}", items.iter().map(text_of).collect::<Vec<_>>().join("|")),
            Block::Warning(_) | Block::Table(_) | Block::Chart(_) => unreachable!("a comment has none"),
        };
        blocks(text).iter().map(block).collect()
    }

    #[test]
    fn a_comment_has_paragraphs_lists_and_marked_texts() {
        let text = "# Well done\nFirst line,\nsame *paragraph*.\n\n- **one**\n* two\nafter\n\n\n#hash";
        assert_eq!(
            shown(text),
            ["h Well done", "p First line, same <i>paragraph</i>.", "l <b>one</b>|two", "p after", "p #hash"]
        );
        assert_eq!(shown("a * b ** c \\*d\\* **e"), ["p a * b ** c *d* **e"]);
        assert_eq!(shown("<script>*x*</script>"), ["p <script><i>x</i></script>"]);
        assert!(shown(" \n\n").is_empty());
    }

    #[test]
    fn a_logo_is_an_image_of_a_limited_size() {
        let logo = |bytes: &[u8]| Branding::default().logo(bytes).map(|branding| branding.logo.unwrap());
        assert_eq!(&*logo(b"GIF8").unwrap(), "data:image/gif;base64,R0lGOA==");
        assert_eq!(logo(b"<html>"), Err(BrandingFault::NoImage));
        assert_eq!(
            logo(&vec![0; MAX_LOGO_BYTES + 1]).unwrap_err().to_string(),
            "524289 bytes are too many; at most 524288 are taken"
        );
    }
}
