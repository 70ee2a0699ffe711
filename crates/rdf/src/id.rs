//! Numbers of terms: what a [`TermId`] says by itself.

use oxrdf::{NamedNodeRef, Term, TermRef};
use oxsdatatypes::{Date, DateTime, Decimal, Double, Float, Time};

/// The number of a term in one store, 64 bits: a tag, and either the term itself where it is short, or its number in the
/// dictionary. Two terms are the same if and only if their numbers are. Numbers of one tag whose terms are inline order as the
/// terms' values do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(u64);

/// What sort of term a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// No term: the default graph.
    DefaultGraph,
    /// An IRI.
    Iri,
    /// A blank node.
    BlankNode,
    /// A literal.
    Literal,
    /// A triple term.
    Triple,
}

/// The value of a literal that is in its number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum InlineValue {
    /// `xsd:boolean`.
    Boolean(bool),
    /// `xsd:integer` and the types derived from it.
    Integer(i64),
    /// `xsd:decimal`.
    Decimal(Decimal),
    /// `xsd:double`.
    Double(Double),
    /// `xsd:float`.
    Float(Float),
    /// `xsd:dateTime`.
    DateTime(DateTime),
    /// `xsd:date`.
    Date(Date),
    /// `xsd:time`.
    Time(Time),
    /// `xsd:gYear`.
    Year(i64),
    /// `xsd:string`: length and UTF-8.
    String(u8, [u8; 7]),
    /// `rdf:langString`: the language, then length and UTF-8.
    LangString([u8; 2], u8, [u8; 5]),
}

impl TermId {
    /// The default graph, where a graph is named by a number.
    pub const DEFAULT_GRAPH: Self = Self(0);

    /// The number of a term that is short enough to be its own number, whether a store has it or not.
    pub fn of_inline(_term: TermRef<'_>) -> Option<Self> {
        unimplemented!()
    }

    /// What sort of term this is.
    pub fn kind(self) -> TermKind {
        unimplemented!()
    }

    /// The term, if it is in the number.
    pub fn inline_term(self) -> Option<Term> {
        unimplemented!()
    }

    /// The value of a literal that is in the number.
    pub fn inline_value(self) -> Option<InlineValue> {
        unimplemented!()
    }

    /// The datatype of a literal, if it is in the number.
    pub fn inline_datatype(self) -> Option<NamedNodeRef<'static>> {
        unimplemented!()
    }

    /// The number as it is.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The number of these bits; `None` if they are no number's.
    pub fn from_bits(_bits: u64) -> Option<Self> {
        unimplemented!()
    }
}

impl std::fmt::Debug for TermId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "TermId({:#018x})", self.0)
    }
}
