//! The contents of an index: the rows of a page, and for each row group the length and the number of entries of its
//! section, and the bounds of its customers and event ids.

use super::section::{LAST_PAGE, Section, StoredSection};
use super::{PREFIX_BYTES, Prefix, PrefixBounds};
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use parquet::file::reader::Length;
use std::ops::Range;
use std::path::Path;
use trueup_core::dataset::CheckedFile;
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};

/// The end of an index.
const MAGIC: [u8; 8] = *b"TRUEUPK3";

/// The bytes after the contents: their length, and [`MAGIC`].
const TRAILER_BYTES: usize = 16;

/// The bytes of a footer's length and of the mark after it, at the end of a Parquet file.
const TAIL_BYTES: usize = 8;

/// The bytes before the footer that are read first. Most contents are shorter.
const GUESS_BYTES: usize = 8 << 10;

/// Returns the index of a file from the sections of its row groups. `page_rows` are the rows of a page, from the first
/// row of a row group on; the last page of a row group may have fewer.
pub(in crate::events) fn encode_index(page_rows: usize, sections: &[Section]) -> Vec<u8> {
    let mut index: Vec<u8> = Vec::new();
    sections.iter().for_each(|section| index.extend_from_slice(&section.bytes));
    let start = index.len();
    index.extend_from_slice(&(page_rows as u64).to_le_bytes());
    for Section { count, customers, event_ids, bytes } in sections {
        index.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        index.extend_from_slice(&count.to_le_bytes());
        for prefix in [customers.first, customers.last, event_ids.first, event_ids.last] {
            index.extend_from_slice(&prefix.to_bytes());
        }
    }
    let length = (index.len() - start) as u64;
    index.extend_from_slice(&length.to_le_bytes());
    index.extend_from_slice(&MAGIC);
    index
}

/// The index of a stored file, whose contents were read.
pub(in crate::events) struct KeyIndex<'f> {
    entry: &'f DataFile,
    file: &'f CheckedFile,
    path: &'f Path,
    page_rows: usize,
    /// By row group.
    sections: Vec<SectionPlace>,
}

/// Where a section is, and what the contents say of it.
#[derive(Debug, PartialEq, Eq)]
struct SectionPlace {
    bytes: Range<u64>,
    count: u64,
    customers: PrefixBounds,
    event_ids: PrefixBounds,
}

/// What is looked for in a row group.
#[derive(Debug, Default)]
pub(in crate::events) struct Lookup {
    /// The keys of customers.
    pub(in crate::events) customers: Vec<u64>,
    /// The keys of event ids.
    pub(in crate::events) event_ids: Vec<u64>,
    /// Whether all rows are looked for.
    pub(in crate::events) wants_all: bool,
}

/// Rows of a row group that may have what is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::events) struct FoundRows {
    pub(in crate::events) row_group: usize,
    /// Whole pages, as ascending ranges.
    pub(in crate::events) rows: Vec<Range<usize>>,
    /// Whether they may have event ids that are looked for.
    pub(in crate::events) has_event_ids: bool,
}

impl<'f> KeyIndex<'f> {
    /// Reads the contents of a file's index; `None` if the file has no index, because an earlier trueup wrote it.
    pub(in crate::events) fn open(
        entry: &'f DataFile,
        file: &'f CheckedFile,
        path: &'f Path,
    ) -> Result<Option<Self>, IngestError> {
        let read = |end: u64, length: usize| file.bytes(&(end.saturating_sub(length as u64)..end)).of_dataset(path);
        let tail = read(file.len(), TAIL_BYTES)?;
        let Some((footer, _)) = tail.split_first_chunk::<4>().filter(|_| tail.len() == TAIL_BYTES) else {
            return Ok(None);
        };
        let after_index = file.len() - TAIL_BYTES as u64;
        let Some(end) = after_index.checked_sub(u32::from_le_bytes(*footer).into()) else { return Ok(None) };
        let mut before_footer = read(end, GUESS_BYTES)?;
        let Some(length) = contents_length(&before_footer) else { return Ok(None) };
        let whole = length.saturating_add(TRAILER_BYTES);
        if before_footer.len() < whole {
            before_footer = read(end, whole)?;
        }
        let contents = before_footer.len().checked_sub(whole).map(|start| &before_footer[start..start + length]);
        let decoded = contents.and_then(|contents| decode_contents(contents, end.saturating_sub(whole as u64)));
        match decoded {
            Some((page_rows, sections)) if sections.len() == entry.row_groups.len() => {
                Ok(Some(Self { entry, file, path, page_rows, sections }))
            }
            _ => Err(damaged(path)),
        }
    }

    /// Returns the rows that may have what is looked for. `lookup` says what that is in a row group, given the bounds
    /// of its customers and of its event ids.
    pub(in crate::events) fn find(
        &self,
        lookup: impl Fn(&RowGroupEntry, PrefixBounds, PrefixBounds) -> Lookup,
    ) -> Result<Vec<FoundRows>, IngestError> {
        let row_groups = self.entry.row_groups.iter().zip(&self.sections);
        let lookups: Vec<Lookup> =
            row_groups.map(|(entry, section)| lookup(entry, section.customers, section.event_ids)).collect();
        let with_keys = self.sections.iter().zip(&lookups).filter(|(_, lookup)| lookup.has_keys());
        let ranges: Vec<Range<u64>> = with_keys.map(|(section, _)| section.bytes.clone()).collect();
        let mut read = self.file.ranges(&ranges).of_dataset(self.path)?.into_iter();
        let mut found = Vec::new();
        let row_groups = self.entry.row_groups.iter().zip(&self.sections).zip(&lookups);
        for (row_group, ((entry, section), lookup)) in row_groups.enumerate() {
            let mut pages = lookup.pages(entry, self.page_rows);
            if lookup.has_keys()
                && let Some(bytes) = read.next()
            {
                let section = StoredSection::new(&bytes, section.count).ok_or_else(|| damaged(self.path))?;
                lookup.add_found(&section, &mut pages);
            }
            found.extend(rows_of(row_group, entry, &pages, self.page_rows));
        }
        Ok(found)
    }
}

impl Lookup {
    fn has_keys(&self) -> bool {
        !self.customers.is_empty() || !self.event_ids.is_empty()
    }

    /// Returns what the pages of a row group have, whatever its section says.
    fn pages(&self, entry: &RowGroupEntry, page_rows: usize) -> Vec<Found> {
        let found = if self.wants_all { Found::Customers } else { Found::Nothing };
        vec![found; row_count(entry).div_ceil(page_rows)]
    }

    /// Adds what pages may have.
    fn add_found(&self, section: &StoredSection<'_>, pages: &mut [Found]) {
        let mut add = |page: usize, found: Found| {
            let last = if page == LAST_PAGE { pages.len() } else { page + 1 };
            pages.get_mut(page..last).unwrap_or_default().iter_mut().for_each(|page| *page = found.max(*page));
        };
        self.customers.iter().flat_map(|key| section.pages_of(*key)).for_each(|page| add(page, Found::Customers));
        self.event_ids.iter().flat_map(|key| section.pages_of(*key)).for_each(|page| add(page, Found::EventIds));
    }
}

/// What a page may have of what is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Nothing,
    /// Customers, and no event id.
    Customers,
    EventIds,
}

/// Returns the rows of a row group that are in pages with something; `None` if there are none.
fn rows_of(row_group: usize, entry: &RowGroupEntry, pages: &[Found], page_rows: usize) -> Option<FoundRows> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    for (page, _) in pages.iter().enumerate().filter(|(_, found)| **found != Found::Nothing) {
        let start = page * page_rows;
        let end = start.saturating_add(page_rows).min(row_count(entry));
        match rows.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => rows.push(start..end),
        }
    }
    (!rows.is_empty()).then(|| FoundRows { row_group, rows, has_event_ids: pages.contains(&Found::EventIds) })
}

impl FoundRows {
    /// Returns all rows of a row group, for a file without an index.
    pub(in crate::events) fn all(row_group: usize, entry: &RowGroupEntry) -> Self {
        Self { row_group, rows: std::iter::once(0..row_count(entry)).collect(), has_event_ids: true }
    }
}

/// Returns whether a row group may have rows of an account.
pub(in crate::events) fn may_have_account(entry: &RowGroupEntry, account: &str) -> bool {
    entry.accounts.as_ref().is_none_or(|(first, last)| (&**first..=&**last).contains(&account))
}

fn row_count(entry: &RowGroupEntry) -> usize {
    usize::try_from(entry.rows).unwrap_or(usize::MAX)
}

/// Returns the length of the contents, given the bytes before the footer; `None` if they are not of an index.
fn contents_length(before_footer: &[u8]) -> Option<usize> {
    let (rest, magic) = before_footer.split_last_chunk::<8>()?;
    let (_, length) = rest.split_last_chunk::<8>().filter(|_| *magic == MAGIC)?;
    // More bytes than can be in memory are no contents.
    Some(usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX))
}

/// Returns the rows of a page and the places of all sections, given contents and their position in the file; `None` if
/// the bytes are no contents.
fn decode_contents(mut contents: &[u8], start: u64) -> Option<(usize, Vec<SectionPlace>)> {
    let left = &mut contents;
    let page_rows = usize::try_from(take_number(left)?).ok().filter(|rows| *rows > 0)?;
    let (mut sections, mut length) = (Vec::new(), 0_u64);
    while !left.is_empty() {
        let end = length.checked_add(take_number(left)?)?;
        let bytes = std::mem::replace(&mut length, end)..end;
        let (count, customers, event_ids) = (take_number(left)?, take_bounds(left)?, take_bounds(left)?);
        sections.push(SectionPlace { bytes, count, customers, event_ids });
    }
    // The sections end where the contents begin.
    let first = start.checked_sub(length)?;
    sections.iter_mut().for_each(|SectionPlace { bytes, .. }| *bytes = first + bytes.start..first + bytes.end);
    Some((page_rows, sections))
}

fn take_bounds(left: &mut &[u8]) -> Option<PrefixBounds> {
    Some(PrefixBounds { first: take_prefix(left)?, last: take_prefix(left)? })
}

fn take_prefix(left: &mut &[u8]) -> Option<Prefix> {
    take::<PREFIX_BYTES>(left).map(|bytes| Prefix::of(&bytes))
}

fn take_number(left: &mut &[u8]) -> Option<u64> {
    take(left).map(u64::from_le_bytes)
}

fn take<const N: usize>(left: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = left.split_first_chunk()?;
    *left = rest;
    Some(*taken)
}

fn damaged(path: &Path) -> IngestError {
    let source = "the index of its customers and event ids is damaged".into();
    ErrorKind::Stored { path: path.to_owned(), source }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::key_index::{AccountKeys, SectionBuilder};
    use proptest::prelude::*;

    const PAGE_ROWS: usize = 10;

    /// Returns a section of customers of the account `acme`, each with its pages.
    fn section(customers: &[(&str, Range<usize>)]) -> Section {
        let mut section = SectionBuilder::new(0);
        for (id, pages) in customers {
            pages.clone().for_each(|page| section.add_customer(AccountKeys::of("acme"), id.as_bytes(), page..=page));
        }
        section.finish()
    }

    #[test]
    fn contents_are_those_of_the_format() {
        let mut second = SectionBuilder::new(0);
        second.add_customer(AccountKeys::of("acme"), b"2026-05-000017-long", 0..=0);
        second.add_customer(AccountKeys::of("acme"), b"9", 0..=0);
        second.add_event_id(AccountKeys::of("acme"), b"e", 0..=0);
        let sections = [section(&[]), second.finish()];
        let index = encode_index(PAGE_ROWS, &sections);
        // Three entries of two bytes each, after eight bytes with the rest of their bits.
        let (stored, contents) = index.split_at(14);
        assert_eq!(stored, sections[1].bytes);
        let (none, ends) = ([[255; 16], [0; 16]].concat(), |id: &[u8]| [id, &vec![0; 16 - id.len()]].concat());
        let expected = [
            &[10, 0, 0, 0, 0, 0, 0, 0][..],
            &[[0; 16].as_slice(), &none, &none].concat(),
            &[14, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
            &[ends(b"2026-05-000017-l"), ends(b"9"), ends(b"e"), ends(b"e")].concat(),
            &[168, 0, 0, 0, 0, 0, 0, 0],
            b"TRUEUPK3",
        ];
        assert_eq!(contents, expected.concat());
        assert_eq!(contents_length(&index), Some(168));
        let decoded = decode_contents(&contents[..168], 1_014).unwrap();
        let place = |bytes, section: &Section| {
            let Section { count, customers, event_ids, .. } = *section;
            SectionPlace { bytes, count, customers, event_ids }
        };
        assert_eq!(decoded, (10, vec![place(1_000..1_000, &sections[0]), place(1_000..1_014, &sections[1])]));
        assert_eq!(decode_contents(&contents[..168], 13), None);
        assert_eq!(decode_contents(&contents[..167], 1_014), None);
    }

    #[test]
    fn rows_are_those_of_the_pages_that_have_a_key() {
        let keys = AccountKeys::of("acme");
        let mut section = SectionBuilder::new(0);
        section.add_customer(keys, b"ann", 1..=2);
        section.add_customer(keys, b"bob", LAST_PAGE + 1..=LAST_PAGE + 1);
        section.add_event_id(keys, b"e1", 4..=4);
        let section = section.finish();
        let stored = StoredSection::new(&section.bytes, section.count).unwrap();
        let entry = RowGroupEntry { rows: 187, ..RowGroupEntry::default() };
        let found = |lookup: Lookup| {
            let mut pages = lookup.pages(&entry, PAGE_ROWS);
            lookup.add_found(&stored, &mut pages);
            rows_of(7, &entry, &pages, PAGE_ROWS)
        };
        let rows = |rows: &[(usize, usize)], has_event_ids| {
            let rows = rows.iter().map(|(start, end)| *start..*end).collect();
            Some(FoundRows { row_group: 7, rows, has_event_ids })
        };
        let customers = |ids: &[&str]| Lookup {
            customers: ids.iter().map(|id| keys.customer(id.as_bytes())).collect(),
            ..Lookup::default()
        };
        assert_eq!(found(customers(&["ann"])), rows(&[(10, 30)], false));
        // The last page that has a number stands for all after it.
        assert_eq!(found(customers(&["ann", "bob"])), rows(&[(10, 30), (150, 187)], false));
        assert_eq!(found(customers(&["cat"])), None);
        assert_eq!(
            found(Lookup { event_ids: vec![keys.event(b"e1")], ..customers(&["ann"]) }),
            rows(&[(10, 30), (40, 50)], true)
        );
        assert_eq!(found(Lookup { wants_all: true, ..Lookup::default() }), rows(&[(0, 187)], false));
        assert_eq!(Some(FoundRows::all(7, &entry)), rows(&[(0, 187)], true));
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_contents_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), start in any::<u64>()) {
            if let Some((_, sections)) = decode_contents(&bytes, start) {
                prop_assert!(sections.iter().all(|section| section.bytes.end <= start));
            }
        }
    }
}
