//! [`StatementSum`]: a number for a set of statements, whatever their order.

use std::hash::Hasher;

use fulgurite_rdf::oxrdf::TermRef;
use xxhash_rust::xxh3::Xxh3;

/// The hash of a term: XXH3 of its kind and its texts, each with its length.
pub fn term_hash(term: TermRef<'_>) -> u128 {
    let mut hasher = Xxh3::new();
    let mut write = |kind: u8, texts: &[&str]| {
        hasher.write_u8(kind);
        for text in texts {
            hasher.write(&(text.len() as u64).to_le_bytes());
            hasher.write(text.as_bytes());
        }
    };
    match term {
        TermRef::NamedNode(node) => write(b'I', &[node.as_str()]),
        TermRef::BlankNode(node) => write(b'B', &[node.as_str()]),
        TermRef::Literal(literal) => match literal.language() {
            Some(language) => write(b'L', &[literal.value(), language]),
            None => write(b'D', &[literal.value(), literal.datatype().as_str()]),
        },
        // Stores of RDF4J have none; they would be different texts.
        TermRef::Triple(triple) => write(b'T', &[&triple.to_string()]),
    }
    hasher.digest128()
}

/// The hash of the default graph.
pub const DEFAULT_GRAPH_HASH: u128 = 0;

/// The number of statements, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementSum {
    /// The number of statements.
    pub count: u64,
    sum: u128,
}

impl StatementSum {
    /// Adds the statement whose terms have these hashes: subject, predicate, object, graph.
    pub fn add(&mut self, hashes: [u128; 4]) {
        let mut bytes = [0; 64];
        for (place, hash) in bytes.chunks_exact_mut(16).zip(hashes) {
            place.copy_from_slice(&hash.to_le_bytes());
        }
        self.count += 1;
        self.sum = self.sum.wrapping_add(xxhash_rust::xxh3::xxh3_128(&bytes));
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{BlankNodeRef, LiteralRef, NamedNodeRef};

    use super::*;

    #[test]
    fn terms_that_differ_have_different_hashes() {
        let text = "http://a/b";
        let iri = NamedNodeRef::new_unchecked(text);
        let terms: [TermRef<'_>; 7] = [
            iri.into(),
            BlankNodeRef::new_unchecked(text).into(),
            LiteralRef::new_simple_literal(text).into(),
            LiteralRef::new_typed_literal(text, iri).into(),
            LiteralRef::new_language_tagged_literal_unchecked(text, "en").into(),
            LiteralRef::new_language_tagged_literal_unchecked("http://a/be", "n").into(),
            LiteralRef::new_simple_literal("").into(),
        ];
        let mut hashes = terms.map(term_hash).to_vec();
        hashes.push(DEFAULT_GRAPH_HASH);
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 8);
    }

    #[test]
    fn the_order_of_statements_does_not_matter_and_that_of_terms_does() {
        let of = |statements: &[[u128; 4]]| {
            let mut sum = StatementSum::default();
            statements.iter().for_each(|statement| sum.add(*statement));
            sum
        };
        assert_eq!(of(&[[1, 2, 3, 0], [3, 2, 1, 0]]), of(&[[3, 2, 1, 0], [1, 2, 3, 0]]));
        assert_ne!(of(&[[1, 2, 3, 0]]), of(&[[3, 2, 1, 0]]));
        assert_ne!(of(&[[1, 2, 3, 0], [1, 2, 3, 0]]), of(&[[1, 2, 3, 0]]));
    }
}
