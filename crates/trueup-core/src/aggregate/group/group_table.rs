//! Finds the slot of a group by its key, which is a combination of codes.

use crate::aggregate::types::{GroupSlot, INTERRUPT_CHECK_GROUPS};
use crate::memory::{column_bytes_while_adding, table_bytes_while_adding};
use crate::{Interrupt, Interruption};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hasher};

/// The keys of groups, which are combinations of codes. Groups are numbered in the order in which they appear.
#[derive(Clone, Debug)]
pub(crate) struct GroupTable {
    /// The number of codes in a key.
    width: usize,
    /// The keys of all groups, one after the other.
    keys: Vec<u32>,
    /// The number of groups.
    len: u32,
    /// For each code of a key, a number above all of its values. All but the first are powers of two, so that they
    /// change rarely.
    radices: Vec<u32>,
    index: Index,
    /// The dense keys of rows whose slots are looked up together.
    dense_keys: Vec<u32>,
}

/// Finds the slot of a key.
#[derive(Clone, Debug)]
enum Index {
    /// The slot by dense key, if few combinations are possible: the codes of the key as digits of a number, to the base
    /// of `radices`.
    Dense(Vec<GroupSlot>),
    /// A hash table of `(half of the key's hash, slot)`. The half avoids most comparisons of keys, and the hashing of
    /// all keys when the table grows.
    Hashed(DefaultHashBuilder, HashTable<(u32, GroupSlot)>),
}

/// The largest number of combinations that are looked up by dense key.
const MAX_DENSE_KEYS: u64 = 1 << 18;

impl GroupTable {
    /// Returns an empty table of keys with a first code below `first_radix` and `others` more codes.
    pub(crate) fn new(first_radix: usize, others: usize) -> Self {
        let mut radices = vec![1; others + 1];
        // The first code is a sub-range, and there are no more sub-ranges than days.
        radices[0] = u32::try_from(first_radix).unwrap_or(u32::MAX);
        let mut groups = Self {
            width: others + 1,
            keys: Vec::new(),
            len: 0,
            radices,
            index: Index::Dense(Vec::new()),
            dense_keys: Vec::new(),
        };
        groups.build_index();
        groups
    }

    /// Returns the number of groups.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns the number of bytes held, except by the buffer of dense keys, which does not grow with groups.
    pub(crate) fn bytes(&self) -> usize {
        let index = match &self.index {
            Index::Dense(slots) => slots.capacity() * size_of::<GroupSlot>(),
            Index::Hashed(_, slots) => slots.allocation_size(),
        };
        self.keys.capacity() * size_of::<u32>() + index
    }

    /// Returns the number of bytes that may be held while `groups` groups are added.
    pub(crate) fn bytes_while_adding(&self, groups: usize) -> usize {
        let entry = size_of::<(u32, GroupSlot)>();
        let index = match &self.index {
            // More values make another index, of keys that are dense or hashed.
            Index::Dense(slots) => {
                let bytes = slots.capacity() * size_of::<GroupSlot>();
                2 * bytes + table_bytes_while_adding(self.len(), 0, 0, groups, entry)
            }
            Index::Hashed(_, slots) => {
                table_bytes_while_adding(slots.len(), slots.capacity(), slots.allocation_size(), groups, entry)
            }
        };
        column_bytes_while_adding(&self.keys, groups * self.width) + index
    }

    /// Returns the key of a group.
    pub(crate) fn key(&self, group: usize) -> &[u32] {
        key(&self.keys, self.width, group)
    }

    /// Allows the code at `place`, which is not the first, to have `values` values.
    pub(crate) fn expect(&mut self, place: usize, values: usize) {
        // There are fewer than 2^32 codes.
        let values = u32::try_from(values).unwrap_or(u32::MAX);
        if self.radices[place] < values {
            self.radices[place] = values.checked_next_power_of_two().unwrap_or(u32::MAX);
            if matches!(self.index, Index::Dense(_)) {
                self.build_index();
            }
        }
    }

    /// Builds the index of all keys for the current radices.
    fn build_index(&mut self) {
        let possible = self.radices.iter().try_fold(1_u64, |product, radix| product.checked_mul(u64::from(*radix)));
        let size = possible.filter(|possible| *possible <= MAX_DENSE_KEYS).and_then(|size| usize::try_from(size).ok());
        let keys = (1..).map(GroupSlot::last_of).zip(self.keys.chunks_exact(self.width));
        self.index = match size {
            Some(size) => {
                let mut slots = vec![GroupSlot::NONE; size];
                for (slot, key) in keys {
                    slots[dense_key(&self.radices, key)] = slot;
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

    /// Returns the slot of a key, or `NONE` if no group has it.
    pub(crate) fn find(&self, key: &[u32]) -> GroupSlot {
        if key.iter().zip(&self.radices).any(|(code, radix)| code >= radix) {
            return GroupSlot::NONE;
        }
        match &self.index {
            Index::Dense(slots) => slots[dense_key(&self.radices, key)],
            Index::Hashed(hasher, slots) => {
                let half = half_hash(hasher, key);
                let is_key = |(known, slot): &(u32, GroupSlot)| *known == half && self.key(slot.group()) == key;
                slots.find(whole(half), is_key).map_or(GroupSlot::NONE, |(_, slot)| *slot)
            }
        }
    }

    /// Returns the slot of a key, which becomes a group if it is new. Each code must be below what was
    /// [expected](Self::expect).
    pub(crate) fn slot(&mut self, key: &[u32]) -> GroupSlot {
        let (keys, width) = (&mut self.keys, self.width);
        match &mut self.index {
            Index::Dense(slots) => {
                let slot = &mut slots[dense_key(&self.radices, key)];
                if *slot == GroupSlot::NONE {
                    self.len += 1;
                    *slot = GroupSlot::last_of(self.len);
                    keys.extend_from_slice(key);
                }
                *slot
            }
            Index::Hashed(hasher, slots) => {
                let half = half_hash(hasher, key);
                let is_key =
                    |(known, slot): &(u32, GroupSlot)| *known == half && self::key(keys, width, slot.group()) == key;
                if let Some((_, slot)) = slots.find(whole(half), is_key) {
                    return *slot;
                }
                // The keys alone would take 16 GiB before the number of groups could overflow.
                self.len += 1;
                let slot = GroupSlot::last_of(self.len);
                slots.insert_unique(whole(half), (half, slot), |(half, _)| whole(*half));
                keys.extend_from_slice(key);
                slot
            }
        }
    }

    /// Writes the slots of `rows` keys to `slots`. The keys are given as columns of codes.
    pub(crate) fn slots(&mut self, codes: &[&[u32]], rows: usize, slots: &mut Vec<GroupSlot>) {
        slots.clear();
        let Self { keys, len, radices, dense_keys, .. } = self;
        if let Index::Dense(known) = &mut self.index {
            // Dense keys are computed column by column. A code with a single possible value does not contribute.
            dense_keys.clear();
            let mut columns = codes.iter().zip(radices).filter(|(_, radix)| **radix > 1);
            match columns.next() {
                Some((column, _)) => dense_keys.extend_from_slice(column),
                None => dense_keys.resize(rows, 0),
            }
            for (column, radix) in columns {
                for (dense_key, code) in dense_keys.iter_mut().zip(*column) {
                    *dense_key = *dense_key * *radix + code;
                }
            }
            slots.extend(dense_keys.iter().enumerate().map(|(row, dense_key)| {
                let slot = &mut known[*dense_key as usize];
                if *slot == GroupSlot::NONE {
                    *len += 1;
                    *slot = GroupSlot::last_of(*len);
                    keys.extend(codes.iter().map(|column| column[row]));
                }
                *slot
            }));
            return;
        }
        let mut key = vec![0; self.width];
        slots.extend((0..rows).map(|row| {
            key.iter_mut().zip(codes).for_each(|(code, column)| *code = column[row]);
            self.slot(&key)
        }));
    }

    /// Adds the groups of another table, and returns the slot here of each. `shared` has for each code but the first,
    /// by the other table's code, the code here, which must be below what was [expected](Self::expect).
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        shared: &[Vec<u32>],
        interrupt: &Interrupt,
    ) -> Result<Vec<GroupSlot>, Interruption> {
        if let Index::Hashed(_, known) = &mut self.index {
            known.reserve(other.len(), |(half, _)| whole(*half));
        }
        let mut columns = vec![Vec::new(); self.width];
        let (mut next, mut slots) = (Vec::new(), Vec::with_capacity(other.len()));
        for keys in other.keys.chunks(INTERRUPT_CHECK_GROUPS * self.width) {
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
            self.slots(&columns, keys.len() / self.width, &mut next);
            slots.append(&mut next);
        }
        Ok(slots)
    }
}

/// Returns half of a key's hash.
fn half_hash(hasher: &DefaultHashBuilder, key: &[u32]) -> u32 {
    let mut hasher = hasher.build_hasher();
    key.iter().for_each(|code| hasher.write_u32(*code));
    let [.., a, b, c, d] = hasher.finish().to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Returns a hash whose upper and lower half are the same, because a hash table uses bits of both.
const fn whole(half: u32) -> u64 {
    half as u64 * (1 + (1 << u32::BITS))
}

fn dense_key(radices: &[u32], key: &[u32]) -> usize {
    radices.iter().zip(key).fold(0, |dense_key, (radix, code)| dense_key * *radix as usize + *code as usize)
}

fn key(keys: &[u32], width: usize, group: usize) -> &[u32] {
    &keys[group * width..(group + 1) * width]
}

#[cfg(test)]
mod tests {
    use super::{GroupTable, Index};
    use crate::Interrupt;
    use crate::aggregate::types::GroupSlot;

    #[test]
    fn groups_keep_their_slots_as_the_table_grows() {
        let mut groups = GroupTable::new(4, 2);
        let mut known = std::collections::HashMap::new();
        for step in 0..3_000_u32 {
            // The codes grow until there are too many dense keys.
            let key = [step % 4, step * 5 % (1 + step / 3), step * 3 % (1 + step / 2)];
            groups.expect(1, key[1] as usize + 1);
            groups.expect(2, key[2] as usize + 1);
            let next = GroupSlot::last_of(u32::try_from(known.len()).unwrap_or(0) + 1);
            assert_eq!(groups.slot(&key), *known.entry(key).or_insert(next));
        }
        assert!(matches!(groups.index, Index::Hashed(..)));
        assert_eq!(groups.len(), known.len());
        for (key, slot) in known {
            assert_eq!(groups.find(&key), slot);
            assert_eq!(groups.key(slot.group()), key);
        }
        assert_eq!(groups.find(&[0, u32::MAX, 0]), GroupSlot::NONE);
    }

    #[test]
    fn columns_of_keys_have_the_slots_of_single_keys() {
        for radix in [8, 1 << 20] {
            let (mut by_column, mut by_row) = (GroupTable::new(8, 1), GroupTable::new(8, 1));
            by_column.expect(1, radix);
            by_row.expect(1, radix);
            let first: Vec<u32> = (0..500).map(|row| row / 7 % 8).collect();
            let second: Vec<u32> = (0..500).map(|row| row / 3 % 5).collect();
            let mut slots = Vec::new();
            by_column.slots(&[&first, &second], 500, &mut slots);
            let each: Vec<GroupSlot> = first.iter().zip(&second).map(|(a, b)| by_row.slot(&[*a, *b])).collect();
            assert_eq!(slots, each);
        }
    }

    #[test]
    fn a_merge_adds_only_groups_that_are_new() {
        // By dense key, and by hash.
        for radix in [64, 1 << 20] {
            let (mut groups, mut other) = (GroupTable::new(2, 1), GroupTable::new(2, 1));
            groups.expect(1, radix);
            other.expect(1, 64);
            let known: Vec<GroupSlot> = (0..20).map(|code| groups.slot(&[code % 2, code])).collect();
            // The other table's code 0 is code 39 here, and its code 39 is code 0 here.
            let shared: Vec<u32> = (0..40).rev().collect();
            (0..40).for_each(|code| assert_eq!(other.slot(&[code % 2, code]), GroupSlot::last_of(code + 1)));
            let slots = groups.merge(&other, &[shared], &Interrupt::default()).unwrap_or_default();
            for (code, slot) in (0..).zip(&slots) {
                assert_eq!(groups.key(slot.group()), [code % 2, 39 - code]);
            }
            // The other table's odd codes become even ones here and stay in sub-range 1, so all of its groups are new.
            assert_eq!((slots.len(), known.len(), groups.len()), (40, 20, 60));
            (0..20).for_each(|code| assert_eq!(groups.slot(&[code % 2, code]), known[code as usize]));
            let again = groups.merge(&other, &[(0..40).rev().collect()], &Interrupt::default());
            assert_eq!((again, groups.len()), (Ok(slots), 60));
        }
    }

    #[test]
    fn without_dimensions_each_sub_range_is_a_group() {
        let mut groups = GroupTable::new(2, 0);
        let slots = [groups.slot(&[1]), groups.slot(&[0]), groups.slot(&[1])];
        assert_eq!((slots, groups.len()), ([1, 2, 1].map(GroupSlot::last_of), 2));
    }
}
