//! Tombstones: what has the name of a manifest whose version has expired, so that no other version gets its number.
//!
//! All tombstones have the same length, and no manifest is as short, so that a list of objects tells them apart. Like a
//! manifest, a tombstone has a checksum of its own: what the answer of a store has damaged says nothing of who has a
//! number.

use super::seal::{checksum, unseal};
use std::io;
use trueup_store::Holder;

/// What a tombstone says to somebody who looks at it, before the checksum of the manifest that it replaces.
const TEXT: &str = "Tombstone of a version of a trueup dataset. No other version gets its number. It replaces: ";

/// What a fence has in place of the checksum of a manifest: it replaces none.
const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What comes before the checksum of all that precedes it.
const END: &str = ". Checksum: ";

/// The bytes of a tombstone.
pub(super) const TOMBSTONE_BYTES: u64 = (TEXT.len() + NONE.len() + END.len() + NONE.len() + 1) as u64;

/// Returns the tombstone of a version, by the bytes of its manifest.
pub(super) fn tombstone(manifest: &[u8]) -> Vec<u8> {
    sealed(&checksum(manifest))
}

/// Returns the tombstone of a number that no version has. A writer that gives up a publication takes the number with
/// it, so that no late request can publish the manifest.
pub(super) fn fence() -> Vec<u8> {
    sealed(NONE)
}

fn sealed(replaced: &str) -> Vec<u8> {
    let text = format!("{TEXT}{replaced}{END}");
    format!("{text}{}\n", checksum(text.as_bytes())).into_bytes()
}

/// Returns whether these are the bytes of a tombstone.
pub(super) fn is_tombstone(bytes: &[u8]) -> bool {
    let replaced =
        bytes.get(TEXT.len()..TEXT.len() + NONE.len()).and_then(|replaced| std::str::from_utf8(replaced).ok());
    replaced.is_some_and(|replaced| bytes == sealed(replaced))
}

/// Returns the tombstone that is to replace what was found under the name of a manifest; `None` if it is one.
///
/// # Errors
/// It is no whole manifest. Its tombstone would say that another manifest had the number.
pub(super) fn replacement(found: &[u8]) -> io::Result<Option<Vec<u8>>> {
    if is_tombstone(found) { Ok(None) } else { whole(found).map(|()| Some(tombstone(found))) }
}

/// Checks that these bytes are those of a manifest.
fn whole(manifest: &[u8]) -> io::Result<()> {
    match unseal(manifest) {
        Some(_) => Ok(()),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "it is neither a manifest nor a tombstone")),
    }
}

/// Says what was found under the name of a manifest, by the bytes of both. The tombstone of the manifest is its own,
/// because its version has expired since.
///
/// # Errors
/// What was found is damaged, so that it may be any of these.
pub(super) fn holder(found: &[u8], manifest: &[u8]) -> io::Result<Holder> {
    if found == manifest || found == tombstone(manifest) {
        Ok(Holder::Own)
    } else if found == fence() {
        Ok(Holder::Fence)
    } else if is_tombstone(found) {
        Ok(Holder::Other)
    } else {
        whole(found).map(|()| Holder::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::super::seal::seal;
    use super::*;

    #[test]
    fn a_tombstone_says_which_manifest_it_replaces() {
        let [own, other] = ["one", "two"].map(|text| seal(format!("{{\n  \"a\": \"{text}\"\n}}").into_bytes()));
        for bytes in [tombstone(&own), tombstone(&other), fence()] {
            assert!(is_tombstone(&bytes) && bytes.len() as u64 == TOMBSTONE_BYTES);
            assert_eq!(replacement(&bytes).unwrap(), None);
        }
        let holder = |found: &[u8]| super::holder(found, &own).unwrap();
        assert_eq!([&own, &tombstone(&own)].map(|found| holder(found)), [Holder::Own; 2]);
        assert_eq!([&other, &tombstone(&other)].map(|found| holder(found)), [Holder::Other; 2]);
        assert_eq!(holder(&fence()), Holder::Fence);
        assert_eq!(replacement(&own).unwrap(), Some(tombstone(&own)));
    }

    #[test]
    fn what_is_damaged_has_no_holder_and_no_tombstone() {
        let manifest = seal(b"{\n  \"a\": 1\n}".to_vec());
        for whole in [&manifest, &tombstone(&manifest), &fence()] {
            for at in 0..whole.len() {
                let mut flipped = whole.clone();
                flipped[at] ^= 1;
                for damaged in [flipped.as_slice(), &whole[..at]] {
                    assert!(!is_tombstone(damaged) && holder(damaged, b"another").is_err(), "{at}");
                    assert!(replacement(damaged).is_err(), "{at}");
                }
            }
        }
    }
}
