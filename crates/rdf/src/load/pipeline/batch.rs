//! A batch: parsed quads, and the terms of theirs that are not numbers by themselves, each once.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use oxrdf::{BlankNodeRef, GraphName, LiteralRef, NamedNodeRef, NamedOrBlankNode, Quad, Term, TermRef, Triple};

use crate::dictionary::{NAMESPACES_MAX, bytes, split_namespace};
use crate::error::Result;
use crate::model::id::{Tag, TermId};
use crate::tables::{HashedAlready, TermHasher};

/// A place of a quad in a batch: a number, or the index of one of the batch's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u64);

impl Slot {
    pub fn of_id(id: TermId) -> Self {
        Self(id.to_bits())
    }

    fn of_index(index: u32) -> Self {
        Self(LOCAL | u64::from(index))
    }

    fn index(self) -> Option<u32> {
        (self.0 & LOCAL == LOCAL).then_some(self.0 as u32)
    }

    /// The number, where `ids` has those of the batch's terms.
    #[inline]
    pub fn resolve(self, ids: &[TermId]) -> Option<TermId> {
        match self.index() {
            Some(index) => ids.get(index as usize).copied(),
            None => TermId::from_bits(self.0),
        }
    }

    pub fn to_bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// Quads and their terms.
pub struct Batch {
    hasher: TermHasher,
    /// Subject, predicate, object, graph.
    pub quads: Vec<[Slot; 4]>,
    pub terms: LocalTerms,
    /// The number of terms of each namespace.
    pub namespaces: HashMap<Box<str>, u32>,
    /// Triple terms with blank nodes in them, and these, from left to right: their bytes are not yet those that are
    /// stored.
    pub scoped: Vec<(u32, Vec<u32>)>,
    scratch: Vec<u8>,
}

/// Terms in the order in which they came.
#[derive(Default)]
pub struct LocalTerms {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    hashes: Vec<u128>,
    tags: Vec<Tag>,
    /// The last term of each hash.
    by_hash: HashMap<u128, u32, BuildHasherDefault<HashedAlready>>,
    /// The term before of the same hash.
    before: Vec<u32>,
}

impl Batch {
    pub fn new(hasher: TermHasher) -> Self {
        let (terms, namespaces) = (LocalTerms::default(), HashMap::new());
        Self { hasher, quads: Vec::new(), terms, namespaces, scoped: Vec::new(), scratch: Vec::new() }
    }

    /// Memory that it takes, about.
    pub fn memory_bytes(&self) -> usize {
        self.quads.len() * size_of::<[Slot; 4]>() + self.terms.bytes.len() + self.terms.len() * TERM_BYTES
    }

    /// Adds a quad of a document.
    ///
    /// # Errors
    /// [`crate::Error::TooDeep`]; nothing was added then but terms.
    pub fn push(&mut self, document: u32, quad: &Quad, default_graph: &GraphName) -> Result<()> {
        let subject = match &quad.subject {
            NamedOrBlankNode::NamedNode(node) => self.term(TermRef::NamedNode(node.as_ref()))?,
            NamedOrBlankNode::BlankNode(node) => self.blank(document, node.as_ref()),
        };
        let predicate = self.term(TermRef::NamedNode(quad.predicate.as_ref()))?;
        let object = match &quad.object {
            Term::BlankNode(node) => self.blank(document, node.as_ref()),
            Term::Triple(triple) => self.triple(document, triple)?,
            term => self.term(term.as_ref())?,
        };
        let (graph, scope) = match &quad.graph_name {
            GraphName::DefaultGraph => (default_graph, None),
            named => (named, Some(document)),
        };
        let graph = match (graph, scope) {
            (GraphName::DefaultGraph, _) => Slot::of_id(TermId::DEFAULT_GRAPH),
            (GraphName::NamedNode(node), _) => self.term(TermRef::NamedNode(node.as_ref()))?,
            (GraphName::BlankNode(node), Some(document)) => self.blank(document, node.as_ref()),
            (GraphName::BlankNode(node), None) => self.term(TermRef::BlankNode(node.as_ref()))?,
        };
        self.quads.push([subject, predicate, object, graph]);
        Ok(())
    }

    /// The place of an IRI.
    pub fn iri(&mut self, iri: &str) -> Slot {
        self.scratch.clear();
        bytes::encode_iri(NamedNodeRef::new_unchecked(iri), &mut self.scratch);
        self.local(Tag::IRI)
    }

    /// The place of a literal.
    ///
    /// # Errors
    /// None.
    pub fn literal(&mut self, literal: LiteralRef<'_>) -> Result<Slot> {
        self.term(TermRef::Literal(literal))
    }

    fn term(&mut self, term: TermRef<'_>) -> Result<Slot> {
        if let Some(id) = TermId::of_inline(term) {
            return Ok(Slot::of_id(id));
        }
        self.scratch.clear();
        bytes::encode(term, &mut self.scratch)?;
        Ok(self.local(bytes::tag_of(term)))
    }

    fn blank(&mut self, document: u32, node: BlankNodeRef<'_>) -> Slot {
        self.scratch.clear();
        bytes::encode_scoped(TermRef::BlankNode(node), document, &mut self.scratch)
            .expect("a blank node is not nested");
        self.local(Tag::BLANK)
    }

    fn triple(&mut self, document: u32, triple: &Triple) -> Result<Slot> {
        self.scratch.clear();
        // This finds out whether it is nested too deep, too.
        bytes::encode_scoped(TermRef::Triple(triple), document, &mut self.scratch)?;
        let terms_before = self.terms.len();
        let slot = self.local(Tag::TRIPLE);
        if self.terms.len() > terms_before {
            let mut blanks = Vec::new();
            let mut next = Some(triple);
            while let Some(triple) = next {
                if let NamedOrBlankNode::BlankNode(node) = &triple.subject {
                    blanks.extend(self.blank(document, node.as_ref()).index());
                }
                next = None;
                match &triple.object {
                    Term::BlankNode(node) => blanks.extend(self.blank(document, node.as_ref()).index()),
                    Term::Triple(inner) => next = Some(inner),
                    _ => {}
                }
            }
            if !blanks.is_empty() {
                self.scoped.push((terms_before as u32, blanks));
            }
        }
        Ok(slot)
    }

    /// The term whose bytes are in `scratch`.
    fn local(&mut self, tag: Tag) -> Slot {
        let hash = self.hasher.hash(&self.scratch);
        let (index, is_new) = self.terms.find_or_add(hash, tag, &self.scratch);
        if is_new
            && tag == Tag::IRI
            && let Some((namespace, _)) = split_namespace(&self.scratch)
        {
            // A load numbers no more than there can be in a store.
            let has_room = self.namespaces.len() < NAMESPACES_MAX;
            match self.namespaces.get_mut(namespace) {
                Some(count) => *count += 1,
                None if has_room => {
                    self.namespaces.insert(namespace.into(), 1);
                }
                None => {}
            }
        }
        Slot::of_index(index)
    }
}

impl LocalTerms {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn bytes(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    pub fn hash(&self, index: usize) -> u128 {
        self.hashes[index]
    }

    pub fn tag(&self, index: usize) -> Tag {
        self.tags[index]
    }

    fn find_or_add(&mut self, hash: u128, tag: Tag, bytes: &[u8]) -> (u32, bool) {
        let last = self.by_hash.get(&hash).copied();
        let mut next = last;
        while let Some(index) = next {
            if self.bytes(index as usize) == bytes {
                return (index, false);
            }
            next = Some(self.before[index as usize]).filter(|&before| before != NONE);
        }
        let index = self.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        self.hashes.push(hash);
        self.tags.push(tag);
        self.before.push(last.unwrap_or(NONE));
        self.by_hash.insert(hash, index);
        (index, true)
    }
}

/// The bits that distinguish an index from a number.
const LOCAL: u64 = 0xff << 56;
const NONE: u32 = u32::MAX;
/// What a term takes besides its bytes.
const TERM_BYTES: usize = 80;
