//! Codes of a column.

/// Codes, as narrow as the dictionary allows.
#[derive(Clone, Debug)]
pub(crate) enum Codes {
    Byte(Vec<u8>),
    Short(Vec<u16>),
    Word(Vec<u32>),
}

impl Codes {
    /// Codes that are all below `cardinality`.
    pub(super) fn new(codes: Vec<u32>, cardinality: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "every code is below the cardinality")]
        match cardinality {
            0..=0x100 => Self::Byte(codes.into_iter().map(|code| code as u8).collect()),
            0x101..=0x1_0000 => Self::Short(codes.into_iter().map(|code| code as u16).collect()),
            _ => Self::Word(codes),
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

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Byte(codes) => codes.len(),
            Self::Short(codes) => codes.len() * 2,
            Self::Word(codes) => codes.len() * 4,
        }
    }
}
