//! What a store holds, as plain sets of texts: the model, and what is read to be compared with it.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_rdf::oxrdf::{GraphName, Quad, Term};
use fulgurite_rdf::{IdPattern, Quads, Result, Snapshot, StatementKinds, TermId};

/// All that a store holds and a user can see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Explicit quads, with the name of their graph.
    quads: BTreeSet<(Option<String>, String)>,
    /// Inferred quads; some may be explicit too.
    inferred: BTreeSet<(Option<String>, String)>,
    graphs: BTreeSet<String>,
    namespaces: BTreeMap<String, String>,
}

impl Contents {
    /// What a snapshot sees.
    ///
    /// # Errors
    /// The store's.
    pub fn read(snapshot: &Snapshot) -> Result<Self> {
        let mut contents = Self::default();
        for (statements, is_explicit) in [(StatementKinds::Explicit, true), (StatementKinds::Inferred, false)] {
            for quad in snapshot.of_kinds(statements).quads(&IdPattern::ALL) {
                let quad = quad?;
                let graph = match quad.graph {
                    TermId::DEFAULT_GRAPH => None,
                    graph => Some(snapshot.term(graph)?.to_string()),
                };
                let terms = [quad.subject, quad.predicate, quad.object].map(|id| snapshot.term(id));
                let [subject, predicate, object] = terms;
                let entry = (graph, format!("{} {} {}", subject?, predicate?, object?));
                if snapshot.is_inferred(&quad)? {
                    contents.inferred.insert(entry.clone());
                }
                if is_explicit {
                    contents.quads.insert(entry);
                }
            }
        }
        for graph in snapshot.graph_names() {
            contents.graphs.insert(snapshot.term(graph?)?.to_string());
        }
        contents.namespaces = snapshot.namespaces()?.into_iter().collect();
        Ok(contents)
    }

    /// How many quads there are.
    pub fn len(&self) -> usize {
        self.quads.union(&self.inferred).count()
    }

    /// Whether there is no quad.
    pub fn is_empty(&self) -> bool {
        self.quads.is_empty() && self.inferred.is_empty()
    }

    /// Whether the explicit quads and those that are inferred alone are those of `other`, whatever graphs without quads
    /// and prefixes there are.
    pub fn has_quads_of(&self, other: &Self) -> bool {
        self.quads == other.quads && self.inferred.difference(&self.quads).eq(other.inferred.difference(&other.quads))
    }

    /// Adds a quad and its graph.
    pub(crate) fn insert(&mut self, quad: &Quad) {
        let entry = entry_of(quad);
        self.graphs.extend(entry.0.clone());
        self.quads.insert(entry);
    }

    /// Adds an inferred quad and its graph.
    pub(crate) fn insert_inferred(&mut self, quad: &Quad) {
        let entry = entry_of(quad);
        self.graphs.extend(entry.0.clone());
        self.inferred.insert(entry);
    }

    pub(crate) fn remove_inferred(&mut self, quad: &Quad) {
        self.inferred.remove(&entry_of(quad));
    }

    pub(crate) fn clear_inferred(&mut self) {
        self.inferred.clear();
    }

    pub(crate) fn remove(&mut self, quad: &Quad) {
        self.quads.remove(&entry_of(quad));
    }

    /// Removes the explicit quads with this subject, in all graphs.
    pub(crate) fn remove_subject(&mut self, subject: &Term) {
        let start = format!("{subject} ");
        self.quads.retain(|(_, triple)| !triple.starts_with(&start));
    }

    pub(crate) fn clear_graph(&mut self, graph: &GraphName) {
        let name = name_of(graph);
        self.quads.retain(|(other, _)| *other != name);
    }

    pub(crate) fn create_graph(&mut self, graph: &GraphName) {
        self.graphs.extend(name_of(graph));
    }

    pub(crate) fn drop_graph(&mut self, graph: &GraphName) {
        self.clear_graph(graph);
        let name = name_of(graph);
        self.inferred.retain(|(other, _)| *other != name);
        if let Some(name) = name {
            self.graphs.remove(&name);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.quads.clear();
        self.inferred.clear();
        self.graphs.clear();
    }

    pub(crate) fn set_namespace(&mut self, prefix: &str, iri: &str) {
        self.namespaces.insert(prefix.into(), iri.into());
    }

    pub(crate) fn remove_namespace(&mut self, prefix: &str) {
        self.namespaces.remove(prefix);
    }
}

fn entry_of(quad: &Quad) -> (Option<String>, String) {
    (name_of(&quad.graph_name), format!("{} {} {}", quad.subject, quad.predicate, quad.object))
}

fn name_of(graph: &GraphName) -> Option<String> {
    match graph {
        GraphName::DefaultGraph => None,
        graph => Some(graph.to_string()),
    }
}
