//! Quads and patterns of them, as numbers of terms; and the orders of indexes.

use fulgurite::KeySuffix;

use crate::model::id::{IdKey, KeyReader, TermId};

/// A quad of term ids.
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

/// A quad pattern: matches quads with these terms in these positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// The graph part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// A position in a quad.
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

impl Position {
    /// All four.
    pub const ALL: [Self; 4] = [S, P, O, G];
}

use Position::{Graph as G, Object as O, Predicate as P, Subject as S};

/// The order of an index: its first position is the most significant. An order of three positions is for the default
/// graph, one of four for named graphs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Order {
    name: &'static str,
    positions: &'static [Position],
    /// Where in a key the subject, the predicate, the object and the graph are. Of a default graph nothing is in the
    /// key: the last.
    places: [u8; 4],
}

/// Every order there is.
const ORDERS: [(&str, &[Position]); 30] = [
    ("spo", &[S, P, O]),
    ("sop", &[S, O, P]),
    ("pso", &[P, S, O]),
    ("pos", &[P, O, S]),
    ("osp", &[O, S, P]),
    ("ops", &[O, P, S]),
    ("spog", &[S, P, O, G]),
    ("spgo", &[S, P, G, O]),
    ("sopg", &[S, O, P, G]),
    ("sogp", &[S, O, G, P]),
    ("sgpo", &[S, G, P, O]),
    ("sgop", &[S, G, O, P]),
    ("psog", &[P, S, O, G]),
    ("psgo", &[P, S, G, O]),
    ("posg", &[P, O, S, G]),
    ("pogs", &[P, O, G, S]),
    ("pgso", &[P, G, S, O]),
    ("pgos", &[P, G, O, S]),
    ("ospg", &[O, S, P, G]),
    ("osgp", &[O, S, G, P]),
    ("opsg", &[O, P, S, G]),
    ("opgs", &[O, P, G, S]),
    ("ogsp", &[O, G, S, P]),
    ("ogps", &[O, G, P, S]),
    ("gspo", &[G, S, P, O]),
    ("gsop", &[G, S, O, P]),
    ("gpso", &[G, P, S, O]),
    ("gpos", &[G, P, O, S]),
    ("gosp", &[G, O, S, P]),
    ("gops", &[G, O, P, S]),
];

impl Order {
    /// Parses a name such as `spo` or `gpos`. `None` if it is not a permutation of S, P, O, or of S, P, O, G.
    pub fn parse(name: &str) -> Option<Self> {
        let row = ORDERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        let place = |position| row.1.iter().position(|&other| other == position).unwrap_or(3) as u8;
        Some(Self { name: row.0, positions: row.1, places: Position::ALL.map(place) })
    }

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The positions, most significant first.
    pub fn positions(self) -> &'static [Position] {
        self.positions
    }

    /// Whether the index is for named graphs.
    pub fn is_of_named_graphs(self) -> bool {
        self.positions.len() == 4
    }

    pub(crate) fn key_of(self, quad: &IdQuad) -> IdKey {
        let mut key = IdKey::default();
        self.positions.iter().for_each(|&position| key.push(quad.at(position)));
        key
    }

    /// The quad of a key. `None` if it is the key of none.
    #[inline]
    pub(crate) fn quad_of(self, key: &[u8]) -> Option<IdQuad> {
        let key = KeySuffix::whole(key);
        let ids = match self.is_of_named_graphs() {
            true => KeyReader::<4>::new().read(&key)?,
            false => KeyReader::<3>::new().read(&key)?,
        };
        Some(self.quad(ids))
    }

    /// Whether its places are those of a quad: subject, predicate, object and graph.
    #[inline]
    pub(crate) fn is_of_quads(self) -> bool {
        self.places == [0, 1, 2, 3]
    }

    /// The quad of the numbers of its key; without a fourth with the default graph in its place.
    #[inline(always)]
    pub(crate) fn quad(self, ids: [TermId; 4]) -> IdQuad {
        // In turn, so that no number goes through memory: what a scan asks here is the same for every key.
        let [subject, predicate, object, graph] = self.places;
        let at = |place: u8| match place {
            0 => ids[0],
            1 => ids[1],
            2 => ids[2],
            _ => ids[3],
        };
        IdQuad { subject: at(subject), predicate: at(predicate), object: at(object), graph: at(graph) }
    }

    /// How many places in front of the order `pattern` binds.
    pub(crate) fn bound_places(self, pattern: &IdPattern) -> usize {
        self.positions.iter().take_while(|&&position| pattern.at(position).is_some()).count()
    }
}

impl std::fmt::Debug for Order {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl std::fmt::Display for Order {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl IdQuad {
    /// A quad of subject, predicate, object and graph.
    #[inline(always)]
    pub(crate) fn of([subject, predicate, object, graph]: [TermId; 4]) -> Self {
        Self { subject, predicate, object, graph }
    }

    /// The term in this position.
    #[inline]
    pub fn at(&self, position: Position) -> TermId {
        match position {
            S => self.subject,
            P => self.predicate,
            O => self.object,
            G => self.graph,
        }
    }
}

impl IdPattern {
    /// All quads of all graphs.
    pub const ALL: Self = Self { subject: None, predicate: None, object: None, graph: GraphPattern::Any };

    /// All quads of one graph; [`TermId::DEFAULT_GRAPH`] for the default graph.
    pub fn of_graph(graph: TermId) -> Self {
        Self { graph: GraphPattern::Named(graph), ..Self::ALL }
    }

    /// The required term in this position. `None` if any term matches, or any named graph.
    #[inline]
    pub fn at(&self, position: Position) -> Option<TermId> {
        match (position, self.graph) {
            (S, _) => self.subject,
            (P, _) => self.predicate,
            (O, _) => self.object,
            (G, GraphPattern::Default) => Some(TermId::DEFAULT_GRAPH),
            (G, GraphPattern::Named(graph)) => Some(graph),
            (G, GraphPattern::AnyNamed | GraphPattern::Any) => None,
        }
    }

    /// Whether it asks for nothing but whole tables: the default graph, or all named ones.
    pub(crate) fn is_all_of_its_graphs(&self) -> bool {
        let is_free = [S, P, O].into_iter().all(|position| self.at(position).is_none());
        is_free && !matches!(self.graph, GraphPattern::Named(graph) if graph != TermId::DEFAULT_GRAPH)
    }

    /// Whether `quad` matches.
    #[inline]
    pub fn matches(&self, quad: &IdQuad) -> bool {
        Position::ALL.into_iter().all(|position| self.at(position).is_none_or(|term| term == quad.at(position)))
            && (self.graph != GraphPattern::AnyNamed || quad.graph != TermId::DEFAULT_GRAPH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_each_place_once_as_its_name_says() {
        for (name, positions) in ORDERS {
            let letters: String =
                positions.iter().map(|position| format!("{position:?}")[..1].to_lowercase()).collect();
            assert_eq!(letters, name);
            let distinct: std::collections::HashSet<_> = positions.iter().collect();
            assert_eq!(distinct.len(), positions.len());
            assert_eq!(Order::parse(&name.to_uppercase()).map(Order::name), Some(name));
        }
        assert_eq!(Order::parse("spp"), None);
    }
}
