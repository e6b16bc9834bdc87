//! The records that the files of an ingest deliver. The events of a record are replaced together: what the dataset or
//! an earlier file has of a record goes when a file delivers the record, even if that file has no event of it.

use hashbrown::HashMap;
use std::path::{Path, PathBuf};

/// Bytes of memory that a record takes besides its text, and about those of an account or a source.
const ENTRY_BYTES: usize = 64;

/// About the bytes that the customer of a record takes, by which its stored events are compared.
const CUSTOMER_BYTES: usize = 64;

/// A record: its number, counted from 0, and that of the last file that has it.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    number: usize,
    last_file: u32,
}

/// The records that some files deliver, by account and source.
#[derive(Debug, Default)]
pub(crate) struct DeliveredRecords {
    /// The files, in the order in which their records replace each other.
    files: Vec<PathBuf>,
    accounts: HashMap<String, HashMap<String, HashMap<String, Delivery>>>,
    count: usize,
    bytes: usize,
}

impl DeliveredRecords {
    /// Begins without records. A later one of the files replaces what an earlier one has of a record.
    pub(crate) fn new(files: Vec<PathBuf>) -> Self {
        Self { files, ..Self::default() }
    }

    /// Adds a record of the file with a number.
    pub(crate) fn add(&mut self, account: &str, source: &str, record: &str, file: u32) {
        let sources = self.accounts.entry_ref(account).or_insert_with(|| {
            self.bytes += ENTRY_BYTES + account.len();
            HashMap::new()
        });
        let records = sources.entry_ref(source).or_insert_with(|| {
            self.bytes += ENTRY_BYTES + source.len();
            HashMap::new()
        });
        let delivery = records.entry_ref(record).or_insert_with(|| {
            self.bytes += ENTRY_BYTES + CUSTOMER_BYTES + record.len();
            self.count += 1;
            Delivery { number: self.count - 1, last_file: file }
        });
        delivery.last_file = file.max(delivery.last_file);
    }

    /// Returns the bytes of memory that they take, approximately.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns how many records there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of a file; `None` if it delivers no records.
    pub(crate) fn file(&self, path: &Path) -> Option<u32> {
        let at = self.files.iter().position(|file| file == path)?;
        u32::try_from(at).ok()
    }

    /// Returns the path of the file with a number.
    pub(crate) fn path(&self, file: u32) -> Option<&Path> {
        self.files.get(file as usize).map(PathBuf::as_path)
    }

    /// Returns the number of the last file that delivers a record; `None` if none does.
    pub(crate) fn last_file(&self, account: &str, source: &str, record: &str) -> Option<u32> {
        self.delivery(account, source, record).map(|delivery| delivery.last_file)
    }

    /// Returns the number of a record, counted from 0; `None` if no file delivers it.
    pub(crate) fn number(&self, account: &str, source: &str, record: &str) -> Option<usize> {
        self.delivery(account, source, record).map(|delivery| delivery.number)
    }

    fn delivery(&self, account: &str, source: &str, record: &str) -> Option<Delivery> {
        self.accounts.get(account)?.get(source)?.get(record).copied()
    }

    /// Returns the accounts, each with its records of all sources.
    pub(crate) fn by_account(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.accounts
            .iter()
            .map(|(account, sources)| (account.as_str(), sources.values().flat_map(HashMap::keys).map(String::as_str)))
    }
}
