//! A JSON parser (RFC 8259) that keeps duplicate keys, as section 8 needs, and shares no code with the one of the
//! service.

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// The nearest double. It is infinite if the number is beyond all doubles.
    Number(f64),
    Text(String),
    List(Vec<Json>),
    /// The entries as written, with duplicates.
    Object(Vec<(String, Json)>),
}

/// Parses a text. Returns `None` if it is not JSON.
pub(super) fn parse(text: &str) -> Option<Json> {
    let mut reader = JsonReader { rest: text };
    let value = reader.value()?;
    reader.space();
    if reader.rest.is_empty() { Some(value) } else { None }
}

struct JsonReader<'a> {
    rest: &'a str,
}

impl JsonReader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Consumes the token if it comes next, after any white space. Returns whether it did.
    fn takes(&mut self, token: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<Json> {
        if self.takes("null") {
            Some(Json::Null)
        } else if self.takes("true") {
            Some(Json::Bool(true))
        } else if self.takes("false") {
            Some(Json::Bool(false))
        } else if self.takes("[") {
            self.list()
        } else if self.takes("{") {
            self.object()
        } else if self.takes("\"") {
            self.string().map(Json::Text)
        } else {
            self.number()
        }
    }

    fn list(&mut self) -> Option<Json> {
        let mut items = Vec::new();
        if self.takes("]") {
            return Some(Json::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.takes("]") {
                return Some(Json::List(items));
            }
            if !self.takes(",") {
                return None;
            }
        }
    }

    fn object(&mut self) -> Option<Json> {
        let mut entries = Vec::new();
        if self.takes("}") {
            return Some(Json::Object(entries));
        }
        loop {
            if !self.takes("\"") {
                return None;
            }
            let key = self.string()?;
            if !self.takes(":") {
                return None;
            }
            entries.push((key, self.value()?));
            if self.takes("}") {
                return Some(Json::Object(entries));
            }
            if !self.takes(",") {
                return None;
            }
        }
    }

    fn character(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next()?;
        self.rest = characters.as_str();
        Some(character)
    }

    /// Reads the rest of a string after its opening quote.
    fn string(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.character()? {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                control if control < ' ' => return None,
                plain => text.push(plain),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        match self.character()? {
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => self.code_point(),
            same @ ('"' | '\\' | '/') => Some(same),
            _ => None,
        }
    }

    /// Reads `\uXXXX`, or a surrogate pair of two. Half a pair is not a character.
    fn code_point(&mut self) -> Option<char> {
        let first = self.four_hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        self.rest = self.rest.strip_prefix("\\u")?;
        let second = self.four_hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            return None;
        }
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn four_hex(&mut self) -> Option<u32> {
        let mut code = 0;
        for _ in 0..4 {
            code = code * 16 + self.character()?.to_digit(16)?;
        }
        Some(code)
    }

    fn digits(&mut self) -> Option<usize> {
        let rest = self.rest.trim_start_matches(|character: char| character.is_ascii_digit());
        let taken = self.rest.len() - rest.len();
        self.rest = rest;
        if taken == 0 { None } else { Some(taken) }
    }

    fn number(&mut self) -> Option<Json> {
        self.space();
        let whole_text = self.rest;
        self.rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let leading_zero = self.rest.starts_with('0');
        if self.digits()? > 1 && leading_zero {
            return None;
        }
        if let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            self.digits()?;
        }
        if let Some(rest) = self.rest.strip_prefix(['e', 'E']) {
            self.rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
            self.digits()?;
        }
        let text = &whole_text[..whole_text.len() - self.rest.len()];
        text.parse().ok().map(Json::Number)
    }
}
