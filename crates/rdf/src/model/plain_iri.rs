//! Plain IRIs, which are nearly all that there are. They are recognised without a parser.

/// The length of the plain IRI at the beginning; 0 if there is none. A plain IRI is certainly an IRI: scheme and host
/// of letters, digits, points and hyphens, and then what is allowed anywhere in paths, queries and fragments. The bytes
/// behind it may belong to an IRI that is not plain.
#[inline]
pub fn length(bytes: &[u8]) -> usize {
    let host = match bytes {
        [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => "http://".len(),
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => "https://".len(),
        _ => return 0,
    };
    let end_of = |from: usize, allowed: &[bool; 256]| {
        let length = bytes[from..].iter().position(|&byte| !allowed[byte as usize]);
        length.map_or(bytes.len(), |length| from + length)
    };
    let mut end = end_of(host, &HOST);
    if end == host {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'/' | b'?')) {
        end = end_of(end, &PLAIN);
    }
    if bytes.get(end) == Some(&b'#') {
        end = end_of(end + 1, &PLAIN);
    }
    end
}

/// Whether the text is a plain IRI.
pub fn is_plain(text: &str) -> bool {
    !text.is_empty() && length(text.as_bytes()) == text.len()
}

/// The bytes of hosts.
const HOST: [bool; 256] = allowed(b"-.");
/// The bytes that are allowed in paths, queries and fragments by themselves.
const PLAIN: [bool; 256] = allowed(b"-._~!$&'()*+,;=:@/?");

/// Letters, digits and others.
const fn allowed(others: &[u8]) -> [bool; 256] {
    let mut allowed = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        allowed[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut index = 0;
    while index < others.len() {
        allowed[others[index] as usize] = true;
        index += 1;
    }
    allowed
}

#[cfg(test)]
mod tests {
    use oxiri::Iri;

    use super::*;

    #[test]
    fn what_is_plain_is_an_iri() {
        for iri in ["http://a", "https://a.b-c/p", "http://a/?q=1#f", "http://a#f", "http://a?q", "http://a/(x)'!$"] {
            assert!(is_plain(iri) && Iri::parse(iri).is_ok(), "{iri}");
        }
        for other in ["", "http://", "http:///a", "urn:a", "http://a:80/", "http://a/%41", "http://a/ b"] {
            assert!(!is_plain(other), "{other}");
        }
        assert_eq!(length(b"http://a/b>c"), "http://a/b".len());
    }
}
