//! Numbers for combinations of codes.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The combinations of codes met so far, each with a number in order of appearance.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Codes in a combination.
    width: usize,
    /// The codes of all combinations, one after the other.
    keys: Vec<u32>,
    len: u32,
    index: Index,
}

/// How a combination finds its number.
#[derive(Debug)]
enum Index {
    /// By position, where few combinations are possible: `numbers[position]` is one more than the number, or 0.
    Dense { radices: Vec<u32>, numbers: Vec<u32> },
    /// By hash.
    Hashed { hasher: DefaultHashBuilder, numbers: HashTable<u32> },
}

/// The most combinations that are looked up by position.
const DENSE_LIMIT: u64 = 1 << 16;

impl Groups {
    /// Groups of combinations of `width` codes, of any size.
    pub(crate) fn hashed(width: usize) -> Self {
        let index = Index::Hashed { hasher: DefaultHashBuilder::default(), numbers: HashTable::new() };
        Self { width, keys: Vec::new(), len: 0, index }
    }

    /// Groups of combinations of codes, each below its radix, if that is known.
    pub(crate) fn new(radices: &[Option<u32>]) -> Self {
        let possible = radices.iter().try_fold(1_u64, |product, radix| product.checked_mul(u64::from((*radix)?)));
        let known: Option<Vec<u32>> = radices.iter().copied().collect();
        let mut groups = Self::hashed(radices.len());
        if let (Some(possible), Some(radices)) = (possible, known)
            && let Ok(size) = usize::try_from(possible)
            && possible <= DENSE_LIMIT
        {
            groups.index = Index::Dense { radices, numbers: vec![0; size] };
        }
        groups
    }

    /// The number of combinations met.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// The codes of a combination.
    pub(crate) fn key(&self, number: usize) -> &[u32] {
        &self.keys[number * self.width..(number + 1) * self.width]
    }

    /// The number of a combination, if it has been met.
    pub(crate) fn find(&self, key: &[u32]) -> Option<u32> {
        match &self.index {
            Index::Dense { radices, numbers } => numbers[position(radices, key)].checked_sub(1),
            Index::Hashed { hasher, numbers } => {
                numbers.find(hasher.hash_one(key), |number| self.key(*number as usize) == key).copied()
            }
        }
    }

    /// The number of a combination, given now if it is new.
    pub(crate) fn number(&mut self, key: &[u32]) -> u32 {
        let (keys, width) = (&mut self.keys, self.width);
        match &mut self.index {
            Index::Dense { radices, numbers } => {
                let slot = &mut numbers[position(radices, key)];
                if *slot == 0 {
                    self.len += 1;
                    *slot = self.len;
                    keys.extend_from_slice(key);
                }
                *slot - 1
            }
            Index::Hashed { hasher, numbers } => {
                let of = |number: &u32| &keys[*number as usize * width..(*number as usize + 1) * width];
                let hash = hasher.hash_one(key);
                if let Some(number) = numbers.find(hash, |number| of(number) == key) {
                    return *number;
                }
                // Keys alone would take 16 GiB before the number of groups could overflow.
                let number = self.len;
                numbers.insert_unique(hash, number, |number| hasher.hash_one(of(number)));
                keys.extend_from_slice(key);
                self.len += 1;
                number
            }
        }
    }
}

fn position(radices: &[u32], key: &[u32]) -> usize {
    radices.iter().zip(key).fold(0, |position, (radix, code)| position * *radix as usize + *code as usize)
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn dense_and_hashed_groups_agree() {
        let mut dense = Groups::new(&[Some(4), Some(7)]);
        let mut hashed = Groups::new(&[Some(4), None]);
        for step in 0..100_u32 {
            let key = [step * 5 % 4, step * 3 % 7];
            assert_eq!(dense.number(&key), hashed.number(&key));
            assert_eq!(dense.find(&key), hashed.find(&key));
        }
        assert_eq!(dense.len(), 28);
        assert_eq!(dense.key(1), hashed.key(1));
    }

    #[test]
    fn no_codes_make_one_group() {
        let mut groups = Groups::new(&[]);
        assert_eq!((groups.number(&[]), groups.number(&[]), groups.len()), (0, 0, 1));
    }
}
