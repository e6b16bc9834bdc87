//! Random bytes as letters and digits.

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 62^43 is the first power of 62 above 2^256, so that 43 digits hold any 32 bytes and no two share them.
const WIDTH: usize = 43;

/// The bytes as one number, most significant first, in base 62, with leading zeros.
pub(super) fn encode(bytes: [u8; 32]) -> String {
    let mut number = bytes;
    let mut text = [0_u8; WIDTH];
    for digit in text.iter_mut().rev() {
        let mut remainder = 0_u16;
        for byte in &mut number {
            let value = remainder * 256 + u16::from(*byte);
            // value < 62 * 256, so that the quotient is a byte.
            let [_, quotient] = (value / 62).to_be_bytes();
            *byte = quotient;
            remainder = value % 62;
        }
        *digit = DIGITS[usize::from(remainder)];
    }
    text.iter().copied().map(char::from).collect()
}
