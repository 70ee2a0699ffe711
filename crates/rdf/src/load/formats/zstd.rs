//! Zstandard with several frames: they follow each other, with skippable ones between them.

use std::error::Error;
use std::io::{self, Read};

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Whether a file that begins so is made of frames.
pub fn begins_with_frame(first: &[u8]) -> bool {
    first.first_chunk().is_some_and(|magic| *magic == FRAME || is_skippable(*magic))
}

/// What all frames hold, one after the other.
pub struct ZstdFrames<R: Read> {
    state: State<R>,
}

enum State<R: Read> {
    /// Before a frame, or at the end.
    Between(R),
    Within(Box<Frame<R>>),
    /// After an error.
    Failed,
}

type Frame<R> = StreamingDecoder<WithMagic<R>, FrameDecoder>;

/// A source whose first four bytes were read already. The decoder reads no further than its frame.
struct WithMagic<R> {
    magic: Option<[u8; 4]>,
    source: R,
}

impl<R: Read> Read for WithMagic<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(magic) = self.magic else { return self.source.read(buffer) };
        if buffer.len() < magic.len() {
            return Err(io::Error::other("a decoder reads the magic number of a frame at once"));
        }
        buffer[..magic.len()].copy_from_slice(&magic);
        self.magic = None;
        Ok(magic.len())
    }
}

impl<R: Read> ZstdFrames<R> {
    pub fn new(source: R) -> Self {
        Self { state: State::Between(source) }
    }

    /// Goes to the next frame that is not skipped. Returns whether there is one.
    fn begin_frame(&mut self, mut source: R) -> io::Result<bool> {
        loop {
            let mut magic = [0; 4];
            match read_up_to(&mut source, &mut magic)? {
                0 => {
                    self.state = State::Between(source);
                    return Ok(false);
                }
                4 if is_skippable(magic) => skip(&mut source)?,
                4 if magic == FRAME => {
                    let frame = StreamingDecoder::new(WithMagic { magic: Some(magic), source });
                    self.state = State::Within(Box::new(frame.map_err(|error| failure(&error))?));
                    return Ok(true);
                }
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "no frame of Zstandard follows the last")),
            }
        }
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, State::Failed) {
                State::Failed => return Err(io::Error::other("the stream has failed before")),
                State::Between(source) => {
                    if !self.begin_frame(source)? {
                        return Ok(0);
                    }
                }
                State::Within(mut frame) => {
                    let count = frame.read(buffer).map_err(|error| match error.get_ref() {
                        Some(of_decoder) => failure(of_decoder),
                        None => error,
                    })?;
                    if count > 0 {
                        self.state = State::Within(frame);
                        return Ok(count);
                    }
                    let (with_magic, decoder) = frame.into_parts();
                    check(&decoder)?;
                    self.state = State::Between(with_magic.source);
                }
            }
        }
    }
}

/// What the decoder's error says: it wraps errors of the source, and writes others as its developers read them.
fn failure(error: &(dyn Error + 'static)) -> io::Error {
    let mut cause = Some(error);
    while let Some(inner) = cause {
        if let Some(of_source) = inner.downcast_ref::<io::Error>() {
            return io::Error::new(of_source.kind(), of_source.to_string());
        }
        cause = inner.source();
    }
    match error.source() {
        Some(_) => io::Error::new(io::ErrorKind::InvalidData, "its compressed data is damaged"),
        // It wraps nothing: the window is too large, or it needs a dictionary.
        None => io::Error::other(error.to_string()),
    }
}

/// Verifies the checksum of a frame.
fn check(decoder: &FrameDecoder) -> io::Result<()> {
    match decoder.get_checksum_from_data() {
        Some(written) if Some(written) != decoder.get_calculated_checksum() => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of Zstandard has another checksum than its bytes"))
        }
        _ => Ok(()),
    }
}

fn is_skippable(magic: [u8; 4]) -> bool {
    magic[0] & 0xf0 == 0x50 && magic[1..] == [0x2a, 0x4d, 0x18]
}

fn skip(source: &mut impl Read) -> io::Result<()> {
    let mut length = [0; 4];
    source.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    let skipped = io::copy(&mut source.take(length), &mut io::sink())?;
    if skipped == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn read_up_to(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match source.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
