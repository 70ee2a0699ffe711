//! Whether two bags of facts are the same but for the names of their blank nodes.
//!
//! A fact is anything in which blank nodes occur: a quad, or a row of a result. It is reduced to a pattern, in which
//! places stand for blank nodes, and the blank nodes in these places; so nesting (triple terms) needs no care here.
//! Nodes are distinguished by refining colours. If that leaves a choice, every alternative is tried.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term, Triple};

/// A pattern, and the labels of blank nodes in its places.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    pattern: String,
    labels: Vec<String>,
}

impl Fact {
    /// A quad as a fact.
    pub fn of_quad(quad: &Quad) -> Self {
        let mut fact = Self::default();
        fact.push_subject(&quad.subject);
        fact.push_text(quad.predicate.as_str());
        fact.push_term(&quad.object);
        match &quad.graph_name {
            GraphName::NamedNode(name) => fact.push_text(name.as_str()),
            GraphName::BlankNode(node) => fact.push_label(node.as_str()),
            GraphName::DefaultGraph => fact.push_text(""),
        }
        fact
    }

    /// Text that has to be the same.
    pub fn push_text(&mut self, text: &str) {
        // With its length before it, no text looks like several.
        self.pattern.push_str(&format!("{}:{text} ", text.len()));
    }

    /// A blank node.
    pub fn push_label(&mut self, label: &str) {
        self.pattern.push_str("_ ");
        self.labels.push(label.to_owned());
    }

    /// A term, with the blank nodes in it.
    pub fn push_term(&mut self, term: &Term) {
        match term {
            Term::NamedNode(node) => self.push_text(node.as_str()),
            Term::BlankNode(node) => self.push_label(node.as_str()),
            Term::Literal(literal) => self.push_text(&literal.to_string()),
            Term::Triple(triple) => self.push_triple(triple),
        }
    }

    fn push_subject(&mut self, subject: &NamedOrBlankNode) {
        match subject {
            NamedOrBlankNode::NamedNode(node) => self.push_text(node.as_str()),
            NamedOrBlankNode::BlankNode(node) => self.push_label(node.as_str()),
        }
    }

    fn push_triple(&mut self, triple: &Triple) {
        self.pattern.push_str("<< ");
        self.push_subject(&triple.subject);
        self.push_text(triple.predicate.as_str());
        self.push_term(&triple.object);
        self.pattern.push_str(">> ");
    }
}

/// Whether renaming blank nodes one to one makes one bag the other.
///
/// # Errors
/// If there are too many choices to try.
pub fn isomorphic(left: &[Fact], right: &[Fact]) -> Result<bool, String> {
    if left.len() != right.len() {
        return Ok(false);
    }
    let (left, right) = (Side::new(left), Side::new(right));
    if left.labels.len() != right.labels.len() {
        return Ok(false);
    }
    let colours = (vec![0; left.labels.len()], vec![0; right.labels.len()]);
    let mut steps = STEPS_MAX;
    search(&left, &right, colours, &mut steps)
}

/// So many choices are tried.
const STEPS_MAX: u32 = 20_000;

/// One bag, its blank nodes as numbers.
struct Side<'a> {
    labels: Vec<&'a str>,
    facts: Vec<(&'a str, Vec<usize>)>,
}

impl<'a> Side<'a> {
    fn new(facts: &'a [Fact]) -> Self {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut labels = Vec::new();
        let facts = facts
            .iter()
            .map(|fact| {
                let nodes = fact.labels.iter().map(|label| {
                    *numbers.entry(label).or_insert_with(|| {
                        labels.push(label.as_str());
                        labels.len() - 1
                    })
                });
                (fact.pattern.as_str(), nodes.collect())
            })
            .collect();
        Self { labels, facts }
    }

    /// Refines the colours until no further nodes are distinguished.
    fn refine(&self, colours: &mut [u64]) {
        let mut count = distinct(colours);
        loop {
            let mut seen: Vec<Vec<u64>> = vec![Vec::new(); colours.len()];
            for (pattern, nodes) in &self.facts {
                let around: Vec<u64> = nodes.iter().map(|&node| colours[node]).collect();
                for (place, &node) in nodes.iter().enumerate() {
                    seen[node].push(hash(&(pattern, place, &around)));
                }
            }
            for (colour, mut seen) in colours.iter_mut().zip(seen) {
                seen.sort_unstable();
                *colour = hash(&(*colour, seen));
            }
            let refined = distinct(colours);
            if refined == count {
                return;
            }
            count = refined;
        }
    }

    /// The facts, sorted, with each node named by its colour.
    fn coloured(&self, colours: &[u64]) -> Vec<(&str, Vec<u64>)> {
        let name = |(pattern, nodes): &(&'a str, Vec<usize>)| {
            (*pattern, nodes.iter().map(|&node| colours[node]).collect::<Vec<_>>())
        };
        let mut facts: Vec<_> = self.facts.iter().map(name).collect();
        facts.sort_unstable();
        facts
    }
}

fn search(left: &Side, right: &Side, colours: (Vec<u64>, Vec<u64>), steps: &mut u32) -> Result<bool, String> {
    *steps = steps.checked_sub(1).ok_or("too many ways to match the blank nodes")?;
    let (mut ours, mut theirs) = colours;
    left.refine(&mut ours);
    right.refine(&mut theirs);
    let classes = classes(&ours);
    let others = self::classes(&theirs);
    if left.coloured(&ours) != right.coloured(&theirs) || !same_sizes(&classes, &others) {
        return Ok(false);
    }
    // With a colour for each node, the comparison above was of the facts themselves.
    let Some((colour, nodes)) =
        classes.iter().filter(|(_, nodes)| nodes.len() > 1).min_by_key(|(_, nodes)| nodes.len())
    else {
        return Ok(true);
    };
    let chosen = hash(&(colour, "chosen"));
    ours[nodes[0]] = chosen;
    for &candidate in &others[colour] {
        let mut tried = theirs.clone();
        tried[candidate] = chosen;
        if search(left, right, (ours.clone(), tried), steps)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn same_sizes(left: &BTreeMap<u64, Vec<usize>>, right: &BTreeMap<u64, Vec<usize>>) -> bool {
    left.iter()
        .map(|(colour, nodes)| (colour, nodes.len()))
        .eq(right.iter().map(|(colour, nodes)| (colour, nodes.len())))
}

/// The nodes of each colour.
fn classes(colours: &[u64]) -> BTreeMap<u64, Vec<usize>> {
    let mut classes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (node, &colour) in colours.iter().enumerate() {
        classes.entry(colour).or_default().push(node);
    }
    classes
}

fn distinct(colours: &[u64]) -> usize {
    let mut sorted = colours.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

fn hash(value: &impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

#[cfg(test)]
mod tests {
    use oxrdfio::{RdfFormat, RdfParser};

    use super::*;

    fn facts(text: &str) -> Vec<Fact> {
        let quads = RdfParser::from_format(RdfFormat::NQuads).for_slice(text);
        quads.map(|quad| Fact::of_quad(&quad.expect("the test's text is N-Quads"))).collect()
    }

    fn same(left: &str, right: &str) -> bool {
        isomorphic(&facts(left), &facts(right)).expect("these are small")
    }

    #[test]
    fn names_of_blank_nodes_do_not_matter_and_their_places_do() {
        assert!(same("_:a <x:p> _:b .\n_:b <x:p> <x:c> .", "_:b <x:p> <x:c> .\n_:z <x:p> _:b ."));
        assert!(!same("_:a <x:p> _:b .\n_:b <x:p> <x:c> .", "_:b <x:p> <x:c> .\n_:b <x:p> _:z ."));
        assert!(!same("_:a <x:p> _:a .", "_:a <x:p> _:b ."));
        assert!(same("_:a <x:p> \"1\" _:g .", "_:g <x:p> \"1\" _:a ."));
    }

    #[test]
    fn two_triangles_are_not_a_hexagon_though_every_node_looks_alike() {
        let ring = |names: &[&str]| -> String {
            let next = names.iter().cycle().skip(1);
            names.iter().zip(next).map(|(from, to)| format!("_:{from} <x:p> _:{to} .\n")).collect()
        };
        let triangles = ring(&["a", "b", "c"]) + &ring(&["d", "e", "f"]);
        assert!(!same(&triangles, &ring(&["a", "b", "c", "d", "e", "f"])));
        assert!(same(&triangles, &(ring(&["x", "d", "y"]) + &ring(&["c", "b", "a"]))));
    }

    #[test]
    fn blank_nodes_inside_triple_terms_are_matched_too() {
        assert!(same("<x:s> <x:p> <<( _:a <x:p> _:a )>> .", "<x:s> <x:p> <<( _:b <x:p> _:b )>> ."));
        assert!(!same("<x:s> <x:p> <<( _:a <x:p> _:a )>> .", "<x:s> <x:p> <<( _:b <x:p> _:c )>> ."));
    }

    #[test]
    fn facts_count_as_often_as_they_occur() {
        let (once, twice) = (facts("_:a <x:p> _:b ."), facts("_:a <x:p> _:b .\n_:a <x:p> _:b ."));
        assert!(!isomorphic(&once, &twice).expect("these are small"));
        assert!(isomorphic(&twice, &twice).expect("these are small"));
    }
}
