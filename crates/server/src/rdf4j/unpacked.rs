//! Documents that were sent compressed or in an archive, as RDF4J's server takes them.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use fulgurite_rdf::{Error, decompress};
use zip::ZipArchive;

/// A document: a body, or a file in an archive.
pub struct Part {
    /// For error messages.
    pub name: String,
    pub bytes: Box<dyn Read + Send>,
}

impl Part {
    /// The same document. The number of bytes that are read is added to `count`.
    pub fn counted(self, count: &Arc<AtomicUsize>) -> Self {
        Self { name: self.name, bytes: Box::new(Counted { inner: self.bytes, count: Arc::clone(count) }) }
    }
}

/// The documents of a body: the files of a zip archive, or the body itself, which may be compressed by gzip, bzip2, xz
/// or zstd.
///
/// # Errors
/// [`Error::Input`] if it cannot be decompressed. The iterator returns it too.
pub fn unpack(bytes: Bytes) -> Result<impl Iterator<Item = Result<Part, Error>>, Error> {
    let failed = |name: &str| {
        let input = name.to_owned();
        move |source: io::Error| Error::Input { input, source }
    };
    let bytes_max = (bytes.len() as u64).saturating_mul(EXPANSION_MAX).clamp(EXPANDED_BYTES_MIN, EXPANDED_BYTES_MAX);
    let mut archive = None;
    let mut whole = None;
    if bytes.starts_with(b"PK\x03\x04") {
        let opened = ZipArchive::new(Cursor::new(bytes)).map_err(io::Error::from);
        archive = Some(opened.map_err(failed("the archive"))?);
    } else {
        let bytes = decompress(Cursor::new(bytes)).map_err(failed(WHOLE))?;
        whole = Some(Part { name: WHOLE.to_owned(), bytes: Box::new(Bounded { inner: bytes, left: bytes_max }) });
    }
    let mut next = 0;
    let of_archive = std::iter::from_fn(move || {
        let archive = archive.as_mut()?;
        while next < archive.len() {
            let number = next;
            next += 1;
            let part = read_file(archive, number, bytes_max).map_err(failed("the archive"));
            if let Some(part) = part.transpose() {
                return Some(part);
            }
        }
        None
    });
    Ok(whole.into_iter().map(Ok).chain(of_archive))
}

/// A file of an archive; `None` for a directory.
fn read_file(archive: &mut ZipArchive<Cursor<Bytes>>, number: usize, bytes_max: u64) -> io::Result<Option<Part>> {
    let file = archive.by_index(number)?;
    if file.is_dir() {
        return Ok(None);
    }
    let name = file.name().to_owned();
    let mut bytes = Vec::new();
    Bounded { inner: file, left: bytes_max }.read_to_end(&mut bytes)?;
    Ok(Some(Part { name, bytes: Box::new(Cursor::new(bytes)) }))
}

/// All bytes of a document.
///
/// # Errors
/// [`Error::Input`].
pub fn read_all(name: &str, mut bytes: Box<dyn Read + Send>) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    let read = bytes.read_to_end(&mut all);
    read.map_err(|source| Error::Input { input: name.to_owned(), source })?;
    Ok(all)
}

/// Fails beyond a number of bytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other("it is too large when it is decompressed; load it with `fulgurite rdf load`")
        })?;
        Ok(count)
    }
}

/// Counts the bytes that are read.
struct Counted {
    inner: Box<dyn Read + Send>,
    count: Arc<AtomicUsize>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read, Ordering::Relaxed);
        Ok(read)
    }
}

const WHOLE: &str = "the document";
/// A document may be larger than its compressed form by this factor.
const EXPANSION_MAX: u64 = 100;
/// It may have so many bytes in any case.
const EXPANDED_BYTES_MIN: u64 = 1 << 20;
/// And never more than these. A file of an archive is in memory.
const EXPANDED_BYTES_MAX: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn texts(bytes: Vec<u8>) -> Result<Vec<(String, String)>, Error> {
        let part = |part: Result<Part, Error>| {
            let Part { name, bytes } = part?;
            let text = String::from_utf8(read_all(&name, bytes)?).unwrap();
            Ok((name, text))
        };
        unpack(bytes.into())?.map(part).collect()
    }

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.add_directory("inner", SimpleFileOptions::default()).unwrap();
        for (name, bytes) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn every_file_of_an_archive_is_a_document_and_other_bodies_are_one() {
        assert_eq!(texts(b"<a> <b> <c> .".to_vec()).unwrap(), [(WHOLE.to_owned(), "<a> <b> <c> .".to_owned())]);
        assert_eq!(texts(Vec::new()).unwrap().len(), 1);
        let files = texts(archive(&[("a.ttl", b"one"), ("inner/b.ttl", b"two")])).unwrap();
        assert_eq!(files, [("a.ttl", "one"), ("inner/b.ttl", "two")].map(|(name, text)| (name.into(), text.into())));
    }

    #[test]
    fn what_is_damaged_or_grows_too_large_is_an_error() {
        let whole = archive(&[("a.ttl", &[b'#'; 10_000])]);
        assert!(matches!(texts(whole[..whole.len() / 2].to_vec()), Err(Error::Input { .. })));
        assert!(matches!(texts(b"\x1f\x8b\x08\0\0\0\0\0\0\0no".to_vec()), Err(Error::Input { .. })));
        let bomb = archive(&[("a.ttl", &vec![b'#'; 20 << 20])]);
        let error = texts(bomb).expect_err("it is too large").to_string();
        assert!(error.contains("too large") && error.contains("rdf load"), "{error}");
    }
}
