//! Codes of a column.

use super::values::RowValues;

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
    pub(super) fn of_rows(rows: &RowValues<'_>, codes: Vec<u32>, cardinality: usize) -> Result<Self, &'static str> {
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

    /// Where another code follows, and the end of all.
    pub(super) fn ends_of_stretches(&self) -> Vec<usize> {
        match self {
            Self::Byte(codes) => ends_of_stretches(codes),
            Self::Short(codes) => ends_of_stretches(codes),
            Self::Word(codes) => ends_of_stretches(codes),
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

    #[inline]
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

impl Default for Codes {
    fn default() -> Self {
        Self::Byte(Vec::new())
    }
}

fn ends_of_stretches<T: PartialEq>(codes: &[T]) -> Vec<usize> {
    let mut end = 0;
    let stretches = codes.chunk_by(PartialEq::eq).map(|stretch| {
        end += stretch.len();
        end
    });
    stretches.collect()
}

fn per_customer<T: Copy + PartialEq>(codes: &[T], offsets: &[u32]) -> Option<Vec<T>> {
    let firsts = &offsets[..offsets.len() - 1];
    // The code may change where a customer begins, and nowhere else.
    let changes = codes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let at_firsts =
        firsts.iter().skip(1).map(|first| *first as usize).filter(|first| codes[*first - 1] != codes[*first]);
    (changes == at_firsts.count()).then(|| firsts.iter().map(|first| codes[*first as usize]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_per_customer_if_it_changes_where_customers_begin_alone() {
        let of = |codes: &[u8], offsets: &[u32]| per_customer(codes, offsets);
        assert_eq!(of(&[], &[0]), Some(vec![]));
        assert_eq!(of(&[4, 4, 4, 4], &[0, 1, 4]), Some(vec![4, 4]));
        assert_eq!(of(&[4, 5, 5, 4], &[0, 1, 3, 4]), Some(vec![4, 5, 4]));
        assert_eq!(of(&[4, 5, 5, 4], &[0, 1, 4]), None);
        assert_eq!(of(&[4, 5, 5, 5], &[0, 2, 4]), None);
    }
}
