//! Hands out the inputs as pieces of work: blocks of lines where lines stand for themselves, else whole documents.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::{memchr_iter, memrchr};
use oxrdfio::RdfFormat;

use super::input::{BytesRead, Document, Opened, open};
use super::options::Source;
use super::text_mark::WithoutMark;
use crate::error::{Error, Result};

/// Something to parse.
pub enum Work {
    /// Whole lines.
    Lines {
        document: Arc<Document>,
        bytes: Vec<u8>,
        /// How many lines come before them.
        lines_before: u64,
    },
    /// A whole document.
    Whole(Opened),
}

/// Gives work to threads until there is no more.
pub struct Feeder {
    bytes_read: Arc<BytesRead>,
    state: Mutex<State>,
}

struct State {
    waiting: VecDeque<(Document, Source)>,
    /// The input that is given out in blocks of lines.
    lines: Option<Lines>,
}

struct Lines {
    opened: Opened,
    lines_before: u64,
    /// What was read behind the last whole line.
    rest: Vec<u8>,
}

impl Feeder {
    pub fn new(inputs: Vec<(Document, Source)>, bytes_read: Arc<BytesRead>) -> Self {
        Self { bytes_read, state: Mutex::new(State { waiting: inputs.into(), lines: None }) }
    }

    /// The next piece. Reading, and decompressing, is done by who asks, while others parse.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn next(&self) -> Result<Option<Work>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(lines) = &mut state.lines {
                match lines.next()? {
                    Some(work) => return Ok(Some(work)),
                    None => state.lines = None,
                }
            }
            let Some((document, source)) = state.waiting.pop_front() else { return Ok(None) };
            let mut opened = open(document, source, &self.bytes_read)?;
            if !matches!(opened.document.format, RdfFormat::NTriples | RdfFormat::NQuads) {
                return Ok(Some(Work::Whole(opened)));
            }
            opened.bytes = Box::new(WithoutMark::new(opened.bytes));
            state.lines = Some(Lines { opened, lines_before: 0, rest: Vec::new() });
        }
    }
}

impl Lines {
    fn next(&mut self) -> Result<Option<Work>> {
        let document = &self.opened.document;
        let failed = |source| Error::Input { input: document.name.clone(), source };
        let mut bytes = std::mem::take(&mut self.rest);
        let mut searched = 0;
        loop {
            let wanted = BLOCK_BYTES.saturating_sub(bytes.len()).max(BLOCK_BYTES / 4);
            bytes.reserve(wanted);
            let count = (&mut self.opened.bytes).take(wanted as u64).read_to_end(&mut bytes).map_err(failed)?;
            if count == 0 {
                break;
            }
            if let Some(end) = memrchr(b'\n', &bytes[searched..]) {
                self.rest = bytes.split_off(searched + end + 1);
                break;
            }
            searched = bytes.len();
            if searched > LINE_BYTES_MAX {
                let message = format!("line {} is longer than {LINE_BYTES_MAX} bytes", self.lines_before + 1);
                return Err(failed(io::Error::new(io::ErrorKind::InvalidData, message)));
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let lines_before = self.lines_before;
        self.lines_before += memchr_iter(b'\n', &bytes).count() as u64;
        Ok(Some(Work::Lines { document: Arc::clone(document), bytes, lines_before }))
    }
}

/// About so much is parsed at once.
const BLOCK_BYTES: usize = 1 << 20;
/// A longer line is taken for a file of another kind.
const LINE_BYTES_MAX: usize = 1 << 30;
