//! Templates: constants and columns in one text, such as `{Job #}-booked`.

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplatePart<'a> {
    Text(&'a str),
    Column(&'a str),
}

/// Returns the parts of a template. Two braces stand for one.
///
/// # Errors
/// A brace is not closed or not opened, or no column is named. The text says what is expected.
pub(super) fn template_parts(template: &str) -> Result<Vec<TemplatePart<'_>>, &'static str> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, braced) = rest.split_at(at);
        let is_doubled = braced.starts_with("{{") || braced.starts_with("}}");
        // The first of two braces belongs to the text.
        let text = if is_doubled { &rest[..=at] } else { before };
        if !text.is_empty() {
            parts.push(TemplatePart::Text(text));
        }
        if is_doubled {
            rest = &braced[2..];
            continue;
        }
        let named = braced.strip_prefix('{').and_then(|named| named.split_once('}'));
        let Some((column, after)) = named.filter(|(column, _)| !column.is_empty() && !column.contains('{')) else {
            return Err("expected columns in braces, such as `{Job #}-booked`; a brace of the text is written twice");
        };
        parts.push(TemplatePart::Column(column));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Text(rest));
    }
    if parts.iter().any(|part| matches!(part, TemplatePart::Column(_))) {
        Ok(parts)
    } else {
        Err("expected at least one column in braces, such as `{Job #}-booked`; a constant is a `value`")
    }
}

/// Returns the columns that a template names; none if it is broken.
pub(super) fn template_columns(template: &str) -> impl Iterator<Item = &str> {
    template_parts(template).unwrap_or_default().into_iter().filter_map(|part| match part {
        TemplatePart::Column(column) => Some(column),
        TemplatePart::Text(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_texts_and_columns() {
        use TemplatePart::{Column, Text};
        assert_eq!(template_parts("{Job #}-booked"), Ok(vec![Column("Job #"), Text("-booked")]));
        assert_eq!(template_parts("a{b}{c}"), Ok(vec![Text("a"), Column("b"), Column("c")]));
        assert_eq!(template_parts("{{{b}}}"), Ok(vec![Text("{"), Column("b"), Text("}")]));
        for broken in ["", "a", "{", "}", "{}", "{a", "a}", "{a{b}}", "{{a}}"] {
            assert!(template_parts(broken).is_err(), "{broken}");
        }
    }
}
