//! Counts the statements of a JSON-LD document that its parser drops because an IRI, the label of a blank node or a
//! language tag in them is not valid.
//!
//! The specification demands that they are dropped, and the parser reports nothing of it. So a second parser, which
//! checks no terms, reads the same bytes on a thread of its own, and what it finds is checked here. A key without a
//! colon is one that no context maps: it makes no statement.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use oxiri::Iri;
use oxrdf::{BlankNode, GraphName, Literal, NamedOrBlankNode, Quad, Term};
use oxrdfio::ReaderQuadParser;

/// Reads what `inner` reads, and sends it to the second parser too.
pub struct Copied<R> {
    inner: R,
    /// `None` once the second parser has ended.
    copies: Option<SyncSender<Vec<u8>>>,
}

/// The bytes that the first parser has read.
pub struct Copies {
    received: Receiver<Vec<u8>>,
    ready: Vec<u8>,
    read: usize,
    is_at_end: bool,
}

/// Statements that are not valid.
#[derive(Clone, Debug, Default)]
pub struct Invalid {
    /// How many there are.
    pub statements: u64,
    /// What is wrong with the first few.
    pub first: Vec<String>,
}

impl Invalid {
    /// What is wrong, in one line; `None` if nothing is.
    pub fn message(&self) -> Option<String> {
        let first = self.first.first()?;
        Some(match self.statements {
            0 | 1 => first.clone(),
            count => format!("{first}; {count} statements are not valid"),
        })
    }
}

/// The second parser, on its thread.
pub struct Counting {
    thread: JoinHandle<Invalid>,
    /// An empty chunk is the end.
    copies: SyncSender<Vec<u8>>,
}

impl<R: Read> Read for Copied<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(out)?;
        if length > 0 {
            self.copies.take_if(|copies| copies.send(out[..length].to_vec()).is_err());
        }
        Ok(length)
    }
}

impl Read for Copies {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.ready.len() && !self.is_at_end {
            // Without a sender the first parser is gone, and nobody waits for the count.
            (self.ready, self.read) = (self.received.recv().unwrap_or_default(), 0);
            self.is_at_end = self.ready.is_empty();
        }
        let length = out.len().min(self.ready.len() - self.read);
        out[..length].copy_from_slice(&self.ready[self.read..self.read + length]);
        self.read += length;
        Ok(length)
    }
}

impl Counting {
    /// Begins to count the invalid statements of `inner`, which the first parser reads through what is returned beside.
    /// `parser` makes the second one.
    ///
    /// # Errors
    /// If the system has no thread.
    pub fn begin<R: Read>(
        inner: R,
        parser: impl FnOnce(Copies) -> ReaderQuadParser<Copies>,
    ) -> io::Result<(Self, Copied<R>)> {
        let (copies, received) = sync_channel(CHUNKS_WAITING);
        let parser = parser(Copies { received, ready: Vec::new(), read: 0, is_at_end: false });
        let thread = Builder::new().spawn(move || count(parser))?;
        let copied = Copied { inner, copies: Some(copies.clone()) };
        Ok((Self { thread, copies }, copied))
    }

    /// What was counted; `None` if the second parser has failed. Requires: the first parser has read all that it reads.
    pub fn end(self) -> Option<Invalid> {
        // The thread may have ended already.
        let _ = self.copies.send(Vec::new());
        self.thread.join().ok()
    }
}

fn count(parser: ReaderQuadParser<Copies>) -> Invalid {
    let mut found = Invalid::default();
    // At an error the first parser ends as well, and reports it.
    for fault in parser.map_while(Result::ok).filter_map(|quad| fault(&quad)) {
        found.statements += 1;
        if found.first.len() < FAULTS_REMEMBERED {
            found.first.push(fault);
        }
    }
    found
}

/// What is not valid in a statement.
fn fault(quad: &Quad) -> Option<String> {
    if !quad.predicate.as_str().contains(':') {
        return None;
    }
    let node = match &quad.subject {
        NamedOrBlankNode::NamedNode(node) => iri_fault(node.as_str()),
        NamedOrBlankNode::BlankNode(node) => label_fault(node.as_str()),
    };
    let graph = || match &quad.graph_name {
        GraphName::NamedNode(node) => iri_fault(node.as_str()),
        GraphName::BlankNode(node) => label_fault(node.as_str()),
        GraphName::DefaultGraph => None,
    };
    let object = || match &quad.object {
        Term::NamedNode(node) => iri_fault(node.as_str()),
        Term::BlankNode(node) => label_fault(node.as_str()),
        Term::Literal(literal) => match literal.language() {
            Some(tag) => tag_fault(tag),
            None => iri_fault(literal.datatype().as_str()),
        },
        Term::Triple(_) => None,
    };
    node.or_else(|| predicate_fault(quad.predicate.as_str())).or_else(object).or_else(graph)
}

fn predicate_fault(predicate: &str) -> Option<String> {
    if predicate.starts_with("_:") {
        return Some(format!("`{predicate}` is a blank node, which cannot be a predicate"));
    }
    iri_fault(predicate)
}

fn iri_fault(iri: &str) -> Option<String> {
    let error = Iri::parse(iri).err()?;
    Some(format!("`{iri}` is not a valid IRI ({error})"))
}

fn label_fault(label: &str) -> Option<String> {
    BlankNode::new(label).err().map(|_| format!("`_:{label}` is not a valid label of a blank node"))
}

fn tag_fault(tag: &str) -> Option<String> {
    Literal::new_language_tagged_literal("", tag).err().map(|_| format!("`{tag}` is not a valid language tag"))
}

/// Chunks that the first parser may be ahead of the second.
const CHUNKS_WAITING: usize = 16;

/// As many as a report names at most.
pub const FAULTS_REMEMBERED: usize = 10;
