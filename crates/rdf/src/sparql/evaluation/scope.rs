//! The RDF dataset that an evaluation sees: which graphs of the store make up its default graph, and which are its
//! named graphs.
//!
//! A graph is counted once, however often it is named; a triple that is in several graphs of a merged default graph is
//! one triple.

use std::collections::HashSet;

use oxrdf::{GraphName, NamedOrBlankNode, Term};
use spargebra::algebra::QueryDataset;

use super::evaluation_term::EvaluationTerm;
use super::limits::Stopped;
use super::terms::Terms;
use crate::{Quads, TermId};

/// The graphs that the text and the caller select.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatasetChoice {
    /// Graphs that the caller merges into the default graph; `None` if the caller selects none.
    pub default: Option<Vec<GraphName>>,
    /// Graphs that the caller allows as named graphs; `None` if the caller selects none.
    pub named: Option<Vec<NamedOrBlankNode>>,
    /// Whether the default graph is the union of all graphs if neither the text nor the caller selects graphs.
    pub union_default_graph: bool,
}

/// The graphs of a default graph.
#[derive(Clone, Debug)]
pub(crate) enum DefaultGraph {
    /// The store's default graph.
    Stored,
    /// All graphs of the store, the default graph included.
    Union,
    /// These graphs, each once.
    Merge(Vec<TermId>),
}

/// The graphs of an evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub default: DefaultGraph,
    /// The named graphs that are allowed, each once; `None`: all of the store. Graphs that the store has not are there,
    /// and empty.
    pub named: Option<NamedGraphs>,
}

/// Names of graphs, each once, in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedGraphs {
    names: Vec<EvaluationTerm>,
    set: HashSet<EvaluationTerm>,
}

impl NamedGraphs {
    pub(crate) fn names(&self) -> &[EvaluationTerm] {
        &self.names
    }

    pub(crate) fn contains(&self, graph: EvaluationTerm) -> bool {
        self.set.contains(&graph)
    }

    fn add(&mut self, graph: EvaluationTerm) {
        if self.set.insert(graph) {
            self.names.push(graph);
        }
    }
}

impl DatasetChoice {
    pub(crate) fn says_which(&self) -> bool {
        self.default.is_some() || self.named.is_some()
    }

    /// The scope. What the caller says comes before what the text says, which comes before the union.
    pub(crate) fn scope<Q: Quads>(&self, text: Option<&QueryDataset>, terms: &Terms<Q>) -> Result<Scope, Stopped> {
        if self.says_which() {
            let default = self.default.as_deref().unwrap_or_default().iter().cloned();
            let named = self.named.as_deref().unwrap_or_default().iter().map(|name| Term::from(name.clone()));
            return Ok(Scope { default: merge(default, terms)?, named: Some(named_graphs(named, terms)?) });
        }
        if let Some(dataset) = text {
            let default = dataset.default.iter().map(|name| GraphName::from(name.clone()));
            let named = match &dataset.named {
                Some(named) => Some(named_graphs(named.iter().map(|name| Term::from(name.clone())), terms)?),
                None => None,
            };
            return Ok(Scope { default: merge(default, terms)?, named });
        }
        // Without named graphs the union is the default graph, which is read with half the look-ups.
        let union = self.union_default_graph && terms.has_named_graphs()?;
        let default = if union { DefaultGraph::Union } else { DefaultGraph::Stored };
        Ok(Scope { default, named: None })
    }
}

impl Scope {
    /// Whether a named graph may be read.
    pub(crate) fn allows(&self, graph: EvaluationTerm) -> bool {
        self.named.as_ref().is_none_or(|named| named.contains(graph))
    }
}

fn merge<Q: Quads>(graphs: impl Iterator<Item = GraphName>, terms: &Terms<Q>) -> Result<DefaultGraph, Stopped> {
    let mut seen = HashSet::new();
    let mut merged = Vec::new();
    for graph in graphs {
        let id = match graph {
            GraphName::DefaultGraph => Some(TermId::DEFAULT_GRAPH),
            GraphName::NamedNode(name) => terms.stored(&name.into())?,
            GraphName::BlankNode(name) => terms.stored(&name.into())?,
        };
        // A graph whose name the store has never seen is empty.
        if let Some(id) = id
            && seen.insert(id)
        {
            merged.push(id);
        }
    }
    Ok(DefaultGraph::Merge(merged))
}

fn named_graphs<Q: Quads>(names: impl Iterator<Item = Term>, terms: &Terms<Q>) -> Result<NamedGraphs, Stopped> {
    let mut graphs = NamedGraphs::default();
    for name in names {
        graphs.add(terms.internalize(name)?);
    }
    Ok(graphs)
}
