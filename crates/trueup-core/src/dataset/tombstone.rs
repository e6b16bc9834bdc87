//! Tombstones: what has the name of a manifest whose version has expired, so that no other version gets its number.
//!
//! All tombstones have the same length, and no manifest is as short, so that a list of objects tells them apart.

use super::manifest::hex;
use sha2::{Digest, Sha256};

/// What a tombstone says to somebody who looks at it, before the checksum of the manifest that it replaces.
const TEXT: &str = "Tombstone of a version of a trueup dataset. No other version gets its number. It replaces: ";

/// What a fence has in place of the checksum of a manifest: it replaces none.
const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The bytes of a tombstone.
pub(super) const TOMBSTONE_BYTES: u64 = (TEXT.len() + NONE.len() + 1) as u64;

/// Returns the tombstone of a version, by the bytes of its manifest.
pub(super) fn tombstone(manifest: &[u8]) -> Vec<u8> {
    format!("{TEXT}{}\n", hex(&Sha256::digest(manifest))).into_bytes()
}

/// Returns the tombstone of a number that no version has. A writer that gives up a publication takes the number with
/// it, so that no late request can publish the manifest.
pub(super) fn fence() -> Vec<u8> {
    format!("{TEXT}{NONE}\n").into_bytes()
}

/// Returns whether these are the bytes of a tombstone.
pub(super) fn is_tombstone(bytes: &[u8]) -> bool {
    bytes.len() as u64 == TOMBSTONE_BYTES && bytes.starts_with(TEXT.as_bytes())
}

/// What has the name under which a manifest was to be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The manifest, or its tombstone because its version has expired since.
    Own,
    /// A tombstone that replaces no manifest.
    Fence,
    /// Another manifest, or the tombstone of one.
    Other,
}

impl Holder {
    /// Says what was found under the name of a manifest, by the bytes of both.
    pub(super) fn of(found: &[u8], manifest: &[u8]) -> Self {
        if found == manifest || found == tombstone(manifest) {
            Self::Own
        } else if found == fence() {
            Self::Fence
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_says_which_manifest_it_replaces() {
        let (own, other) = (b"{ one }".as_slice(), b"{ two }".as_slice());
        for bytes in [tombstone(own), tombstone(other), fence()] {
            assert!(is_tombstone(&bytes) && bytes.len() as u64 == TOMBSTONE_BYTES);
            assert!(!is_tombstone(&bytes[1..]));
        }
        assert_eq!([own, &tombstone(own)].map(|found| Holder::of(found, own)), [Holder::Own; 2]);
        assert_eq!([other, &tombstone(other)].map(|found| Holder::of(found, own)), [Holder::Other; 2]);
        assert_eq!(Holder::of(&fence(), own), Holder::Fence);
    }
}
