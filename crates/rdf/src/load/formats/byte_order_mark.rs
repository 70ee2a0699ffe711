//! The byte order mark that some programs write before UTF-8. It is not part of the text.

use std::io::{self, Read};

/// Reads what `inner` reads, without a mark at its beginning.
pub struct WithoutMark<R> {
    inner: R,
    /// The first bytes, and how many of them were returned.
    first: [u8; MARK.len()],
    first_bytes: usize,
    returned: usize,
    is_begun: bool,
}

impl<R: Read> WithoutMark<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, first: [0; MARK.len()], first_bytes: 0, returned: 0, is_begun: false }
    }

    fn begin(&mut self) -> io::Result<()> {
        while self.first_bytes < MARK.len() && MARK.starts_with(&self.first[..self.first_bytes]) {
            match self.inner.read(&mut self.first[self.first_bytes..]) {
                Ok(0) => break,
                Ok(count) => self.first_bytes += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.first == MARK && self.first_bytes == MARK.len() {
            self.returned = MARK.len();
        }
        self.is_begun = true;
        Ok(())
    }
}

impl<R: Read> Read for WithoutMark<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.is_begun {
            self.begin()?;
        }
        if self.returned == self.first_bytes {
            return self.inner.read(out);
        }
        let rest = &self.first[self.returned..self.first_bytes];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.returned += count;
        Ok(count)
    }
}

/// U+FEFF in UTF-8.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a byte at a time.
    struct Slow<'t>(&'t [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(out.len()).min(1);
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn one_mark_at_the_beginning_is_passed_over_and_nothing_else() {
        let mark: &[u8] = &MARK;
        for (bytes, expected) in [
            (&b""[..], &b""[..]),
            (mark, b""),
            (b"\xef\xbb\xbftext", b"text"),
            (b"\xef\xbb\xbf\xef\xbb\xbftext", b"\xef\xbb\xbftext"),
            (b"text\xef\xbb\xbf", b"text\xef\xbb\xbf"),
            (b"\xef\xbbtext", b"\xef\xbbtext"),
            (b"\xef\xbb", b"\xef\xbb"),
            (b"te", b"te"),
        ] {
            let (mut whole, mut slowly) = (Vec::new(), Vec::new());
            WithoutMark::new(bytes).read_to_end(&mut whole).expect("it is in memory");
            WithoutMark::new(Slow(bytes)).read_to_end(&mut slowly).expect("it is in memory");
            assert_eq!((&whole[..], &slowly[..]), (expected, expected), "{bytes:x?}");
        }
    }
}
