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

/// The bytes of a customer in a file: the hash, the day as the number of days since 1970-01-01, and the version, both
/// least significant byte first.
const RECORD_BYTES: usize = HASH_BYTES + size_of::<u16>() + size_of::<u64>();

type Hash = [u8; HASH_BYTES];

/// When a customer was forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Forgetting {
    /// The last day whose events are left out of later ingests.
    until: Day,
    /// The newest version that has forgotten the customer, whatever days the events had that it has removed.
    version: u64,
}

/// The forgotten customers of a dataset, each with the last day whose events are left out of later ingests, and the
/// version that has forgotten the customer last.
///
/// ```
/// use trueup_core::dataset::ForgottenCustomers;
///
/// let mut forgotten = ForgottenCustomers::new(&[7; 32]);
/// assert!(forgotten.forget("acme", "c1", "2026-05-31".parse()?, 2));
/// // A later day takes the place of an earlier one, and not the other way round.
/// assert!(!forgotten.forget("acme", "c1", "2026-05-30".parse()?, 3));
/// assert_eq!(forgotten.until("acme", "c1"), Some("2026-05-31".parse()?));
/// assert_eq!(forgotten.until("acme", "c2"), None);
/// assert_eq!(ForgottenCustomers::from_bytes(&forgotten.to_bytes()), Some(forgotten));
/// # Ok::<(), trueup_core::day::ParseDayError>(())
/// ```
#[derive(Clone)]
pub struct ForgottenCustomers {
    key: [u8; FORGOTTEN_KEY_BYTES],
    customers: BTreeMap<Hash, Forgetting>,
}

impl ForgottenCustomers {
    /// Returns the list of a dataset that has forgotten nobody yet. The key must be random, and no other dataset's.
    #[must_use]
    pub fn new(key: &[u8; FORGOTTEN_KEY_BYTES]) -> Self {
        Self { key: *key, customers: BTreeMap::new() }
    }

    /// Returns the number of customers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.customers.len()
    }

    /// Returns whether nobody is forgotten.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.customers.is_empty()
    }

    /// Adds a customer whom a new version forgets, or raises the day of one. Returns whether the customer is new or the
    /// day later.
    pub fn forget(&mut self, account: &str, opportunity_id: &str, day: Day, version: u64) -> bool {
        let hash = self.hash(account, opportunity_id);
        let known = self.customers.get(&hash).map(|known| known.until);
        let until = known.map_or(day, |known| known.max(day));
        self.customers.insert(hash, Forgetting { until, version });
        known != Some(until)
    }

    /// Returns the customers whom a version after `version` has forgotten.
    #[must_use]
    pub fn since(mut self, version: u64) -> Self {
        self.customers.retain(|_, forgetting| forgetting.version > version);
        self
    }

    /// Returns the last day whose events of a customer are left out; `None` if the customer is not forgotten.
    #[must_use]
    pub fn until(&self, account: &str, opportunity_id: &str) -> Option<Day> {
        self.customers.get(&self.hash(account, opportunity_id)).map(|forgetting| forgetting.until)
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
        let mut bytes = Vec::with_capacity(MAGIC.len() + FORGOTTEN_KEY_BYTES + self.len() * RECORD_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.key);
        for (hash, Forgetting { until, version }) in &self.customers {
            bytes.extend_from_slice(hash);
            bytes.extend_from_slice(&until.number().to_le_bytes());
            bytes.extend_from_slice(&version.to_le_bytes());
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
            let (hash, numbers) = record.split_first_chunk()?;
            let (day, version) = numbers.split_first_chunk()?;
            let until = Day::from_number(u16::from_le_bytes(*day));
            let version = u64::from_le_bytes(version.try_into().ok()?);
            let is_next = read.customers.last_key_value().is_none_or(|(last, _)| last < hash);
            if !is_next {
                return None;
            }
            read.customers.insert(*hash, Forgetting { until, version });
        }
        rest.is_empty().then_some(read)
    }
}

impl PartialEq for ForgottenCustomers {
    fn eq(&self, other: &Self) -> bool {
        (self.key, &self.customers) == (other.key, &other.customers)
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
        forgotten.forget("ab", "c", day(1), 2);
        assert_eq!(forgotten.until("a", "bc"), None);
        assert_eq!(forgotten.until("ab", "c"), Some(day(1)));
        let mut other = ForgottenCustomers::new(&[2; FORGOTTEN_KEY_BYTES]);
        other.forget("ab", "c", day(1), 2);
        assert_ne!(forgotten.customers, other.customers);
        assert!(!format!("{forgotten:?}").contains("1, 1"), "{forgotten:?}");
    }

    /// A version may forget a customer again whose day is as it was.
    #[test]
    fn the_last_version_that_forgets_a_customer_counts() {
        let mut forgotten = ForgottenCustomers::new(&[1; FORGOTTEN_KEY_BYTES]);
        assert!(forgotten.forget("a", "c", day(5), 2));
        assert!(forgotten.clone().since(2).is_empty());
        assert!(!forgotten.forget("a", "c", day(5), 4) && !forgotten.forget("a", "c", day(4), 5));
        let since = forgotten.since(4);
        assert_eq!((since.until("a", "c"), since.clone().since(5).len()), (Some(day(5)), 0));
    }

    #[test]
    fn only_a_list_in_order_is_read() {
        let mut forgotten = ForgottenCustomers::new(&[3; FORGOTTEN_KEY_BYTES]);
        for customer in 0..20_u16 {
            forgotten.forget("a", &customer.to_string(), day(customer), u64::from(customer) << 40);
        }
        let bytes = forgotten.to_bytes();
        assert_eq!(bytes.len(), 40 + 20 * 26);
        assert_eq!(ForgottenCustomers::from_bytes(&bytes), Some(forgotten));
        for length in (0..bytes.len()).filter(|length| *length < 40 || (length - 40) % 26 != 0) {
            assert_eq!(ForgottenCustomers::from_bytes(&bytes[..length]), None, "{length}");
        }
        let mut exchanged = bytes.clone();
        exchanged.copy_within(40..66, 66);
        assert_eq!(ForgottenCustomers::from_bytes(&exchanged), None);
        let mut other = bytes;
        other[0] ^= 1;
        assert_eq!(ForgottenCustomers::from_bytes(&other), None);
    }
}
