//! Quads and patterns of them, as numbers of terms; and the orders of indexes.

use crate::id::TermId;

/// A statement and its graph, as numbers of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdQuad {
    /// The subject.
    pub subject: TermId,
    /// The predicate.
    pub predicate: TermId,
    /// The object.
    pub object: TermId,
    /// The graph; [`TermId::DEFAULT_GRAPH`] for the default graph.
    pub graph: TermId,
}

/// Which quads are meant: those that have these terms in these places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdPattern {
    /// The subject; `None` for any.
    pub subject: Option<TermId>,
    /// The predicate; `None` for any.
    pub predicate: Option<TermId>,
    /// The object; `None` for any.
    pub object: Option<TermId>,
    /// The graphs.
    pub graph: GraphPattern,
}

/// Which graphs are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphPattern {
    /// The default graph.
    Default,
    /// This graph; [`TermId::DEFAULT_GRAPH`] is the default graph here too.
    Named(TermId),
    /// All named graphs.
    AnyNamed,
    /// The default graph and all named graphs.
    Any,
}

/// A place in a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// The subject.
    Subject,
    /// The predicate.
    Predicate,
    /// The object.
    Object,
    /// The graph.
    Graph,
}

/// The order in which an index sorts quads: its first place is the most significant. An order of three places sorts the
/// default graph, one of four sorts named graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order(&'static [Position]);

impl Order {
    /// The order of a name such as `spo` or `GPOS`; `None` if it is no permutation of S, P, O, or S, P, O and G.
    pub fn parse(_name: &str) -> Option<Self> {
        unimplemented!()
    }

    /// The places, the most significant first.
    pub fn positions(self) -> &'static [Position] {
        self.0
    }
}

impl IdQuad {
    /// The term in this place.
    pub fn at(&self, position: Position) -> TermId {
        match position {
            Position::Subject => self.subject,
            Position::Predicate => self.predicate,
            Position::Object => self.object,
            Position::Graph => self.graph,
        }
    }
}

impl IdPattern {
    /// All quads of all graphs.
    pub const ALL: Self = Self { subject: None, predicate: None, object: None, graph: GraphPattern::Any };

    /// Whether `quad` is one of those meant.
    pub fn matches(&self, quad: &IdQuad) -> bool {
        self.subject.is_none_or(|term| term == quad.subject)
            && self.predicate.is_none_or(|term| term == quad.predicate)
            && self.object.is_none_or(|term| term == quad.object)
            && match self.graph {
                GraphPattern::Default => quad.graph == TermId::DEFAULT_GRAPH,
                GraphPattern::Named(graph) => quad.graph == graph,
                GraphPattern::AnyNamed => quad.graph != TermId::DEFAULT_GRAPH,
                GraphPattern::Any => true,
            }
    }
}
