//! Base 64, as in RFC 4648.

/// Bytes of base 64. Padding may be left out, but not in part; bits after the last byte are 0.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if digits.len() != text.len() && (!text.len().is_multiple_of(4) || text.len() - digits.len() > 2) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in digits.bytes() {
        let digit = BASE64.iter().position(|&digit| digit == byte)? as u32;
        bits = (bits << 6) | digit;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // One digit alone is not a byte.
    (count < 6 && bits == 0).then_some(bytes)
}

/// Bytes to base 64, with padding.
pub(super) fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, &byte| (bits << 8) | u32::from(byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(BASE64[index as usize]) } else { '=' });
        }
    }
    text
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::{decode_base64, encode_base64};

    #[test]
    fn base_64_is_that_of_rfc_4648() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(encode_base64(bytes.as_bytes()), text);
            assert_eq!(decode_base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode_base64("Zm8"), Some(b"fo".to_vec()));
        for wrong in ["Z", "Zg!=", "Zg=", "Zg===", "Zm8==", "Zm9v=", "====", "Zh==", "Zm9"] {
            assert_eq!(decode_base64(wrong), None, "{wrong}");
        }
    }
}
