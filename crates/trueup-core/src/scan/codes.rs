//! Codes of a column.

use super::values::Rows;

/// Codes, as narrow as the dictionary allows.
#[derive(Clone, Debug)]
pub(crate) enum Codes {
    Byte(Vec<u8>),
    Short(Vec<u16>),
    Word(Vec<u32>),
}

impl Codes {
    /// The code of each row, which is 0 for a row without a value. `codes` are those of the values, and all below `cardinality`.
    ///
    /// # Errors
    /// The rows do not decode.
    pub(super) fn of_rows(rows: &Rows<'_>, codes: Vec<u32>, cardinality: usize) -> Result<Self, &'static str> {
        #[expect(clippy::cast_possible_truncation, reason = "every code is below the cardinality")]
        match cardinality {
            0..=0x100 => rows.expand(codes.into_iter().map(|code| code as u8).collect(), 0).map(Self::Byte),
            0x101..=0x1_0000 => rows.expand(codes.into_iter().map(|code| code as u16).collect(), 0).map(Self::Short),
            _ => rows.expand(codes, 0).map(Self::Word),
        }
    }

    /// One code per customer, if no customer has two; customer `i` is the rows from `offsets[i]` to `offsets[i + 1]`.
    pub(super) fn per_customer(&self, offsets: &[u32]) -> Option<Self> {
        match self {
            Self::Byte(codes) => per_customer(codes, offsets).map(Self::Byte),
            Self::Short(codes) => per_customer(codes, offsets).map(Self::Short),
            Self::Word(codes) => per_customer(codes, offsets).map(Self::Word),
        }
    }

    /// Whether the code occurs.
    pub(super) fn contain(&self, code: u8) -> bool {
        match self {
            Self::Byte(codes) => codes.contains(&code),
            Self::Short(codes) => codes.contains(&code.into()),
            Self::Word(codes) => codes.contains(&code.into()),
        }
    }

    pub(crate) fn get(&self, at: usize) -> u32 {
        match self {
            Self::Byte(codes) => u32::from(codes[at]),
            Self::Short(codes) => u32::from(codes[at]),
            Self::Word(codes) => codes[at],
        }
    }

    /// Appends the codes at `places`.
    pub(crate) fn gather(&self, places: &[u32], into: &mut Vec<u32>) {
        match self {
            Self::Byte(codes) => into.extend(places.iter().map(|at| u32::from(codes[*at as usize]))),
            Self::Short(codes) => into.extend(places.iter().map(|at| u32::from(codes[*at as usize]))),
            Self::Word(codes) => into.extend(places.iter().map(|at| codes[*at as usize])),
        }
    }

    /// The number of codes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Byte(codes) => codes.len(),
            Self::Short(codes) => codes.len(),
            Self::Word(codes) => codes.len(),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Byte(codes) => codes.len(),
            Self::Short(codes) => codes.len() * 2,
            Self::Word(codes) => codes.len() * 4,
        }
    }
}

impl Default for Codes {
    fn default() -> Self {
        Self::Byte(Vec::new())
    }
}

fn per_customer<T: Copy + PartialEq>(codes: &[T], offsets: &[u32]) -> Option<Vec<T>> {
    // Most often an account, which every row of a row group has.
    if let Some(first) = codes.first()
        && codes.iter().all(|code| code == first)
    {
        return Some(vec![*first; offsets.len() - 1]);
    }
    let mut of_customers = Vec::with_capacity(offsets.len() - 1);
    for ends in offsets.windows(2) {
        let (first, rest) = codes[ends[0] as usize..ends[1] as usize].split_first()?;
        if rest.iter().any(|code| code != first) {
            return None;
        }
        of_customers.push(*first);
    }
    Some(of_customers)
}
