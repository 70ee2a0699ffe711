//! `facts write`: facts from JSON files.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Write as _};
use std::path::Path;
use std::time::Instant;

use flate2::read::MultiGzDecoder;

use super::database::changing;
use crate::arguments::facts::Write;
use crate::failure::Failure;
use crate::output::{counted, size};
use crate::progress::{rate, time};

/// Writes, and prints a line for each file.
pub fn run(arguments: &Write) -> Result<(), Failure> {
    if arguments.inputs.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        return Err(Failure::Message("standard input (-) can be read once only".into()));
    }
    // A mistyped name is found before anything is written.
    let inputs = arguments.inputs.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    changing(&arguments.database, arguments.writing, |database| {
        for (path, input) in arguments.inputs.iter().map(|path| named(path)).zip(inputs) {
            let begun = Instant::now();
            let input = unpacked(input, UNPACKED_BYTES_MAX);
            let (input, is_packed) = input.map_err(|error| Failure::file(path, "cannot be read", &error))?;
            let written = database.write_json(input, arguments.unit.as_deref());
            let written = written.map_err(|error| nothing_written(path, error, is_packed))?;
            let elapsed = begun.elapsed();
            let _ = writeln!(
                std::io::stderr(),
                "{}: {} read in {}, {} ({} new)",
                path.display(),
                counted(written.listed, "fact", "facts"),
                time(elapsed),
                rate(written.listed, elapsed),
                counted(written.new as u64, "fact", "facts"),
            );
        }
        Ok(())
    })
}

/// The name of an input in messages.
fn named(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("standard input") } else { path }
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let failed = |error| Failure::file(path, "cannot be read", &error);
    if std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(File::open(path).map_err(failed)?))
}

/// The bytes of an input that is compressed by gzip, unpacked, and those of others as they are; and whether they were
/// compressed.
fn unpacked(mut input: impl Read + 'static, bytes_max: u64) -> io::Result<(Box<dyn Read>, bool)> {
    let mut begin = Vec::new();
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut begin)?;
    let is_packed = begin == GZIP;
    let whole = Cursor::new(begin).chain(input);
    let input: Box<dyn Read> = match is_packed {
        true => Box::new(BufReader::new(Bounded { inner: MultiGzDecoder::new(whole), left: bytes_max, bytes_max })),
        false => Box::new(BufReader::new(whole)),
    };
    Ok((input, is_packed))
}

/// Bytes that are refused if there are too many.
struct Bounded<R> {
    inner: R,
    left: u64,
    bytes_max: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| {
            io::Error::other(format!("it has more than {} when it is unpacked; split it", size(self.bytes_max)))
        })?;
        Ok(count)
    }
}

/// The failure of a file. Its exit code is that of `error`.
fn nothing_written(path: &Path, error: fulgurite_facts::Error, is_packed: bool) -> Failure {
    // Damage may show as wrong JSON first: the checksum is at the end of the input.
    let may_be_damaged = match (&error, is_packed) {
        (fulgurite_facts::Error::Json { .. }, true) => {
            "; the input is compressed: if its JSON should be valid, test the file for damage"
        }
        _ => "",
    };
    let failure = Failure::from(error);
    let what = match failure {
        Failure::Engine(fulgurite::Error::Indeterminate { .. }) => "it is not known whether this file was written",
        _ => "nothing of this file was written",
    };
    let message = format!("{}: {what}: {failure}{may_be_damaged}", path.display());
    failure.reworded(message)
}

/// The first bytes of what is compressed by gzip. JSON does not begin so.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A small file cannot make the program read without an end. What is not compressed has no limit.
const UNPACKED_BYTES_MAX: u64 = 64 << 30;

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn an_input_that_is_compressed_by_gzip_is_unpacked_up_to_a_limit() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(b"[ ]").unwrap();
        let packed = packer.finish().unwrap();
        let read = |bytes: &[u8], bytes_max: u64| {
            let mut text = String::new();
            let (mut input, is_packed) = unpacked(Cursor::new(bytes.to_vec()), bytes_max)?;
            assert_eq!(is_packed, bytes == packed);
            input.read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(read(&packed, 3).unwrap(), "[ ]");
        assert!(read(&packed, 2).unwrap_err().to_string().contains("more than 2"));
        assert_eq!(read(b"[ ]", 0).unwrap(), "[ ]");
        assert_eq!(read(b"", 0).unwrap(), "");
    }

    /// Only loads of RDF said that a compressed input may be damaged.
    #[test]
    fn json_that_is_wrong_in_a_compressed_input_may_be_damaged() {
        let failure = |is_packed| {
            let error = fulgurite_facts::Error::Json { place: "line 1".into(), message: "a comma is missing".into() };
            nothing_written(Path::new("a.json.gz"), error, is_packed).to_string()
        };
        assert!(
            failure(true).ends_with("; the input is compressed: if its JSON should be valid, test the file for damage")
        );
        assert!(!failure(false).contains("compressed"));
    }
}
