//! Inputs as streams of plain bytes: opened, their compression told by their first bytes, what is read of them counted.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use oxrdf::GraphName;
use oxrdfio::{JsonLdProfileSet, RdfFormat};

use super::xz::{XzStreams, begins_with_stream};
use super::zstd::{ZstdFrames, begins_with_frame};
use crate::error::{Error, Result};
use crate::load::options::{LoadInput, Source};

/// What is known of an input besides its bytes.
pub struct Document {
    /// Its place among the inputs: blank nodes of different documents are different.
    pub number: u32,
    pub name: String,
    pub format: RdfFormat,
    pub graph: GraphName,
    pub base: Option<String>,
    /// Whether its bytes are compressed, which is known when it is open. Most damage is found at the end only.
    pub is_packed: bool,
}

/// An input that is open.
pub struct Opened {
    pub document: Arc<Document>,
    pub bytes: Box<dyn Read + Send>,
}

/// Bytes of all inputs, as they lie on the disk.
#[derive(Default)]
pub struct BytesRead {
    read: AtomicU64,
    total: AtomicU64,
}

impl BytesRead {
    // Relaxed: the numbers are for people to look at.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}

/// Looks at all inputs before anything is done: whether the files are there, and what they hold.
///
/// # Errors
/// [`Error::Input`]; [`Error::Invalid`] if the format of one is not known.
pub fn describe(inputs: Vec<LoadInput>, bytes_read: &BytesRead) -> Result<Vec<(Document, Source)>> {
    let mut described = Vec::new();
    for (number, input) in inputs.into_iter().enumerate() {
        let LoadInput { name, source, format, graph, base } = input;
        let format = match (&source, format) {
            (_, Some(format)) => format,
            (Source::File(path), None) => format_of(path)?,
            (Source::Reader(_), None) => return Err(unknown_format(&name)),
        };
        if let Source::File(path) = &source {
            let metadata = path.metadata().map_err(|source| Error::Input { input: name.clone(), source })?;
            bytes_read.total.fetch_add(metadata.len(), Ordering::Relaxed);
        }
        described.push((Document { number: number as u32, name, format, graph, base, is_packed: false }, source));
    }
    Ok(described)
}

/// # Errors
/// [`Error::Input`].
pub fn open(mut document: Document, source: Source, bytes_read: &Arc<BytesRead>) -> Result<Opened> {
    let failed = |source| Error::Input { input: document.name.clone(), source };
    let (raw, is_named_packed): (Box<dyn Read + Send>, bool) = match source {
        Source::File(path) => {
            let (_, is_packed) = plain_name(&path);
            (Box::new(File::open(path).map_err(failed)?), is_packed)
        }
        Source::Reader(reader) => (reader, false),
    };
    let counting = Counting { inner: raw, bytes_read: Arc::clone(bytes_read) };
    let (bytes, is_packed) = decompressed(counting, is_named_packed).map_err(failed)?;
    document.is_packed = is_packed;
    Ok(Opened { document: Arc::new(document), bytes })
}

/// The format of a file by its name, without the extension of a compression.
fn format_of(path: &Path) -> Result<RdfFormat> {
    if path.is_dir() {
        return Err(Error::Invalid { message: format!("{}: it is a directory; name the files in it", path.display()) });
    }
    let (name, _) = plain_name(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        Some("jsonld" | "json") => Ok(RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() }),
        Some("owl" | "rdfs") => Ok(RdfFormat::RdfXml),
        Some(extension) => {
            RdfFormat::from_extension(extension).ok_or_else(|| unknown_format(&path.display().to_string()))
        }
        None => Err(unknown_format(&path.display().to_string())),
    }
}

/// The name of a file without the ending of a compression, and whether it has one.
fn plain_name(path: &Path) -> (String, bool) {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    match ENDINGS_OF_COMPRESSION.iter().find_map(|ending| name.strip_suffix(ending)) {
        Some(plain) => (plain.to_owned(), true),
        None => (name, false),
    }
}

fn unknown_format(name: &str) -> Error {
    let message = format!(
        "{name}: its format is not known by its name; name it .nt, .nq, .ttl, .trig, .rdf or .jsonld (and .gz, .bz2, .xz, .zst), or say \
         what it is"
    );
    Error::Invalid { message }
}

struct Counting<R> {
    inner: R,
    bytes_read: Arc<BytesRead>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes_read.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Decompresses what is compressed by gzip, bzip2, xz or zstd: its first bytes show that. Other bytes stay as they are.
///
/// # Errors
/// Errors of reading the first bytes.
pub fn decompress(raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    decompressed(raw, false).map(|(bytes, _)| bytes)
}

/// As [`decompress`]. Also returns whether the bytes are compressed.
///
/// `is_named_packed`: whether a name says that they are compressed. Then they must not end before their kind is known.
fn decompressed(
    mut raw: impl Read + Send + 'static,
    is_named_packed: bool,
) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let mut first = [0; 6];
    let mut length = 0;
    while length < first.len() {
        match raw.read(&mut first[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if is_named_packed && BEGINNINGS.iter().any(|beginning| is_cut_off(&first[..length], beginning)) {
        let message = format!("it ends after {length} bytes; its name says that it is packed, so it was cut off");
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
    }
    let whole = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(first).take(length as u64).chain(raw));
    let unpacked: Box<dyn Read + Send> = match &first[..length] {
        [0x1f, 0x8b, ..] => Box::new(Unpacked(MultiGzDecoder::new(whole))),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Box::new(Unpacked(MultiBzDecoder::new(whole))),
        first if begins_with_stream(first) => Box::new(XzStreams::new(whole)),
        first if begins_with_frame(first) => Box::new(Unpacked(ZstdFrames::new(whole))),
        _ => return Ok((Box::new(whole), false)),
    };
    Ok((unpacked, true))
}

/// Reads what is packed, and says in the error if it ends too early. (An xz file says where.)
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::new(
                error.kind(),
                "its compressed data ends too early: it was cut off, or other bytes follow it",
            ),
            _ => error,
        })
    }
}

/// Whether these bytes are all of a file, and fewer than it has to begin with.
fn is_cut_off(all: &[u8], beginning: &[u8]) -> bool {
    all.len() < beginning.len() && beginning.starts_with(all)
}

/// How packed files begin: gzip, bzip2, xz, and a frame of zstd.
const BEGINNINGS: [&[u8]; 4] =
    [&[0x1f, 0x8b, 8], b"BZh9", &[0xfd, b'7', b'z', b'X', b'Z', 0], &[0x28, 0xb5, 0x2f, 0xfd]];

const ENDINGS_OF_COMPRESSION: [&str; 5] = [".gz", ".bz2", ".xz", ".zst", ".zstd"];
const BUFFER_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read_all(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        decompressed(io::Cursor::new(bytes), false)?.0.read_to_string(&mut text)?;
        Ok(text)
    }

    /// As [`read_all`], of a file whose name says that it is packed.
    fn read_packed(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        decompressed(io::Cursor::new(bytes.to_vec()), true)?.0.read_to_string(&mut text)?;
        Ok(text)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("it is written to memory");
        encoder.finish().expect("it is written to memory")
    }

    fn bzip2(text: &str) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("it is written to memory");
        encoder.finish().expect("it is written to memory")
    }

    fn xz(text: &str) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).expect("the options are sound");
        writer.write_all(text.as_bytes()).expect("it is written to memory");
        writer.finish().expect("it is written to memory")
    }

    fn zstd(text: &str) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn compression_is_told_by_the_first_bytes_and_members_follow_each_other() {
        let long = "a line that is repeated\n".repeat(20_000);
        for compress in [gzip, bzip2, xz, zstd] {
            for text in ["", "short", &long] {
                assert_eq!(read_all(compress(text)).ok().as_deref(), Some(text));
            }
            let several = [compress("one "), compress(""), compress("two")].concat();
            assert_eq!(read_all(several).ok().as_deref(), Some("one two"));
            let mut cut = compress(&long);
            cut.truncate(cut.len() - 5);
            let error = read_all(cut).expect_err("it is cut off").to_string();
            assert!(error.contains("ends too early") || error.contains("cut off"), "{error}");
        }
        for text in ["", "a", "plain text", "BZh", "\u{fd}7zXZ"] {
            assert_eq!(read_all(text.into()).ok().as_deref(), Some(text));
        }
    }

    #[test]
    fn a_packed_file_that_is_cut_off_anywhere_or_has_more_behind_it_is_an_error() {
        let long: String = (0..3_000_u32).map(|number| format!("{} {}\n", number * number, number % 7)).collect();
        for (kind, compress) in [("gz", gzip as fn(&str) -> Vec<u8>), ("bz2", bzip2), ("xz", xz), ("zst", zstd)] {
            let whole = compress(&long);
            assert_eq!(read_packed(&whole).ok().as_deref(), Some(&*long), "{kind}");
            for length in (0..40).chain((40..whole.len()).step_by(101)).chain(whole.len() - 40..whole.len()) {
                let error = read_packed(&whole[..length]).expect_err(kind).to_string();
                assert!(!error.contains("Error"), "{kind}: {length} of {} bytes: {error}", whole.len());
            }
            let two = [&whole[..], &compress("more")].concat();
            assert_eq!(read_packed(&two).ok(), Some(format!("{long}more")), "{kind}");
            for length in whole.len() + 1..two.len() {
                assert!(read_packed(&two[..length]).is_err(), "{kind}: {length} of {} bytes", two.len());
            }
            for behind in [&b"rubbish"[..], b"x", b"\n", b"\0", &[0; 7], b"\x1f\x8b", b"BZ", b"\xfd7", b"\x28\xb5"] {
                assert!(read_packed(&[&whole[..], behind].concat()).is_err(), "{kind}, and {behind:?}");
            }
        }
        // The name does not make a text a packed one.
        assert_eq!(read_packed(b"plain text").ok().as_deref(), Some("plain text"));
    }

    #[test]
    fn skippable_frames_of_zstd_are_passed_over() {
        let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"xyz"].concat();
        let several = [&skippable[..], &zstd("one"), &skippable, &skippable, &zstd(" two"), &skippable].concat();
        assert_eq!(read_all(several).ok().as_deref(), Some("one two"));
        assert_eq!(read_all(skippable.clone()).ok().as_deref(), Some(""));
        assert!(read_all(skippable[..9].to_vec()).is_err());
        assert!(read_all([&zstd("one")[..], b"rubbish"].concat()).is_err());
    }

    #[test]
    fn formats_are_told_by_names() {
        let format = |name: &str| format_of(Path::new(name)).ok();
        assert_eq!(format("a/B.NT.gz"), Some(RdfFormat::NTriples));
        assert_eq!(format("a.nq"), Some(RdfFormat::NQuads));
        assert_eq!(format("a.ttl.zst"), Some(RdfFormat::Turtle));
        assert_eq!(format("a.trig.bz2"), Some(RdfFormat::TriG));
        assert_eq!(format("a.NT.xz"), Some(RdfFormat::NTriples));
        assert_eq!(format("a.owl"), Some(RdfFormat::RdfXml));
        assert!(matches!(format("a.jsonld"), Some(RdfFormat::JsonLd { .. })));
        assert_eq!((format("a.gz"), format("a"), format("a.csv")), (None, None, None));
        let directory = format_of(Path::new("src")).map_err(|error| error.to_string());
        assert_eq!(directory, Err("src: it is a directory; name the files in it".to_owned()));
    }
}
