use super::{KeyHash, SecretKey, base62};
use proptest::prelude::*;
use std::collections::HashSet;

/// Decodes base 62, digit by digit.
fn decode(text: &str) -> [u8; 32] {
    let mut number = [0_u8; 32];
    for character in text.chars() {
        let digit = match character {
            '0'..='9' => u32::from(character) - u32::from('0'),
            'A'..='Z' => u32::from(character) - u32::from('A') + 10,
            _ => u32::from(character) - u32::from('a') + 36,
        };
        let mut carry = digit;
        for byte in number.iter_mut().rev() {
            let value = u32::from(*byte) * 62 + carry;
            *byte = u8::try_from(value % 256).unwrap();
            carry = value / 256;
        }
        assert_eq!(carry, 0, "more than 256 bits in {text}");
    }
    number
}

proptest! {
    #[test]
    fn base62_can_be_decoded(bytes: [u8; 32]) {
        let text = base62(bytes);
        prop_assert_eq!(text.len(), 43);
        prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        prop_assert_eq!(decode(&text), bytes);
    }
}

#[test]
fn base62_encodes_the_smallest_and_the_largest_value() {
    assert_eq!(base62([0; 32]), "0".repeat(43));
    assert_eq!(decode(&base62([255; 32])), [255; 32]);
}

#[test]
fn issued_keys_have_the_prefix_and_are_unique() {
    let mut seen = HashSet::new();
    for _ in 0..1_000 {
        let key = SecretKey::issue_key("tu").unwrap();
        let (prefix, random) = key.reveal().split_once('_').unwrap();
        assert_eq!((prefix, random.len()), ("tu", 43));
        assert!(seen.insert(random.to_owned()));
    }
    let token = SecretKey::issue_token().unwrap();
    assert!(token.reveal().len() == 43 && !token.reveal().contains('_'));
}

#[test]
fn debug_hides_a_key() {
    let key = SecretKey::issue_key("tu").unwrap();
    assert_eq!(format!("{key:?} {:#?}", Some(&key)), "SecretKey(redacted) Some(\n    SecretKey(redacted),\n)");
}

#[test]
fn the_hash_is_sha256_and_every_bit_is_compared() {
    let hash = KeyHash::of(b"abc");
    // FIPS 180-2, appendix B.1.
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
    assert!(hash.matches(&KeyHash::of(b"abc")));
    for bit in 0..256 {
        let mut other = *hash.as_bytes();
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(!hash.matches(&KeyHash::from_bytes(other)), "bit {bit}");
    }
}
