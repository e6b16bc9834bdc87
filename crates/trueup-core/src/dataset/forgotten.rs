//! The customers that a dataset has forgotten, so that later ingests leave their events out.
//!
//! Nobody can read who they are: of each customer there is a hash with a random key that only this dataset has. Whoever
//! has the dataset can ask whether it has forgotten a customer whose account and id are known.

use super::block_checksums::sum;
use super::checked_file::CheckedFile;
use super::error::DatasetError;
use super::manifest::DataFile;
use crate::Day;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

/// The bytes of the key of a dataset.
pub const FORGOTTEN_KEY_BYTES: usize = 32;

/// The first bytes of a file of forgotten customers.
const MAGIC: &[u8; 8] = b"TRUEUPF1";

/// The bytes of a hash: the beginning of a keyed BLAKE3. With 128 bits, no two customers share one.
const HASH_BYTES: usize = 16;

/// The bytes of a customer in a file: the hash, and the day as the number of days since 1970-01-01, least significant
/// byte first.
const RECORD_BYTES: usize = HASH_BYTES + size_of::<u16>();

type Hash = [u8; HASH_BYTES];

/// The forgotten customers of a dataset, each with the last day whose events are left out of later ingests.
///
/// ```
/// use trueup_core::dataset::ForgottenCustomers;
///
/// let mut forgotten = ForgottenCustomers::new(&[7; 32]);
/// assert!(forgotten.forget("acme", "c1", "2026-05-31".parse()?));
/// // A later day takes the place of an earlier one, and not the other way round.
/// assert!(!forgotten.forget("acme", "c1", "2026-05-30".parse()?));
/// assert_eq!(forgotten.until("acme", "c1"), Some("2026-05-31".parse()?));
/// assert_eq!(forgotten.until("acme", "c2"), None);
/// assert_eq!(ForgottenCustomers::from_bytes(&forgotten.to_bytes()), Some(forgotten));
/// # Ok::<(), trueup_core::day::ParseDayError>(())
/// ```
#[derive(Clone)]
pub struct ForgottenCustomers {
    key: [u8; FORGOTTEN_KEY_BYTES],
    days: BTreeMap<Hash, Day>,
}

impl ForgottenCustomers {
    /// Returns the list of a dataset that has forgotten nobody yet. The key must be random, and no other dataset's.
    #[must_use]
    pub fn new(key: &[u8; FORGOTTEN_KEY_BYTES]) -> Self {
        Self { key: *key, days: BTreeMap::new() }
    }

    /// Returns the number of customers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.days.len()
    }

    /// Returns whether nobody is forgotten.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    /// Adds a customer, or raises the day of one. Returns whether the list has changed.
    pub fn forget(&mut self, account: &str, opportunity_id: &str, day: Day) -> bool {
        let hash = self.hash(account, opportunity_id);
        let is_later = self.days.get(&hash).is_none_or(|known| *known < day);
        if is_later {
            self.days.insert(hash, day);
        }
        is_later
    }

    /// Returns the customers who were forgotten after an earlier list of the same dataset was written.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        self.days.retain(|hash, day| earlier.days.get(hash) != Some(day));
        self
    }

    /// Returns the last day whose events of a customer are left out; `None` if the customer is not forgotten.
    #[must_use]
    pub fn until(&self, account: &str, opportunity_id: &str) -> Option<Day> {
        self.days.get(&self.hash(account, opportunity_id)).copied()
    }

    /// Returns the keyed hash of a customer.
    fn hash(&self, account: &str, opportunity_id: &str) -> Hash {
        // The length tells where the account ends, so that (`a`, `bc`) and (`ab`, `c`) differ.
        let length = (account.len() as u64).to_le_bytes();
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&length).update(account.as_bytes()).update(opportunity_id.as_bytes());
        sum(&hasher.finalize())
    }

    /// Returns the bytes of the file: the mark of such files, the key, and the customers in the order of their hashes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MAGIC.len() + FORGOTTEN_KEY_BYTES + self.days.len() * RECORD_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.key);
        for (hash, day) in &self.days {
            bytes.extend_from_slice(hash);
            bytes.extend_from_slice(&day.number().to_le_bytes());
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has returned; `None` if the bytes are anything else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (key, records) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
        let mut read = Self::new(key);
        let (records, rest) = records.as_chunks::<RECORD_BYTES>();
        for record in records {
            let (hash, day) = record.split_first_chunk()?;
            let day = Day::from_number(u16::from_le_bytes(day.try_into().ok()?));
            let is_next = read.days.last_key_value().is_none_or(|(last, _)| last < hash);
            if !is_next {
                return None;
            }
            read.days.insert(*hash, day);
        }
        rest.is_empty().then_some(read)
    }
}

impl PartialEq for ForgottenCustomers {
    fn eq(&self, other: &Self) -> bool {
        (self.key, &self.days) == (other.key, &other.days)
    }
}

impl Eq for ForgottenCustomers {}

/// Does not show the key.
impl fmt::Debug for ForgottenCustomers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForgottenCustomers").field("customers", &self.len()).finish_non_exhaustive()
    }
}

/// Reads the forgotten customers of a dataset.
///
/// # Errors
/// The file cannot be read, or is no list of forgotten customers.
pub fn read_forgotten(folder: &Path, file: &DataFile) -> Result<ForgottenCustomers, DatasetError> {
    let checked = CheckedFile::open(folder, file)?;
    let forgotten = ForgottenCustomers::from_bytes(&checked.whole()?);
    forgotten.filter(|forgotten| forgotten.len() as u64 == file.rows).ok_or_else(|| DatasetError::Io {
        path: checked.path().to_owned(),
        source: io::Error::new(io::ErrorKind::InvalidData, "this is no list of forgotten customers"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(number: u16) -> Day {
        Day::from_number(number)
    }

    #[test]
    fn a_hash_is_that_of_one_customer_and_one_key() {
        let mut forgotten = ForgottenCustomers::new(&[1; FORGOTTEN_KEY_BYTES]);
        forgotten.forget("ab", "c", day(1));
        assert_eq!(forgotten.until("a", "bc"), None);
        assert_eq!(forgotten.until("ab", "c"), Some(day(1)));
        let mut other = ForgottenCustomers::new(&[2; FORGOTTEN_KEY_BYTES]);
        other.forget("ab", "c", day(1));
        assert_ne!(forgotten.days, other.days);
        assert!(!format!("{forgotten:?}").contains("1, 1"), "{forgotten:?}");
    }

    #[test]
    fn only_a_list_in_order_is_read() {
        let mut forgotten = ForgottenCustomers::new(&[3; FORGOTTEN_KEY_BYTES]);
        for customer in 0..20_u16 {
            forgotten.forget("a", &customer.to_string(), day(customer));
        }
        let bytes = forgotten.to_bytes();
        assert_eq!(bytes.len(), 40 + 20 * 18);
        assert_eq!(ForgottenCustomers::from_bytes(&bytes), Some(forgotten));
        for length in (0..bytes.len()).filter(|length| *length < 40 || (length - 40) % 18 != 0) {
            assert_eq!(ForgottenCustomers::from_bytes(&bytes[..length]), None, "{length}");
        }
        let mut exchanged = bytes.clone();
        exchanged.copy_within(40..58, 58);
        assert_eq!(ForgottenCustomers::from_bytes(&exchanged), None);
        let mut other = bytes;
        other[0] ^= 1;
        assert_eq!(ForgottenCustomers::from_bytes(&other), None);
    }
}
