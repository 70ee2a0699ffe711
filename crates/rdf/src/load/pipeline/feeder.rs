//! Hands out the inputs as pieces of work: blocks of lines where lines stand for themselves, else whole documents.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::{memchr_iter, memrchr};
use oxrdfio::RdfFormat;

use crate::error::{Error, Result};
use crate::load::formats::byte_order_mark::WithoutMark;
use crate::load::formats::input::{BytesRead, Document, Opened, open};
use crate::load::options::Source;

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

    /// The next piece. The calling thread reads and decompresses it, while others parse.
    ///
    /// The first error is returned once; later calls return no work.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn next(&self) -> Result<Option<Work>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(mut lines) = state.lines.take() {
                // After an error the input is closed and the inputs behind it are not begun: another thread that asks
                // gets no work, and the first error alone is reported.
                let next = lines.next().inspect_err(|_| state.waiting.clear())?;
                if let Some(work) = next {
                    state.lines = Some(lines);
                    return Ok(Some(work));
                }
            }
            let Some((document, source)) = state.waiting.pop_front() else { return Ok(None) };
            let mut opened = open(document, source, &self.bytes_read).inspect_err(|_| state.waiting.clear())?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::GraphName;

    /// Reads a line, and then fails: once with the reason, and after that without it.
    struct Failing(u8);

    impl Read for Failing {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => {
                    out[0] = b'\n';
                    Ok(1)
                }
                2 => Err(io::Error::other("the reason")),
                _ => Err(io::Error::other("the stream has failed before")),
            }
        }
    }

    fn document(number: u32) -> Document {
        let (format, graph) = (RdfFormat::NTriples, GraphName::DefaultGraph);
        Document { number, name: format!("input {number}"), format, graph, base: None, is_packed: false }
    }

    #[test]
    fn an_input_that_fails_is_reported_once_with_its_reason() {
        let source = || Source::Reader(Box::new(Failing(0)));
        let inputs = vec![(document(0), source()), (document(1), source())];
        let feeder = Feeder::new(inputs, Arc::new(BytesRead::default()));
        let mut errors = Vec::new();
        for _ in 0..4 {
            match feeder.next() {
                Ok(work) => assert!(work.is_none() || errors.is_empty()),
                Err(error) => errors.push(error.to_string()),
            }
        }
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("input 0") && errors[0].contains("the reason"), "{errors:?}");
    }
}
