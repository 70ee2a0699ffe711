//! Parsing: pieces of work become batches.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use memchr::memchr;
use oxrdf::Quad;
use oxrdfio::RdfFormat;

use super::batch::Batch;
use super::feeder::{Feeder, Work};
use super::prefixes::SharedPrefixes;
use super::progress::LoadMonitor;
use crate::error::{Error, Result};
use crate::load::formats::input::Document;
use crate::load::formats::json_invalid::FAULTS_REMEMBERED;
use crate::load::formats::json_invalid::Invalid;
use crate::load::formats::lines::PlainLines;
use crate::load::formats::quad_parser::{InvalidStatements, ParseFailure, QuadParser, parser_of};
use crate::load::formats::triple_nesting;
use crate::load::options::{BadStatement, DocumentLoader};
use crate::tables::TermHasher;

/// What all threads that parse share.
pub struct Parsing<'p> {
    pub feeder: &'p Feeder,
    pub watch: &'p LoadMonitor,
    pub hasher: TermHasher,
    pub lenient: bool,
    pub document_loader: Option<&'p DocumentLoader>,
    /// A batch that takes so much is handed on.
    pub batch_bytes: usize,
    pub bad: &'p BadStatements,
    pub prefixes: &'p SharedPrefixes,
}

/// Statements that were passed over.
#[derive(Default)]
pub struct BadStatements {
    count: AtomicU64,
    first: Mutex<Vec<BadStatement>>,
    /// Statements that were dropped because they need a base, which is no error.
    without_base: AtomicU64,
}

impl BadStatements {
    fn add(&self, bad: BadStatement) {
        // Relaxed: read when the threads have ended.
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.len() < FAULTS_REMEMBERED {
            first.push(bad);
        }
    }

    /// Statements of JSON-LD that are not valid, which its parser has dropped.
    fn add_invalid(&self, document: &Document, invalid: Invalid) {
        self.count.fetch_add(invalid.statements, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        for message in invalid.first.into_iter().take(FAULTS_REMEMBERED - first.len()) {
            let input = document.name.clone();
            first.push(BadStatement { input, line: 0, column: 0, message, needs_base: false });
        }
    }

    /// Statements that were dropped because they need a base.
    pub fn without_base(&self) -> u64 {
        self.without_base.load(Ordering::Relaxed)
    }

    /// How many, and the first few.
    pub fn take(self) -> (u64, Vec<BadStatement>) {
        let mut first = self.first.into_inner().unwrap_or_else(PoisonError::into_inner);
        first.sort_by(|left, right| {
            (&left.input, left.line, left.column).cmp(&(&right.input, right.line, right.column))
        });
        (self.count.into_inner(), first)
    }
}

impl Parsing<'_> {
    /// Parses until there is no more work, on one thread; others do the same. Each batch goes to `hand_on`.
    ///
    /// # Errors
    /// [`Error::Syntax`], [`Error::Input`], [`Error::Cancelled`]; those of `hand_on`.
    pub fn run(&self, mut hand_on: impl FnMut(Batch) -> Result<()>) -> Result<()> {
        let mut worker = Worker { parsing: self, batch: Batch::new(self.hasher), hand_on: &mut hand_on };
        while let Some(work) = self.feeder.next()? {
            match work {
                Work::Lines { document, mut bytes, lines_before } => {
                    for line in triple_nesting::blank_out_deep_lines(&mut bytes, self.lenient) {
                        let (input, line) = (document.name.clone(), lines_before + line + 1);
                        worker.pass_over(BadStatement {
                            input,
                            line,
                            column: 1,
                            message: triple_nesting::message(),
                            needs_base: false,
                        })?;
                    }
                    worker.take_lines(&document, &bytes, lines_before)?;
                }
                Work::Whole(opened) => {
                    let (document, parser) = (&opened.document, parser_of(&opened.document)?);
                    let mut parser = QuadParser::new(
                        document,
                        parser,
                        opened.bytes,
                        self.document_loader,
                        self.lenient,
                        InvalidStatements::Counted,
                    )?;
                    let number = opened.document.number;
                    if let Some(first) = parser.next() {
                        // Some forms forget at the end what was declared around all of it.
                        self.prefixes.note(number, parser.prefixes());
                        worker.take_all(&opened.document, 0, std::iter::once(first).chain(&mut parser))?;
                        self.prefixes.note(number, parser.prefixes());
                    }
                    self.bad.without_base.fetch_add(parser.dropped(), Ordering::Relaxed);
                    self.bad.add_invalid(&opened.document, parser.invalid());
                }
            }
        }
        let Worker { batch, hand_on, .. } = worker;
        if batch.quads.is_empty() { Ok(()) } else { hand_on(batch) }
    }
}

/// One thread's part.
struct Worker<'w, F> {
    parsing: &'w Parsing<'w>,
    batch: Batch,
    hand_on: &'w mut F,
}

impl<F: FnMut(Batch) -> Result<()>> Worker<'_, F> {
    fn take_all(
        &mut self,
        document: &Document,
        lines_before: u64,
        quads: impl Iterator<Item = Result<Quad, ParseFailure>>,
    ) -> Result<()> {
        let mut counted = 0;
        for quad in quads {
            match quad {
                Ok(quad) => {
                    self.take(document, quad)?;
                    counted += 1;
                    if counted % QUADS_PER_LOOK == 0 {
                        self.parsing.watch.parsed(QUADS_PER_LOOK)?;
                    }
                }
                Err(ParseFailure::Read(source)) => return Err(input_error(document, source)),
                Err(failure @ ParseFailure::TooLarge { .. }) => return Err(failure_error(document, failure)),
                Err(ParseFailure::Malformed { line, column, message, needs_base }) => {
                    // Lines are counted from the beginning of the block.
                    let line = if line == 0 { 0 } else { line + lines_before };
                    let mut bad = BadStatement { input: document.name.clone(), line, column, message, needs_base };
                    let goes_on = goes_on_after_errors(document.format);
                    if self.parsing.lenient && !goes_on {
                        bad.message.push_str(REST_PASSED_OVER);
                    }
                    // A lenient load reads on to the end.
                    if !self.parsing.lenient && document.is_packed && !needs_base {
                        bad.message.push_str(MAY_BE_DAMAGED);
                    }
                    self.pass_over(bad)?;
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        self.parsing.watch.parsed(counted % QUADS_PER_LOOK)
    }

    /// Takes lines: plain ones by themselves, and the others through the parser, as many together as follow each other.
    fn take_lines(&mut self, document: &Document, bytes: &[u8], lines_before: u64) -> Result<()> {
        let parse = |worker: &mut Self, bytes: &[u8], lines_before: u64| {
            let parser = parser_of(document)?.for_slice(bytes);
            worker.take_all(document, lines_before, parser.map(|quad| quad.map_err(ParseFailure::from)))
        };
        // Bytes that are no text are for the parser to complain of.
        let Ok(text) = std::str::from_utf8(bytes) else { return parse(self, bytes, lines_before) };
        let mut plain = PlainLines::new(&document.graph, document.format == RdfFormat::NQuads);
        let (mut counted, mut begin, mut odd_from, mut line_number) = (0, 0, None, lines_before);
        while begin < text.len() {
            let end = memchr(b'\n', &bytes[begin..]).map_or(text.len(), |end| begin + end);
            let is_plain = plain.take(&text[begin..end], &mut self.batch)?;
            match odd_from {
                Some((from, lines)) if is_plain => {
                    parse(self, &bytes[from..begin], lines)?;
                    plain.begin_batch();
                    odd_from = None;
                }
                None if !is_plain => odd_from = Some((begin, line_number)),
                _ => {}
            }
            if is_plain {
                counted += 1;
                if self.hand_on_if_full()? {
                    plain.begin_batch();
                }
            }
            (begin, line_number) = (end + 1, line_number + 1);
        }
        self.parsing.watch.parsed(counted)?;
        match odd_from {
            Some((from, lines)) => parse(self, &bytes[from..], lines),
            None => Ok(()),
        }
    }

    fn take(&mut self, document: &Document, quad: Quad) -> Result<()> {
        match self.batch.push(document.number, &quad, &document.graph) {
            Ok(()) => {}
            Err(error @ Error::TooDeep { .. }) => {
                // Dropping it would go as deep as it is nested.
                std::mem::forget(quad);
                let (input, message) = (document.name.clone(), error.to_string());
                self.pass_over(BadStatement { input, line: 0, column: 0, message, needs_base: false })?;
            }
            Err(error) => return Err(error),
        }
        self.hand_on_if_full().map(|_| ())
    }

    /// Returns whether the batch is a new one now.
    fn hand_on_if_full(&mut self) -> Result<bool> {
        let is_full = self.batch.memory_bytes() >= self.parsing.batch_bytes;
        if is_full {
            let full = std::mem::replace(&mut self.batch, Batch::new(self.parsing.hasher));
            (self.hand_on)(full)?;
        }
        Ok(is_full)
    }

    fn pass_over(&self, bad: BadStatement) -> Result<()> {
        if self.parsing.lenient {
            self.parsing.bad.add(bad);
            return self.parsing.watch.parsed(0);
        }
        let BadStatement { input, line, column, message, needs_base } = bad;
        Err(Error::Syntax { input, line, column, message, needs_base })
    }
}

/// Whether the parser finds the next statement after one that is wrong.
fn goes_on_after_errors(format: RdfFormat) -> bool {
    matches!(format, RdfFormat::NTriples | RdfFormat::NQuads | RdfFormat::Turtle | RdfFormat::TriG | RdfFormat::N3)
}

/// What ends a document.
pub fn failure_error(document: &Document, failure: ParseFailure) -> Error {
    let input = document.name.clone();
    match failure {
        ParseFailure::Read(source) => Error::Input { input, source },
        ParseFailure::Malformed { line, column, message, needs_base } => {
            Error::Syntax { input, line, column, message, needs_base }
        }
        ParseFailure::TooLarge { line, column, message } => {
            Error::Syntax { input, line, column, message, needs_base: false }
        }
    }
}

fn input_error(document: &Document, source: io::Error) -> Error {
    Error::Input { input: document.name.clone(), source }
}

/// After this many quads a thread reports its progress, and checks whether to go on.
const QUADS_PER_LOOK: u64 = 1 << 12;
/// Behind what is wrong with a compressed document: damage may have changed its text.
const MAY_BE_DAMAGED: &str = "; the input is compressed: if its text should be valid, test the file for damage";
/// Behind what is wrong with a document in which the next statement cannot be found.
const REST_PASSED_OVER: &str = "; all that follows in this document was passed over";
