//! The arguments of tools: described once, as a JSON Schema (2020-12) for clients and for reading what they give.

use crate::Fault;
use serde_json::{Map, Value, json};
use trueup::request::{Parameter, ValueType};
use trueup::{Shown, most_similar};

/// One argument of a tool.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    meaning: Meaning,
    pub(crate) is_required: bool,
}

/// What values an argument has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    /// A text that matches a regular expression.
    Pattern(&'static str),
    /// One of some texts.
    OneOf(&'static [&'static str]),
    /// A list of names, which may also be one text with commas.
    Names,
    /// A list of texts, which may also be one text.
    Strings,
    Count {
        default: usize,
        most: usize,
    },
    Flag {
        default: bool,
    },
    /// Two dates, or the name of a range.
    Days,
    /// An object of texts.
    Row,
}

/// Where an argument is described, with the values that it has.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    /// Here.
    Own(Kind, &'static str),
    /// In the description of the parameter of this name, which is spelled as the argument is.
    Parameter(&'static str),
}

/// Arguments of a tool, and whether its schema describes them. A tool that shares arguments with another one leaves the
/// descriptions to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) arguments: &'static [Argument],
    pub(crate) is_described: bool,
}

/// The longest text that is read.
const MAX_TEXT: usize = 10_000;
/// The most texts of a list.
const MAX_TEXTS: usize = 200;

impl Argument {
    pub(crate) const fn new(name: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self { name, meaning: Meaning::Own(kind, meaning), is_required: false }
    }

    /// Returns an argument that means what a part of a `QueryRequest` means.
    pub(crate) const fn of_parameter(name: &'static str, parameter: &'static str) -> Self {
        Self { name, meaning: Meaning::Parameter(parameter), is_required: false }
    }

    pub(crate) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    fn kind(&self) -> Kind {
        let parameter = match self.meaning {
            Meaning::Own(kind, _) => return kind,
            Meaning::Parameter(name) => Parameter::named(name),
        };
        match parameter.map(|parameter| parameter.value) {
            Some(ValueType::Names) => Kind::Names,
            Some(ValueType::Strings) => Kind::Strings,
            Some(ValueType::Interval) => Kind::OneOf(&["total", "month", "week", "day"]),
            Some(ValueType::Flag) => Kind::Flag { default: false },
            Some(ValueType::Range) => Kind::Days,
            Some(ValueType::Pattern(pattern)) => Kind::Pattern(pattern),
            _ => Kind::Text,
        }
    }

    fn description(&self) -> String {
        match self.meaning {
            Meaning::Own(_, text) => text.to_owned(),
            Meaning::Parameter(name) => {
                let spell =
                    |other: &str| format!("`{}`", if other == name || other == "within" { self.name } else { other });
                Parameter::named(name).map_or_else(String::new, |parameter| parameter.description(spell))
            }
        }
    }

    fn schema(&self, is_described: bool) -> Value {
        let mut schema = match self.kind() {
            // The tool that describes the argument has the details, and no client reads them twice.
            Kind::Pattern(_) | Kind::OneOf(_) if !is_described => json!({ "type": "string" }),
            Kind::Count { .. } if !is_described => json!({ "type": "integer" }),
            Kind::Flag { .. } if !is_described => json!({ "type": "boolean" }),
            Kind::Days if !is_described => json!({ "type": ["string", "object"] }),
            Kind::Text => json!({ "type": "string" }),
            Kind::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
            Kind::OneOf(texts) => json!({ "type": "string", "enum": texts }),
            Kind::Names | Kind::Strings => json!({ "type": "array", "items": { "type": "string" } }),
            Kind::Count { default, most } => {
                json!({ "type": "integer", "minimum": 1, "maximum": most, "default": default })
            }
            Kind::Flag { default } => json!({ "type": "boolean", "default": default }),
            Kind::Days => json!({ "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": { "start": { "type": "string" }, "end": { "type": "string" } },
                    "required": ["start", "end"],
                    "additionalProperties": false,
                },
            ] }),
            Kind::Row => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        };
        if let (Value::Object(schema), true) = (&mut schema, is_described) {
            schema.insert("description".to_owned(), self.description().into());
        }
        schema
    }

    /// Returns the value in its usual form.
    fn read(&self, value: Value) -> Result<Value, Fault> {
        let expected = |what: &str| {
            let found = value.to_string();
            let message = format!("`{}`: expected {what}, but found `{}`", self.name, Shown(&found));
            Err(Fault::new("invalid-argument", message, "correct the argument"))
        };
        match (self.kind(), &value) {
            (Kind::Text | Kind::Pattern(_) | Kind::Days, Value::String(text)) if text.len() > MAX_TEXT => {
                expected(&format!("at most {MAX_TEXT} bytes"))
            }
            // Patterns are for clients; the type that reads the text has the better message.
            (Kind::Text | Kind::Pattern(_) | Kind::Days, Value::String(_))
            | (Kind::Days | Kind::Row, Value::Object(_))
            | (Kind::Flag { .. }, Value::Bool(_)) => Ok(value),
            (Kind::Text | Kind::Pattern(_), Value::Number(number)) => Ok(number.to_string().into()),
            (Kind::Text | Kind::Pattern(_), _) => expected("a text"),
            (Kind::OneOf(texts), Value::String(text)) if texts.contains(&text.as_str()) => Ok(value),
            (Kind::OneOf(texts), _) => expected(&format!("one of {}", texts.join(", "))),
            (Kind::Names, Value::String(text)) => {
                Ok(text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
            }
            (Kind::Strings, Value::String(_)) => Ok(vec![value].into()),
            (Kind::Names | Kind::Strings, Value::Array(texts))
                if texts.len() <= MAX_TEXTS
                    && texts.iter().all(|text| text.as_str().is_some_and(|text| text.len() <= MAX_TEXT)) =>
            {
                Ok(value)
            }
            (Kind::Names | Kind::Strings, _) => expected(&format!("a list of at most {MAX_TEXTS} texts")),
            (Kind::Count { most, .. }, number) => {
                let number = number.as_u64().and_then(|number| usize::try_from(number).ok());
                match number.filter(|number| (1..=most).contains(number)) {
                    Some(number) => Ok(number.into()),
                    None => expected(&format!("a whole number from 1 to {most}")),
                }
            }
            (Kind::Flag { .. }, _) => expected("`true` or `false`"),
            (Kind::Days, _) => expected("the name of a range, or an object with `start` and `end`"),
            (Kind::Row, _) => expected("an object with the value of each dimension"),
        }
    }
}

/// Returns the schema of the arguments of a tool.
pub(crate) fn schema(groups: &[Group]) -> Map<String, Value> {
    let mut properties = Map::new();
    for Group { arguments, is_described } in groups {
        for argument in *arguments {
            properties.insert(argument.name.to_owned(), argument.schema(*is_described));
        }
    }
    let required = groups.iter().flat_map(|group| group.arguments).filter(|argument| argument.is_required);
    let required: Vec<&str> = required.map(|argument| argument.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// The arguments of a call, each in the form that its kind says.
#[derive(Debug)]
pub(crate) struct Arguments {
    groups: &'static [Group],
    values: Map<String, Value>,
}

impl Arguments {
    /// Reads what a client gives. A null is an argument that is not given.
    ///
    /// # Errors
    /// An argument is unknown, has an invalid value, or is missing.
    pub(crate) fn read(groups: &'static [Group], given: Value) -> Result<Self, Fault> {
        let given = match given {
            Value::Null => Map::new(),
            Value::Object(given) => given,
            other => {
                let message = format!("expected the arguments as an object, but found `{}`", Shown(&other.to_string()));
                return Err(Fault::new("invalid-argument", message, "give an object"));
            }
        };
        let known = || groups.iter().flat_map(|group| group.arguments);
        let mut values = Map::new();
        for (name, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
            let Some(argument) = known().find(|argument| argument.name == name) else {
                let names: Vec<&str> = known().map(|argument| argument.name).collect();
                let similar = most_similar(&name, names.iter().copied());
                let fix = match similar.first() {
                    Some(similar) => format!("did you mean `{similar}`?"),
                    None if names.is_empty() => "the tool takes none".to_owned(),
                    None => format!("the arguments are {}", names.join(", ")),
                };
                return Err(Fault::new("unknown-argument", format!("there is no argument `{}`", Shown(&name)), fix));
            };
            values.insert(name, argument.read(value)?);
        }
        if let Some(missing) = known().find(|argument| argument.is_required && !values.contains_key(argument.name)) {
            let message = format!("the argument `{}` is missing", missing.name);
            return Err(Fault::new("missing-argument", message, missing.description()));
        }
        Ok(Self { groups, values })
    }

    /// Returns the value of an argument, if it is given.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Returns a text, if it is given.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.value(name)?.as_str()
    }

    /// Returns a list of texts, if it is given.
    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let texts = self.value(name)?.as_array()?;
        Some(texts.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Returns a number, or its default.
    pub(crate) fn count(&self, name: &str) -> usize {
        let given = self.value(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        given.unwrap_or_else(|| match self.kind(name) {
            Some(Kind::Count { default, .. }) => default,
            _ => 0,
        })
    }

    /// Returns a flag, or its default.
    pub(crate) fn flag(&self, name: &str) -> bool {
        let given = self.value(name).and_then(Value::as_bool);
        given.unwrap_or_else(|| matches!(self.kind(name), Some(Kind::Flag { default: true })))
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        self.groups.iter().flat_map(|group| group.arguments).find(|argument| argument.name == name).map(Argument::kind)
    }
}

#[cfg(test)]
mod tests {
    use crate::toolbox::TOOLS;

    #[test]
    fn schemas_are_short_together() {
        let characters: usize = TOOLS.iter().map(|tool| tool.to_json().to_string().chars().count()).sum();
        assert!(characters <= 12_000, "{characters}");
    }
}
