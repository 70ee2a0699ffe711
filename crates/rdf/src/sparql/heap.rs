//! How much memory terms, and rows of them, hold on the heap.
//!
//! Invariant: it is what was allocated, to the byte, where no text has spare room. That holds for terms that the store gives, for those of an
//! evaluation's table, and for copies of terms: so for all rows that an evaluation returns.

use oxrdf::{BlankNode, NamedOrBlankNode, Term, Triple};
use sparesults::QuerySolution;

/// See the module.
pub(super) trait HeapBytes {
    /// Bytes on the heap that it alone holds.
    fn heap_bytes(&self) -> usize;
}

impl HeapBytes for Term {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::NamedNode(node) => node.as_str().len(),
            Self::BlankNode(node) => node.heap_bytes(),
            Self::Literal(literal) => {
                let beside = match literal.language() {
                    Some(language) => language.len(),
                    None if literal.datatype() == oxrdf::vocab::xsd::STRING => 0,
                    None => literal.datatype().as_str().len(),
                };
                literal.value().len() + beside
            }
            Self::Triple(triple) => size_of::<Triple>() + triple.heap_bytes(),
        }
    }
}

impl HeapBytes for BlankNode {
    fn heap_bytes(&self) -> usize {
        // A label that is a number in hexadecimal digits is held as that number.
        match self.as_ref().unique_id() {
            Some(_) => 0,
            None => self.as_str().len(),
        }
    }
}

impl HeapBytes for Triple {
    fn heap_bytes(&self) -> usize {
        let subject = match &self.subject {
            NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
            NamedOrBlankNode::BlankNode(node) => node.heap_bytes(),
        };
        subject + self.predicate.as_str().len() + self.object.heap_bytes()
    }
}

impl HeapBytes for QuerySolution {
    fn heap_bytes(&self) -> usize {
        let terms: usize = self.values().iter().flatten().map(Term::heap_bytes).sum();
        size_of_val(self.values()) + terms
    }
}
