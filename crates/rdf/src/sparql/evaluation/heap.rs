//! How much memory terms, and rows of them, hold on the heap.
//!
//! Invariant: it is what was allocated, to the byte, where no text has spare room. That holds for terms that the store
//! gives, for those of an evaluation's table, and for copies of terms: so for all rows that an evaluation returns.

use oxrdf::{BlankNode, NamedOrBlankNode, Term, Triple};
use sparesults::QuerySolution;

/// See the module.
pub(crate) trait HeapBytes {
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

#[cfg(test)]
mod tests {
    use oxrdf::vocab::rdf;
    use oxrdf::{BaseDirection, GraphName, Literal, NamedNode, Quad};

    use super::*;
    use crate::{IdPattern, Quads, Store, StoreOptions};

    /// What was allocated for a term, by the room that its texts have.
    fn allocated_bytes(term: Term) -> usize {
        match term {
            Term::NamedNode(node) => node.into_string().capacity(),
            Term::BlankNode(node) if node.as_ref().unique_id().is_some() => 0,
            Term::BlankNode(node) => node.into_string().capacity(),
            Term::Literal(literal) => {
                let (value, datatype, language, _) = literal.destruct();
                let datatype = datatype.map_or(0, |datatype| datatype.into_string().capacity());
                value.capacity() + datatype + language.map_or(0, |language| language.capacity())
            }
            Term::Triple(triple) => {
                let Triple { subject, predicate, object } = *triple;
                let parts = allocated_bytes(subject.into()) + allocated_bytes(predicate.into());
                size_of::<Triple>() + parts + allocated_bytes(object)
            }
        }
    }

    fn terms() -> Vec<Term> {
        let node = |name: &str| NamedNode::new_unchecked(format!("http://example.org/{name}"));
        let long = "a text that no number has room for";
        let triple = Triple::new(BlankNode::new_unchecked("label"), node("p"), Literal::new_simple_literal(long));
        vec![
            node("an-iri").into(),
            BlankNode::new_unchecked("label").into(),
            BlankNode::default().into(),
            Literal::new_simple_literal("short").into(),
            Literal::new_simple_literal(long).into(),
            Literal::new_language_tagged_literal_unchecked("short", "fr").into(),
            Literal::new_language_tagged_literal_unchecked(long, "en-gb").into(),
            Literal::new_directional_language_tagged_literal_unchecked(long, "ar", BaseDirection::Rtl).into(),
            Literal::from(true).into(),
            Literal::from(-17).into(),
            Literal::from(2.5).into(),
            Literal::new_typed_literal("2020-02-03T04:05:06Z", oxrdf::vocab::xsd::DATE_TIME).into(),
            Literal::new_typed_literal("017", oxrdf::vocab::xsd::INTEGER).into(),
            Literal::new_typed_literal(long, node("type")).into(),
            Literal::new_typed_literal("<b/>", rdf::XML_LITERAL).into(),
            Term::Triple(Triple::new(node("s"), node("p"), Term::Triple(triple.into())).into()),
        ]
    }

    #[test]
    fn terms_that_the_store_gives_and_their_copies_hold_what_is_told_of_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a store");
        let predicate = NamedNode::new_unchecked("http://example.org/p");
        let quad = |term| Quad::new(predicate.clone(), predicate.clone(), term, GraphName::DefaultGraph);
        let insert =
            |txn: &mut crate::Transaction| terms().into_iter().try_for_each(|term| txn.insert(&quad(term)).map(drop));
        store.update(insert).expect("inserted");
        let snapshot = store.snapshot().expect("a snapshot");
        let mut count = 0;
        for quad in snapshot.quads(&IdPattern::ALL) {
            let term = snapshot.term(quad.expect("a quad").object).expect("a term");
            let (told, copied) = (term.heap_bytes(), term.clone());
            assert_eq!(copied.heap_bytes(), told, "{term}");
            assert_eq!(allocated_bytes(copied), told, "a copy of {term}");
            assert_eq!(allocated_bytes(term.clone()), told);
            let text = term.to_string();
            assert_eq!(allocated_bytes(term), told, "{text}");
            count += 1;
        }
        assert_eq!(count, terms().len());
    }
}
