//! The header of a page. The numbers of fields, and the numbers that name page types and encodings, are those of the
//! format's `PageHeader`.

use crate::dataset::thrift::{FieldValue, Thrift};
use parquet::basic::Encoding;

/// What the header says of a page.
#[derive(Clone, Debug)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// The bytes of the page in the file.
    pub(super) compressed: usize,
    /// The bytes of the decompressed page.
    pub(super) decompressed: usize,
}

/// What a page holds.
#[derive(Clone, Debug)]
pub(super) enum PageKind {
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
    /// An index, which is not read.
    Index,
}

/// A data page of version 2, whose levels are not compressed.
#[derive(Clone, Debug)]
pub(super) struct DataV2 {
    pub(super) values: u32,
    pub(super) nulls: u32,
    pub(super) rows: u32,
    pub(super) encoding: Encoding,
    /// The bytes of the definition levels.
    pub(super) definition: u32,
    /// The bytes of the repetition levels.
    pub(super) repetition: u32,
    pub(super) is_compressed: bool,
}

/// The fields of a structure that are numbers or booleans, by field number.
#[derive(Default)]
struct NumberFields([Option<i64>; 8]);

impl PageHeader {
    /// Reads a header from the front of `bytes`. Returns it with its length, or `None` if the bytes end early or are
    /// not a header.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut thrift = Thrift::new(bytes);
        let mut page = NumberFields::default();
        let [mut data, mut dictionary, mut data_v2] = [const { None }; 3];
        thrift.fields(|thrift, id, value| {
            match (id, &value) {
                (5, FieldValue::Struct) => data = Some(NumberFields::read(thrift)?),
                (7, FieldValue::Struct) => dictionary = Some(NumberFields::read(thrift)?),
                (8, FieldValue::Struct) => data_v2 = Some(NumberFields::read(thrift)?),
                _ => {
                    page.set(id, &value);
                    thrift.pass(&value)?;
                }
            }
            Some(())
        })?;
        let kind = match page.get(1)? {
            0 => data?.data()?,
            1 => PageKind::Index,
            2 => dictionary?.dictionary()?,
            3 => data_v2?.data_v2()?,
            _ => return None,
        };
        let size =
            |id| page.get(id).and_then(|size| i32::try_from(size).ok()).and_then(|size| usize::try_from(size).ok());
        let header = Self { kind, decompressed: size(2)?, compressed: size(3)? };
        Some((header, bytes.len() - thrift.left()))
    }
}

impl NumberFields {
    /// Reads a structure; its other fields are skipped.
    fn read(thrift: &mut Thrift<'_>) -> Option<Self> {
        let mut numbers = Self::default();
        thrift.fields(|thrift, id, value| {
            numbers.set(id, &value);
            thrift.pass(&value)
        })?;
        Some(numbers)
    }

    fn set(&mut self, id: i64, value: &FieldValue) {
        let number = match value {
            FieldValue::Number(number) => *number,
            FieldValue::Truth(truth) => i64::from(*truth),
            _ => return,
        };
        if let Some(place) = usize::try_from(id).ok().and_then(|id| self.0.get_mut(id)) {
            *place = Some(number);
        }
    }

    fn get(&self, id: usize) -> Option<i64> {
        self.0[id]
    }

    /// Returns a count, which has 31 bits.
    fn count(&self, id: usize) -> Option<u32> {
        i32::try_from(self.get(id)?).ok().and_then(|count| u32::try_from(count).ok())
    }

    fn encoding(&self, id: usize) -> Option<Encoding> {
        Some(match self.get(id)? {
            0 => Encoding::PLAIN,
            2 => Encoding::PLAIN_DICTIONARY,
            3 => Encoding::RLE,
            #[expect(deprecated, reason = "old files have levels in this encoding")]
            4 => Encoding::BIT_PACKED,
            5 => Encoding::DELTA_BINARY_PACKED,
            6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            7 => Encoding::DELTA_BYTE_ARRAY,
            8 => Encoding::RLE_DICTIONARY,
            9 => Encoding::BYTE_STREAM_SPLIT,
            _ => return None,
        })
    }

    fn dictionary(&self) -> Option<PageKind> {
        let is_sorted = self.get(3) == Some(1);
        Some(PageKind::Dictionary { values: self.count(1)?, encoding: self.encoding(2)?, is_sorted })
    }

    fn data(&self) -> Option<PageKind> {
        let [encoding, definition, repetition] = [self.encoding(2)?, self.encoding(3)?, self.encoding(4)?];
        Some(PageKind::Data { values: self.count(1)?, encoding, definition, repetition })
    }

    fn data_v2(&self) -> Option<PageKind> {
        Some(PageKind::DataV2(DataV2 {
            values: self.count(1)?,
            nulls: self.count(2)?,
            rows: self.count(3)?,
            encoding: self.encoding(4)?,
            definition: self.count(5)?,
            repetition: self.count(6)?,
            is_compressed: self.get(7) != Some(0),
        }))
    }
}
