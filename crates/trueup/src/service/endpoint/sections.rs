//! Some sections of a document, byte for byte.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;

/// Writes the document with the sections named only, in the document's own order, names and values spelled as they are there.
/// Sections that it does not carry are passed over.
pub(super) fn write(document: &str, wanted: &HashSet<&str>, text: &mut String) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(document);
    let sections = deserializer.deserialize_map(Sections)?;
    deserializer.end()?;
    let mut separator = '{';
    for (name, value) in sections {
        let plain: String = serde_json::from_str(name.get())?;
        if wanted.contains(&*plain) {
            text.push(separator);
            text.push_str(name.get());
            text.push(':');
            text.push_str(value.get());
            separator = ',';
        }
    }
    text.push_str(if separator == '{' { "{}" } else { "}" });
    Ok(())
}

struct Sections;

impl<'de> Visitor<'de> for Sections {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut sections = Vec::new();
        while let Some(section) = map.next_entry()? {
            sections.push(section);
        }
        Ok(sections)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    fn kept(document: &str, wanted: &[&str]) -> String {
        let mut text = String::new();
        super::write(document, &wanted.iter().copied().collect(), &mut text).unwrap();
        text
    }

    #[test]
    fn sections_keep_their_bytes_and_order() {
        let document = r#"{"b": 1.50e1 , "a":{"z":1, "a":"\u00e9"},"c\u0061":[ ],"period":"May"}"#;
        assert_eq!(kept(document, &["a", "b"]), r#"{"b":1.50e1,"a":{"z":1, "a":"\u00e9"}}"#);
        assert_eq!(kept(document, &["ca"]), r#"{"c\u0061":[ ]}"#);
        assert_eq!(kept(document, &["none"]), "{}");
    }
}
