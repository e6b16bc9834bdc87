//! Numbers for combinations of codes.

use super::partial_result::STEP;
use crate::{Interrupt, Interruption};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hasher};

/// The combinations of codes met so far, each with a number in order of appearance.
#[derive(Debug)]
pub(crate) struct GroupTable {
    /// Codes in a combination.
    width: usize,
    /// The codes of all combinations, one after the other.
    keys: Vec<u32>,
    len: u32,
    /// How many values each code can have; a power of two beside the first.
    radices: Vec<u32>,
    index: Index,
}

/// How a combination finds its slot, which is one more than its number.
#[derive(Debug)]
enum Index {
    /// By position, where few combinations are possible; 0 is none.
    Dense(Vec<u32>),
    /// By hash, of which each slot has half beside it: the codes are seldom looked at, and not at all as the table grows.
    Hashed(DefaultHashBuilder, HashTable<(u32, u32)>),
}

/// The most combinations that are looked up by position.
const DENSE_LIMIT: u64 = 1 << 18;

impl GroupTable {
    /// GroupTable of combinations of a code below `first_radix` and so many others.
    pub(crate) fn new(first_radix: usize, others: usize) -> Self {
        let mut radices = vec![1; others + 1];
        // There are no more sub-ranges than days.
        radices[0] = u32::try_from(first_radix).unwrap_or(u32::MAX);
        let mut groups = Self { width: others + 1, keys: Vec::new(), len: 0, radices, index: Index::Dense(Vec::new()) };
        groups.build_index();
        groups
    }

    /// The number of combinations met.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let index = match &self.index {
            Index::Dense(slots) => slots.capacity() * size_of::<u32>(),
            Index::Hashed(_, slots) => slots.allocation_size(),
        };
        self.keys.capacity() * size_of::<u32>() + index
    }

    /// Returns whether `combinations` more fit without growing.
    pub(crate) const fn has_room(&self, combinations: usize) -> bool {
        self.keys.len().saturating_add(combinations.saturating_mul(self.width)) <= self.keys.capacity()
    }

    /// The codes of a combination.
    pub(crate) fn key(&self, number: usize) -> &[u32] {
        &self.keys[number * self.width..(number + 1) * self.width]
    }

    /// Makes room for so many combinations.
    pub(crate) fn reserve(&mut self, combinations: usize) {
        self.keys.reserve((combinations * self.width).saturating_sub(self.keys.len()));
    }

    /// Makes sure that the code at `place`, which is not the first, can have so many values.
    pub(crate) fn expect(&mut self, place: usize, values: usize) {
        // There are fewer codes than 2^32.
        let values = u32::try_from(values).unwrap_or(u32::MAX);
        if self.radices[place] < values {
            self.radices[place] = values.checked_next_power_of_two().unwrap_or(u32::MAX);
            if matches!(self.index, Index::Dense(_)) {
                self.build_index();
            }
        }
    }

    fn build_index(&mut self) {
        let possible = self.radices.iter().try_fold(1_u64, |product, radix| product.checked_mul(u64::from(*radix)));
        let size = possible.filter(|possible| *possible <= DENSE_LIMIT).and_then(|size| usize::try_from(size).ok());
        let keys = (1..).zip(self.keys.chunks_exact(self.width));
        self.index = match size {
            Some(size) => {
                let mut slots = vec![0; size];
                for (slot, key) in keys {
                    slots[position(&self.radices, key)] = slot;
                }
                Index::Dense(slots)
            }
            None => {
                let hasher = DefaultHashBuilder::default();
                let mut slots = HashTable::with_capacity(self.len());
                for (slot, key) in keys {
                    let half = half_hash(&hasher, key);
                    slots.insert_unique(whole(half), (half, slot), |(half, _)| whole(*half));
                }
                Index::Hashed(hasher, slots)
            }
        };
    }

    /// The number of a combination, if it has been met.
    pub(crate) fn find(&self, key: &[u32]) -> Option<u32> {
        if key.iter().zip(&self.radices).any(|(code, radix)| code >= radix) {
            return None;
        }
        match &self.index {
            Index::Dense(slots) => slots[position(&self.radices, key)].checked_sub(1),
            Index::Hashed(hasher, slots) => {
                let half = half_hash(hasher, key);
                let is_key = |(known, slot): &(u32, u32)| *known == half && of(&self.keys, self.width, *slot) == key;
                slots.find(whole(half), is_key).map(|(_, slot)| slot - 1)
            }
        }
    }

    /// The slot of a combination, each code of which is below what was [expected](Self::expect); given now if it is new.
    pub(crate) fn slot(&mut self, key: &[u32]) -> u32 {
        let (keys, width) = (&mut self.keys, self.width);
        match &mut self.index {
            Index::Dense(slots) => {
                let slot = &mut slots[position(&self.radices, key)];
                if *slot == 0 {
                    self.len += 1;
                    *slot = self.len;
                    keys.extend_from_slice(key);
                }
                *slot
            }
            Index::Hashed(hasher, slots) => {
                let half = half_hash(hasher, key);
                let is_key = |(known, slot): &(u32, u32)| *known == half && of(keys, width, *slot) == key;
                if let Some((_, slot)) = slots.find(whole(half), is_key) {
                    return *slot;
                }
                // Keys alone would take 16 GiB before the number of groups could overflow.
                self.len += 1;
                slots.insert_unique(whole(half), (half, self.len), |(half, _)| whole(*half));
                keys.extend_from_slice(key);
                self.len
            }
        }
    }

    /// Writes the slots of combinations to `slots`: `codes` are columns, of which a row has the code of each.
    pub(crate) fn slots(&mut self, codes: &[&[u32]], rows: usize, slots: &mut Vec<u32>) {
        slots.clear();
        if let Index::Dense(_) = self.index {
            // The positions first, column by column; a code that can have one value only is no part of them.
            let mut columns = codes.iter().zip(&self.radices).filter(|(_, radix)| **radix > 1);
            match columns.next() {
                Some((column, _)) => slots.extend_from_slice(column),
                None => slots.resize(rows, 0),
            }
            for (column, radix) in columns {
                for (position, code) in slots.iter_mut().zip(*column) {
                    *position = *position * radix + code;
                }
            }
            let Index::Dense(known) = &mut self.index else { return };
            for (row, slot) in slots.iter_mut().enumerate() {
                let known = &mut known[*slot as usize];
                if *known == 0 {
                    self.len += 1;
                    *known = self.len;
                    self.keys.extend(codes.iter().map(|column| column[row]));
                }
                *slot = *known;
            }
            return;
        }
        let mut key = vec![0; self.width];
        let mut last = None;
        for row in 0..rows {
            let is_last = last.is_some() && key.iter().zip(codes).all(|(code, column)| *code == column[row]);
            let slot = match last {
                Some(slot) if is_last => slot,
                _ => {
                    key.iter_mut().zip(codes).for_each(|(code, column)| *code = column[row]);
                    self.slot(&key)
                }
            };
            last = Some(slot);
            slots.push(slot);
        }
    }

    /// Takes in the combinations of other groups, and gives the slot here of each: `shared` has by place, the first aside, for each of
    /// their codes the one here, which is below what was [expected](Self::expect).
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        shared: &[Vec<u32>],
        interrupt: &Interrupt,
    ) -> Result<Vec<u32>, Interruption> {
        if let Index::Hashed(_, known) = &mut self.index {
            known.reserve(other.len(), |(half, _)| whole(*half));
        }
        let mut columns = vec![Vec::new(); self.width];
        let (mut part, mut slots) = (Vec::new(), Vec::with_capacity(other.len()));
        for keys in other.keys.chunks(STEP * self.width) {
            interrupt.check()?;
            let codes = |place: usize| keys.iter().skip(place).step_by(self.width);
            for (place, column) in columns.iter_mut().enumerate() {
                column.clear();
                match place.checked_sub(1) {
                    None => column.extend(codes(place)),
                    Some(at) => column.extend(codes(place).map(|code| shared[at][*code as usize])),
                }
            }
            let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
            self.slots(&columns, keys.len() / self.width, &mut part);
            slots.append(&mut part);
        }
        Ok(slots)
    }
}

/// Half a hash of codes.
fn half_hash(hasher: &DefaultHashBuilder, key: &[u32]) -> u32 {
    let mut hasher = hasher.build_hasher();
    key.iter().for_each(|code| hasher.write_u32(*code));
    let [.., a, b, c, d] = hasher.finish().to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// A hash of which both ends, by which a table places, are taken from half of one.
const fn whole(half: u32) -> u64 {
    half as u64 * (1 + (1 << u32::BITS))
}

fn position(radices: &[u32], key: &[u32]) -> usize {
    radices.iter().zip(key).fold(0, |position, (radix, code)| position * *radix as usize + *code as usize)
}

fn of(keys: &[u32], width: usize, slot: u32) -> &[u32] {
    let number = slot as usize - 1;
    &keys[number * width..(number + 1) * width]
}

#[cfg(test)]
mod tests {
    use super::{GroupTable, Index};
    use crate::Interrupt;

    #[test]
    fn groups_keep_their_slots_as_they_grow() {
        let mut groups = GroupTable::new(4, 2);
        let mut known = std::collections::HashMap::new();
        for step in 0..3_000_u32 {
            // The codes grow until positions no longer do.
            let key = [step % 4, step * 5 % (1 + step / 3), step * 3 % (1 + step / 2)];
            groups.expect(1, key[1] as usize + 1);
            groups.expect(2, key[2] as usize + 1);
            let next = u32::try_from(known.len()).unwrap_or(0) + 1;
            assert_eq!(groups.slot(&key), *known.entry(key).or_insert(next));
        }
        assert!(matches!(groups.index, Index::Hashed(..)));
        assert_eq!(groups.len(), known.len());
        for (key, slot) in known {
            assert_eq!(groups.find(&key), Some(slot - 1));
            assert_eq!(groups.key(slot as usize - 1), key);
        }
        assert_eq!(groups.find(&[0, u32::MAX, 0]), None);
    }

    #[test]
    fn columns_and_rows_agree() {
        for radix in [8, 1 << 20] {
            let (mut by_column, mut by_row) = (GroupTable::new(8, 1), GroupTable::new(8, 1));
            by_column.expect(1, radix);
            by_row.expect(1, radix);
            let first: Vec<u32> = (0..500).map(|row| row / 7 % 8).collect();
            let second: Vec<u32> = (0..500).map(|row| row / 3 % 5).collect();
            let mut slots = Vec::new();
            by_column.slots(&[&first, &second], 500, &mut slots);
            let each: Vec<u32> = first.iter().zip(&second).map(|(a, b)| by_row.slot(&[*a, *b])).collect();
            assert_eq!(slots, each);
        }
    }

    #[test]
    fn groups_that_are_absorbed_meet_those_that_are_known() {
        // By position, and by hash.
        for radix in [64, 1 << 20] {
            let (mut groups, mut other) = (GroupTable::new(2, 1), GroupTable::new(2, 1));
            groups.expect(1, radix);
            other.expect(1, 64);
            let known: Vec<u32> = (0..20).map(|code| groups.slot(&[code % 2, code])).collect();
            // The other's code 0 is the 39 here, its code 39 the 0.
            let shared: Vec<u32> = (0..40).rev().collect();
            (0..40).for_each(|code| assert_eq!(other.slot(&[code % 2, code]), code + 1));
            let slots = groups.merge(&other, &[shared], &Interrupt::default()).unwrap_or_default();
            for (code, slot) in (0..).zip(&slots) {
                assert_eq!(groups.key(*slot as usize - 1), [code % 2, 39 - code]);
            }
            // An odd code is in the other sub-range here, and a group of its own.
            assert_eq!((slots.len(), known.len(), groups.len()), (40, 20, 60));
            (0..20).for_each(|code| assert_eq!(groups.slot(&[code % 2, code]), known[code as usize]));
            let again = groups.merge(&other, &[(0..40).rev().collect()], &Interrupt::default());
            assert_eq!((again, groups.len()), (Ok(slots), 60));
        }
    }

    #[test]
    fn a_range_alone_makes_a_group_of_each_part() {
        let mut groups = GroupTable::new(2, 0);
        assert_eq!((groups.slot(&[1]), groups.slot(&[0]), groups.slot(&[1]), groups.len()), (1, 2, 1, 2));
    }
}
