//! The header of a page.

use super::thrift::{Thrift, Value};
use parquet::basic::Encoding;

/// What a header says of its page.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Bytes of the page in the file.
    pub(super) packed: usize,
    /// Bytes of the page once it is unpacked.
    pub(super) unpacked: usize,
}

/// What a page holds.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Dictionary {
        values: u32,
        encoding: Encoding,
        is_sorted: bool,
    },
    Data {
        values: u32,
        encoding: Encoding,
        definition: Encoding,
        repetition: Encoding,
    },
    DataV2(DataV2),
    /// An index that no reader needs.
    Index,
}

/// A page of data whose levels are not packed.
#[derive(Clone, Debug)]
pub(super) struct DataV2 {
    pub(super) values: u32,
    pub(super) nulls: u32,
    pub(super) rows: u32,
    pub(super) encoding: Encoding,
    /// Bytes of levels.
    pub(super) definition: u32,
    pub(super) repetition: u32,
    pub(super) is_packed: bool,
}

/// Fields of structures by number.
#[derive(Default)]
struct Numbers([Option<i64>; 8]);

impl Header {
    /// Reads a header from the front of `bytes`, and gives back its length; `None` where the bytes end early or are no header.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut thrift = Thrift::new(bytes);
        let mut page = Numbers::default();
        let [mut data, mut dictionary, mut data_v2] = [const { None }; 3];
        thrift.fields(|thrift, id, value| {
            match (id, &value) {
                (5, Value::Struct) => data = Some(Numbers::read(thrift)?),
                (7, Value::Struct) => dictionary = Some(Numbers::read(thrift)?),
                (8, Value::Struct) => data_v2 = Some(Numbers::read(thrift)?),
                _ => {
                    page.set(id, &value);
                    thrift.pass(&value)?;
                }
            }
            Some(())
        })?;
        let kind = match page.get(1)? {
            0 => data?.data()?,
            1 => Kind::Index,
            2 => dictionary?.dictionary()?,
            3 => data_v2?.data_v2()?,
            _ => return None,
        };
        let size =
            |id| page.get(id).and_then(|size| i32::try_from(size).ok()).and_then(|size| usize::try_from(size).ok());
        let header = Self { kind, unpacked: size(2)?, packed: size(3)? };
        Some((header, bytes.len() - thrift.left()))
    }
}

impl Numbers {
    fn read(thrift: &mut Thrift<'_>) -> Option<Self> {
        let mut numbers = Self::default();
        thrift.fields(|thrift, id, value| {
            numbers.set(id, &value);
            thrift.pass(&value)
        })?;
        Some(numbers)
    }

    fn set(&mut self, id: i64, value: &Value) {
        let number = match value {
            Value::Number(number) => *number,
            Value::Truth(truth) => i64::from(*truth),
            _ => return,
        };
        if let Some(place) = usize::try_from(id).ok().and_then(|id| self.0.get_mut(id)) {
            *place = Some(number);
        }
    }

    fn get(&self, id: usize) -> Option<i64> {
        self.0[id]
    }

    /// A count, which has 31 bits.
    fn count(&self, id: usize) -> Option<u32> {
        i32::try_from(self.get(id)?).ok().and_then(|count| u32::try_from(count).ok())
    }

    fn encoding(&self, id: usize) -> Option<Encoding> {
        Some(match self.get(id)? {
            0 => Encoding::PLAIN,
            2 => Encoding::PLAIN_DICTIONARY,
            3 => Encoding::RLE,
            #[expect(deprecated, reason = "levels of old files have it")]
            4 => Encoding::BIT_PACKED,
            5 => Encoding::DELTA_BINARY_PACKED,
            6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            7 => Encoding::DELTA_BYTE_ARRAY,
            8 => Encoding::RLE_DICTIONARY,
            9 => Encoding::BYTE_STREAM_SPLIT,
            _ => return None,
        })
    }

    fn dictionary(&self) -> Option<Kind> {
        let is_sorted = self.get(3) == Some(1);
        Some(Kind::Dictionary { values: self.count(1)?, encoding: self.encoding(2)?, is_sorted })
    }

    fn data(&self) -> Option<Kind> {
        let [encoding, definition, repetition] = [self.encoding(2)?, self.encoding(3)?, self.encoding(4)?];
        Some(Kind::Data { values: self.count(1)?, encoding, definition, repetition })
    }

    fn data_v2(&self) -> Option<Kind> {
        Some(Kind::DataV2(DataV2 {
            values: self.count(1)?,
            nulls: self.count(2)?,
            rows: self.count(3)?,
            encoding: self.encoding(4)?,
            definition: self.count(5)?,
            repetition: self.count(6)?,
            is_packed: self.get(7) != Some(0),
        }))
    }
}
