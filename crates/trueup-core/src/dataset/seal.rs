//! The seal of a manifest: the member `blake3` at the end of its JSON, the checksum of the file's bytes without it.

use crate::text::hex;

/// The text before and after the checksum at the end of a manifest.
const SEAL: (&str, &str) = (",\n  \"blake3\": \"", "\"\n}\n");

/// The end of the JSON of a manifest before it is sealed.
const UNSEALED_END: &str = "\n}";

/// Adds the seal to the JSON of a manifest.
pub(super) fn seal(mut json: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(&json);
    json.truncate(json.len() - UNSEALED_END.len());
    for text in [SEAL.0, &checksum, SEAL.1] {
        json.extend_from_slice(text.as_bytes());
    }
    json
}

/// Returns the JSON that was sealed; `None` if a byte has changed.
pub(super) fn unseal(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_suffix(SEAL.1.as_bytes())?;
    let (text, found) = text.split_at_checked(text.len().checked_sub(2 * blake3::OUT_LEN)?)?;
    let mut unsealed = text.strip_suffix(SEAL.0.as_bytes())?.to_vec();
    unsealed.extend_from_slice(UNSEALED_END.as_bytes());
    (checksum(&unsealed).as_bytes() == found).then_some(unsealed)
}

/// Returns the BLAKE3 of some bytes, in lower-case hex: the checksum of all that a dataset has.
#[must_use]
pub fn checksum(bytes: impl AsRef<[u8]>) -> String {
    hex(blake3::hash(bytes.as_ref()).as_bytes())
}
