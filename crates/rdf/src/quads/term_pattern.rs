//! [`TermPattern`]: a pattern of quads as terms, which is the same in every state of a store.

use oxrdf::{GraphName, NamedOrBlankNode, Term, TermRef};

use crate::error::Result;
use crate::model::id::TermId;
use crate::model::pattern::{GraphPattern, IdPattern};
use crate::quads::reading::Quads;

/// A pattern of quads as terms. An [`IdPattern`] belongs to one state of a store: its terms may get other ids later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TermPattern {
    /// The subject, predicate and object. `None` matches any term.
    pub terms: [Option<Term>; 3],
    /// The graphs.
    pub graphs: TermGraphs,
}

/// The graphs of a [`TermPattern`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum TermGraphs {
    /// All graphs.
    #[default]
    All,
    /// The default graph.
    Default,
    /// A named graph.
    Named(Term),
}

impl TermPattern {
    /// Returns the ids of the pattern, or `None` if the quads lack one of its terms, so that none matches.
    ///
    /// # Errors
    /// As [`Quads::id`].
    pub fn ids(&self, quads: &impl Quads) -> Result<Option<IdPattern>> {
        let mut ids = [None; 3];
        for (id, term) in ids.iter_mut().zip(&self.terms) {
            if let Some(term) = term {
                let Some(found) = quads.id(term.as_ref())? else { return Ok(None) };
                *id = Some(found);
            }
        }
        let graph = match &self.graphs {
            TermGraphs::All => GraphPattern::Any,
            TermGraphs::Default => GraphPattern::Default,
            TermGraphs::Named(name) => match quads.id(TermRef::from(name))? {
                Some(id) => GraphPattern::Named(id),
                None => return Ok(None),
            },
        };
        let [subject, predicate, object] = ids;
        Ok(Some(IdPattern { subject, predicate, object, graph }))
    }

    /// Returns the terms of a pattern of ids. [`GraphPattern::AnyNamed`] becomes all graphs.
    ///
    /// # Errors
    /// As [`Quads::term`].
    pub fn of_ids(pattern: &IdPattern, quads: &impl Quads) -> Result<Self> {
        let term = |id: Option<TermId>| id.map(|id| quads.term(id)).transpose();
        let terms = [term(pattern.subject)?, term(pattern.predicate)?, term(pattern.object)?];
        let graphs = match pattern.graph {
            GraphPattern::Any | GraphPattern::AnyNamed => TermGraphs::All,
            GraphPattern::Default | GraphPattern::Named(TermId::DEFAULT_GRAPH) => TermGraphs::Default,
            GraphPattern::Named(graph) => TermGraphs::Named(quads.term(graph)?),
        };
        Ok(Self { terms, graphs })
    }

    /// The bytes of the texts of its terms.
    pub(crate) fn text_bytes(&self) -> usize {
        let graph = match &self.graphs {
            TermGraphs::All | TermGraphs::Default => None,
            TermGraphs::Named(name) => Some(name),
        };
        self.terms.iter().flatten().chain(graph).map(text_bytes).sum()
    }
}

fn text_bytes(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(node) => node.as_str().len(),
        Term::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        Term::Triple(triple) => {
            let subject = match &triple.subject {
                NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
                NamedOrBlankNode::BlankNode(node) => node.as_str().len(),
            };
            subject + triple.predicate.as_str().len() + text_bytes(&triple.object)
        }
    }
}

impl From<GraphName> for TermGraphs {
    fn from(graph: GraphName) -> Self {
        match graph {
            GraphName::DefaultGraph => Self::Default,
            GraphName::NamedNode(name) => Self::Named(name.into()),
            GraphName::BlankNode(name) => Self::Named(name.into()),
        }
    }
}
