//! The records of expiries: which files expired versions leave, when they expired, and how long the files stay.

use super::super::error::ManifestError;
use super::super::manifest::is_plain_name;
use super::super::seal::checksum;
use super::super::storage::Storage;
use super::{OrphanFile, RECORD_PREFIX};
use std::fmt::Write as _;
use std::io;
use std::time::{Duration, SystemTime};
use trueup_store::{Entry, ReadFault};

/// The first line of a record, which says to somebody who looks into the folder what the file is.
const HEADER: &str = "Files of expired versions, which trueup removes when the grace period is over.";

/// What the last line of a record begins with, before the checksum of all that precedes it.
const END: &str = "end ";

/// The most bytes of a record.
const MAX_RECORD_BYTES: u64 = 1 << 29;

/// The most files of a record: a line has fewer than 300 bytes.
const MAX_FILES: usize = 1 << 20;

/// What an expiry has left for later.
pub(super) struct Record {
    pub(super) name: String,
    /// When it was written, by the clock of the store or of the file system.
    pub(super) written: SystemTime,
    pub(super) grace: Duration,
    pub(super) files: Vec<OrphanFile>,
}

impl Record {
    /// Returns whether the grace period is over. `grace` takes the place of the one in the record.
    pub(super) fn is_due(&self, now: SystemTime, grace: Option<Duration>) -> bool {
        now.duration_since(self.written).unwrap_or_default() >= grace.unwrap_or(self.grace)
    }
}

/// Writes the records of an expiry, as many as its files need. Their names end with `id`.
pub(super) fn write_records(
    storage: &Storage<'_>,
    id: &str,
    grace: Duration,
    files: &[OrphanFile],
) -> Result<(), ManifestError> {
    // Without files, a record still says what the file is that a killed process has left.
    let parts: Vec<&[OrphanFile]> = if files.is_empty() { vec![files] } else { files.chunks(MAX_FILES).collect() };
    for (number, files) in parts.into_iter().enumerate() {
        let name = match number {
            0 => format!("{RECORD_PREFIX}{id}"),
            number => format!("{RECORD_PREFIX}{id}-{number}"),
        };
        let text = encode(grace, files);
        // A file that the reader does not find in the record would stay for ever.
        let is_readable = matches!(decode(text.as_bytes()), Decoded::Whole { grace: read_grace, files: read }
            if (read_grace.as_secs(), read.as_slice()) == (grace.as_secs(), files));
        if !is_readable {
            return Err(storage.failed("write", &name, io::ErrorKind::InvalidData.into()));
        }
        // A request that is repeated because its answer was lost finds the record of the first one.
        if !storage.create(&name, text.as_bytes())?
            && storage.read(&name, MAX_RECORD_BYTES).ok().is_none_or(|found| found != text.as_bytes())
        {
            return Err(storage.failed("create", &name, io::ErrorKind::AlreadyExists.into()));
        }
    }
    storage.sync()
}

fn encode(grace: Duration, files: &[OrphanFile]) -> String {
    let mut text = format!("{HEADER}\ngrace {}\n", grace.as_secs());
    for OrphanFile { path, size } in files {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{size} {path}");
    }
    text.push_str(END);
    let checksum = checksum(text.as_bytes());
    text.push_str(&checksum);
    text.push('\n');
    text
}

/// Reads the records among all names of a dataset. In a folder, one that was not written to its end lists no file.
///
/// # Errors
/// A record cannot be read, is damaged, or is longer than the ones that trueup writes.
pub(super) fn read_records(storage: &Storage<'_>, entries: &[Entry]) -> Result<Vec<Record>, ManifestError> {
    let mut records = Vec::new();
    for entry in entries.iter().filter(|entry| entry.name.starts_with(RECORD_PREFIX)) {
        match read_record(storage, entry) {
            Ok(Some(record)) => records.push(record),
            Ok(None) => return Err(ManifestError::DamagedRecord { path: storage.path(&entry.name) }),
            // Somebody else removes the same record.
            Err(ReadFault::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(fault) => return Err(storage.failed("read", &entry.name, fault.into())),
        }
    }
    Ok(records)
}

/// Reads a record; `None` if it is damaged.
fn read_record(storage: &Storage<'_>, entry: &Entry) -> Result<Option<Record>, ReadFault> {
    // Perhaps only the first answer of a store is damaged.
    for _ in 0..2 {
        let (grace, files) = match decode(&storage.read(&entry.name, MAX_RECORD_BYTES)?) {
            Decoded::Whole { grace, files } => (grace, files),
            // No version has expired by it, and it may be removed at once.
            Decoded::Unfinished if storage.has_lock() => (Duration::ZERO, Vec::new()),
            Decoded::Unfinished | Decoded::Damaged => continue,
        };
        return Ok(Some(Record { name: entry.name.clone(), written: storage.modified(entry)?, grace, files }));
    }
    Ok(None)
}

/// What is read of a record.
#[derive(Debug, PartialEq, Eq)]
enum Decoded {
    Whole {
        grace: Duration,
        files: Vec<OrphanFile>,
    },
    /// It has no last line. In a folder, its writer was stopped; a store has only whole objects.
    Unfinished,
    Damaged,
}

fn decode(bytes: &[u8]) -> Decoded {
    let Some((text, found)) =
        std::str::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\n')?.rsplit_once(END))
    else {
        return Decoded::Unfinished;
    };
    let whole = bytes.get(..text.len() + END.len()).filter(|sealed| checksum(sealed) == found);
    whole.and_then(|_| parse(text)).map_or(Decoded::Damaged, |(grace, files)| Decoded::Whole { grace, files })
}

/// Returns the grace period and the files of a record without its last line.
fn parse(text: &str) -> Option<(Duration, Vec<OrphanFile>)> {
    let mut lines = text.strip_prefix(HEADER)?.strip_prefix('\n')?.lines();
    let grace = lines.next()?.strip_prefix("grace ")?.parse().ok()?;
    let file = |line: &str| {
        let (size, path) = line.split_once(' ')?;
        let (folder, name) = path.split_once('/')?;
        let file = OrphanFile { path: path.to_owned(), size: size.parse().ok()? };
        (is_plain_name(folder) && is_plain_name(name)).then_some(file)
    };
    Some((Duration::from_secs(grace), lines.filter_map(file).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn sealed(lines: &str) -> String {
        let text = format!("{HEADER}\n{lines}{END}");
        format!("{text}{}\n", checksum(text.as_bytes()))
    }

    #[test]
    fn a_record_counts_if_it_is_whole() {
        let whole = sealed("grace 60\n12 events/a.parquet\n3 lists/../b\n4 ../c\n7 lists/b\n");
        let Decoded::Whole { grace, files } = decode(whole.as_bytes()) else { unreachable!() };
        assert_eq!(grace, Duration::from_secs(60));
        let paths: Vec<(&str, u64)> = files.iter().map(|file| (file.path.as_str(), file.size)).collect();
        assert_eq!(paths, [("events/a.parquet", 12), ("lists/b", 7)]);
        assert_eq!(decode(encode(grace, &files).as_bytes()), Decoded::Whole { grace, files });
        for at in 0..whole.len() {
            assert_eq!(decode(&whole.as_bytes()[..at]), Decoded::Unfinished, "{at}");
            let mut flipped = whole.clone().into_bytes();
            flipped[at] ^= 1;
            assert!(!matches!(decode(&flipped), Decoded::Whole { .. }), "{at}");
        }
        // A file in a hidden folder, such as the record of an ingest, is left out.
        let hidden = decode(sealed("grace 60\n1 .trueup-pending-x/a\n").as_bytes());
        assert_eq!(hidden, Decoded::Whole { grace, files: Vec::new() });
    }

    #[test]
    fn many_files_have_several_records_and_a_longer_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let storage = Storage::open(dir.path()).unwrap();
        let file = |number: usize| OrphanFile { path: format!("events/{number:07}"), size: 1 };
        let files: Vec<OrphanFile> = (0..MAX_FILES + 1).map(file).collect();
        write_records(&storage, "x", Duration::from_secs(9), &files).unwrap();
        let mut records = read_records(&storage, &storage.list().unwrap()).unwrap();
        records.sort_by(|one, other| one.name.cmp(&other.name));
        let [first, second] = records.try_into().ok().unwrap();
        assert_eq!([first.files, second.files].concat(), files);
        let longer = File::create(dir.path().join(format!("{RECORD_PREFIX}y"))).unwrap();
        longer.set_len(MAX_RECORD_BYTES + 1).unwrap();
        let error = read_records(&storage, &storage.list().unwrap()).err().unwrap().to_string();
        assert!(error.ends_with("the file has 536870913 bytes, more than trueup writes"), "{error}");
    }
}
