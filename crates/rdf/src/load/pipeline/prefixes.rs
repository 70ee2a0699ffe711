//! The prefixes that documents declare, which become namespaces of the store where it has none of that prefix: the
//! first document that declares one decides, and within a document the first that is seen.
//!
//! They are kept in memory and read with every query, so there is a bound of how many are noted, and of how long they
//! are.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use oxrdf::NamedNode;

use crate::writing::is_turtle_prefix;

/// Prefixes and their IRIs.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    /// With the number of the document.
    declared: BTreeMap<String, (u32, String)>,
}

impl Prefixes {
    /// Notes what a document declares.
    pub fn note<'p>(&mut self, document: u32, declared: impl Iterator<Item = (&'p str, &'p str)>) {
        for (prefix, iri) in declared {
            let known = self.declared.get(prefix).map(|(first, _)| *first);
            let is_first = match known {
                Some(first) => document < first,
                None => self.declared.len() < PREFIXES_MAX,
            };
            if is_first && is_worth_noting(prefix, iri) {
                self.declared.insert(prefix.to_owned(), (document, iri.to_owned()));
            }
        }
    }

    /// Prefixes and IRIs, in the order of the prefixes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.declared.iter().map(|(prefix, (_, iri))| (prefix.as_str(), iri.as_str()))
    }
}

/// Those of documents that several threads parse.
#[derive(Default)]
pub struct SharedPrefixes(Mutex<Prefixes>);

impl SharedPrefixes {
    /// As [`Prefixes::note`].
    pub fn note<'p>(&self, document: u32, declared: impl Iterator<Item = (&'p str, &'p str)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).note(document, declared);
    }

    /// What was noted so far.
    pub fn noted(&self) -> Prefixes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether it is a prefix in every form of RDF and in SPARQL, and an IRI. In JSON-LD any word may be one.
fn is_worth_noting(prefix: &str, iri: &str) -> bool {
    let is_prefix = is_turtle_prefix(prefix) && !matches!(prefix, "xml" | "xmlns");
    is_prefix && prefix.len() <= PREFIX_BYTES_MAX && iri.len() <= IRI_BYTES_MAX && NamedNode::new(iri).is_ok()
}

/// So many are noted of the documents of one load.
const PREFIXES_MAX: usize = 1_000;
const PREFIX_BYTES_MAX: usize = 64;
const IRI_BYTES_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_document_decides_whichever_is_parsed_first() {
        let mut prefixes = Prefixes::default();
        for (document, iri) in [(3, "http://c/"), (1, "http://a/"), (2, "http://b/"), (1, "http://later/")] {
            prefixes.note(document, [("p", iri)].into_iter());
        }
        assert_eq!(prefixes.iter().collect::<Vec<_>>(), [("p", "http://a/")]);
    }

    #[test]
    fn what_is_no_prefix_everywhere_or_no_iri_is_not_noted() {
        let long = "p".repeat(PREFIX_BYTES_MAX + 1);
        let mut prefixes = Prefixes::default();
        let words = ["", "ex", "é", "a.b-c_d", "a b", "1a", "a.", "a:b", "<", "xml", "µ", "m²", "_x", &long];
        prefixes.note(0, words.into_iter().map(|word| (word, "http://a/")));
        prefixes.note(0, [("relative", "a/"), ("space", "http://a/ b")].into_iter());
        assert_eq!(prefixes.iter().map(|(prefix, _)| prefix).collect::<Vec<_>>(), ["", "a.b-c_d", "ex", "é"]);
    }

    #[test]
    fn no_document_has_so_many_that_they_fill_the_memory() {
        let names: Vec<String> = (0..PREFIXES_MAX + 10).map(|number| format!("p{number}")).collect();
        let mut prefixes = Prefixes::default();
        prefixes.note(0, names.iter().map(|name| (name.as_str(), "http://a/")));
        assert_eq!(prefixes.iter().count(), PREFIXES_MAX);
    }
}
