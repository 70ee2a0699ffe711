//! Prefixes and their namespaces, as they are in scope (Namespaces in XML 1.0, third edition).

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

/// What a prefix stands for. Cheap to copy, and to compare with others of the document, however long it is.
#[derive(Clone, Debug)]
pub struct Namespace {
    iri: Arc<str>,
    hash: u64,
}

impl Namespace {
    fn new(iri: &str) -> Self {
        Self { iri: Arc::from(iri), hash: xxh3_64(iri.as_bytes()) }
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }
}

impl PartialEq for Namespace {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Arc::ptr_eq(&self.iri, &other.iri) || self.iri == other.iri)
    }
}

impl Eq for Namespace {}

impl Deref for Namespace {
    type Target = str;

    fn deref(&self) -> &str {
        &self.iri
    }
}

/// A name with what its prefix stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// As it was written.
    pub qualified: String,
    /// Where the local part begins.
    local: usize,
    /// Empty if it is in none.
    pub namespace: Namespace,
}

impl Name {
    pub fn new(qualified: String, local: usize, namespace: Namespace) -> Self {
        Self { qualified, local, namespace }
    }

    pub fn prefix(&self) -> &str {
        &self.qualified[..self.local.saturating_sub(1)]
    }

    pub fn local(&self) -> &str {
        &self.qualified[self.local..]
    }

    pub(super) fn set(&mut self, qualified: &str, local: usize) {
        self.qualified.clear();
        self.qualified.push_str(qualified);
        self.local = local;
    }
}

/// What is in scope.
pub struct Namespaces {
    /// Of each prefix, innermost last. An empty namespace undeclares the default.
    declared: HashMap<String, Vec<Namespace>>,
    /// Prefixes in the order of their declarations, with the depth of the element.
    order: Vec<(usize, String)>,
    none: Namespace,
}

impl Namespaces {
    pub fn new() -> Self {
        let declared = HashMap::from([("xml".to_owned(), vec![Namespace::new(XML_NAMESPACE)])]);
        Self { declared, order: Vec::new(), none: Namespace::new("") }
    }

    pub fn none(&self) -> Namespace {
        self.none.clone()
    }

    /// Declares a prefix in an element, which is the `depth`-th that is open.
    ///
    /// # Errors
    /// The constraints "reserved prefixes and namespace names" and "no prefix undeclaring".
    pub fn declare(&mut self, depth: usize, prefix: &str, namespace: &str) -> Result<(), String> {
        match (prefix, namespace) {
            ("xmlns", _) => return Err("the prefix `xmlns` must not be declared".into()),
            ("xml", XML_NAMESPACE) => return Ok(()),
            ("xml", _) => return Err(format!("the prefix `xml` stands for {XML_NAMESPACE} and nothing else")),
            (_, XML_NAMESPACE | XMLNS_NAMESPACE) => return Err(format!("no other prefix may stand for {namespace}")),
            (prefix, "") if !prefix.is_empty() => return Err(format!("the prefix `{prefix}` cannot be undeclared")),
            _ => {}
        }
        let bound = self.declared.get_mut(prefix);
        match bound {
            Some(bound) => bound.push(Namespace::new(namespace)),
            None => drop(self.declared.insert(prefix.to_owned(), vec![Namespace::new(namespace)])),
        }
        self.order.push((depth, prefix.to_owned()));
        Ok(())
    }

    /// An element ends, which was the `depth`-th that was open.
    pub fn end(&mut self, depth: usize) {
        while self.order.last().is_some_and(|(declared, _)| *declared >= depth) {
            let Some((_, prefix)) = self.order.pop() else { return };
            if let Some(bound) = self.declared.get_mut(&prefix) {
                bound.pop();
            }
            if self.declared.get(&prefix).is_some_and(Vec::is_empty) {
                self.declared.remove(&prefix);
            }
        }
    }

    /// What a prefix stands for; the empty prefix for the default namespace.
    pub fn of(&self, prefix: &str) -> Option<&Namespace> {
        match self.declared.get(prefix).and_then(|bound| bound.last()) {
            None if prefix.is_empty() => Some(&self.none),
            bound => bound,
        }
    }

    /// Prefixes that are in scope, and what they stand for, but for `xml`.
    pub fn in_scope(&self) -> impl Iterator<Item = (&str, &str)> {
        self.declared.iter().filter(|(prefix, _)| *prefix != "xml").filter_map(|(prefix, bound)| {
            bound.last().filter(|namespace| !namespace.is_empty()).map(|namespace| (prefix.as_str(), &**namespace))
        })
    }
}

/// The namespace of the prefix `xml`.
pub const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";
/// The namespace of the prefix `xmlns`.
const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";
