//! Quads written out as RDF, with the namespaces of their store as prefixes.

use std::collections::HashMap;
use std::io::Write;

use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Quad, Term};
use oxrdfio::{RdfFormat, RdfSerializer};

use crate::error::{Error, Result};
use crate::id::TermId;
use crate::pattern::{GraphPattern, IdPattern, IdQuad};
use crate::quads::Quads;

/// Writes the quads of a pattern, and returns how many. Those of a single graph are written as what a document of triples holds, without its
/// name. `each` is told how many are written, before each, and may end it by an error.
///
/// ```
/// # fn main() -> fulgurite_rdf::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use fulgurite_rdf::{IdPattern, LoadInput, LoadOptions, RdfFormat, Store, StoreOptions, dump};
///
/// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
/// let text = "@prefix ex: <http://example.org/> . ex:ann ex:age 41 .".as_bytes();
/// store.load(vec![LoadInput::reader("text", text, RdfFormat::Turtle)], &LoadOptions::new())?;
/// let mut written = Vec::new();
/// dump(&store.snapshot()?, &IdPattern::ALL, RdfFormat::Turtle, &mut written, |_| Ok(()))?;
/// assert_eq!(written, b"@prefix ex: <http://example.org/> .\nex:ann ex:age 41 .\n");
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::Output`]; [`Error::Damaged`]; what the engine reports; those of `each`. What was written before stays written.
pub fn dump(
    quads: &impl Quads,
    pattern: &IdPattern,
    format: RdfFormat,
    out: impl Write,
    mut each: impl FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let mut serializer = RdfSerializer::from_format(format);
    for (prefix, namespace) in quads.namespaces()? {
        // One that is no IRI cannot be declared, but nothing depends on it.
        serializer = serializer.clone().with_prefix(prefix, namespace).unwrap_or(serializer);
    }
    let mut writer = serializer.for_writer(out);
    let mut terms = Terms { quads, recent: HashMap::new() };
    let failed = |source| Error::Output { source };
    let mut written = 0;
    for quad in quads.quads(pattern) {
        each(written)?;
        let mut quad = terms.quad(&quad?)?;
        if matches!(pattern.graph, GraphPattern::Named(_)) {
            quad.graph_name = GraphName::DefaultGraph;
        }
        writer.serialize_quad(&quad).map_err(failed)?;
        written += 1;
    }
    writer.finish().and_then(|mut out| out.flush()).map_err(failed)?;
    Ok(written)
}

/// Terms of a store, of which the recent names are kept.
struct Terms<'q, Q> {
    quads: &'q Q,
    recent: HashMap<TermId, Term>,
}

impl<Q: Quads> Terms<'_, Q> {
    fn quad(&mut self, quad: &IdQuad) -> Result<Quad> {
        let graph_name = match quad.graph {
            TermId::DEFAULT_GRAPH => GraphName::DefaultGraph,
            graph => self.node(graph)?.into(),
        };
        let subject = self.node(quad.subject)?;
        let predicate: NamedNode = match self.term(quad.predicate)? {
            Term::NamedNode(node) => node,
            other => return Err(misplaced(&other)),
        };
        Ok(Quad { subject, predicate, object: self.term(quad.object)?, graph_name })
    }

    fn node(&mut self, id: TermId) -> Result<NamedOrBlankNode> {
        match self.term(id)? {
            Term::NamedNode(node) => Ok(node.into()),
            Term::BlankNode(node) => Ok(node.into()),
            other => Err(misplaced(&other)),
        }
    }

    fn term(&mut self, id: TermId) -> Result<Term> {
        if let Some(term) = self.recent.get(&id) {
            return Ok(term.clone());
        }
        if self.recent.len() >= RECENT_MAX {
            self.recent.clear();
        }
        let term = self.quads.term(id)?;
        if is_kept(&term) {
            self.recent.insert(id, term.clone());
        }
        Ok(term)
    }
}

/// Texts seldom come again, and may be long.
fn is_kept(term: &Term) -> bool {
    match term {
        Term::NamedNode(node) => node.as_str().len() <= NAME_BYTES_MAX,
        Term::BlankNode(node) => node.as_str().len() <= NAME_BYTES_MAX,
        _ => false,
    }
}

fn misplaced(term: &Term) -> Error {
    Error::Invalid { message: format!("{term} stands where it cannot in a quad; check the store") }
}

/// So many terms are kept: those of some thousand subjects.
const RECENT_MAX: usize = 16 << 10;
/// With [`RECENT_MAX`], the bound of the memory that names take: 16 MiB.
const NAME_BYTES_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use oxrdf::{BlankNode, Literal};

    use super::*;
    use crate::{Store, StoreOptions};

    fn name(text: &str) -> NamedNode {
        NamedNode::new_unchecked(format!("http://a/{text}"))
    }

    /// A store with quads of one subject and predicate, in a graph.
    fn store(objects: &[Term], graph: &GraphName) -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        let insert = |transaction: &mut crate::Transaction| {
            for object in objects {
                transaction.insert(&Quad::new(name("s"), name("p"), object.clone(), graph.clone()))?;
            }
            Ok(())
        };
        store.update(insert).unwrap();
        (directory, store)
    }

    #[test]
    fn names_are_kept_and_texts_and_long_names_are_not() {
        let objects: [Term; 3] = [
            Literal::new_simple_literal("a text").into(),
            name(&"n".repeat(NAME_BYTES_MAX)).into(),
            BlankNode::default().into(),
        ];
        let (_directory, store) = store(&objects, &GraphName::DefaultGraph);
        let snapshot = store.snapshot().unwrap();
        let mut terms = Terms { quads: &snapshot, recent: HashMap::new() };
        let quads: Vec<Quad> =
            snapshot.quads(&IdPattern::ALL).map(|quad| quad.and_then(|quad| terms.quad(&quad)).unwrap()).collect();
        assert_eq!(quads.len(), 3);
        assert!(quads.iter().any(|quad| quad.object == objects[0]));
        let mut kept: Vec<Term> = terms.recent.into_values().filter(|term| !term.is_blank_node()).collect();
        kept.sort_by_key(Term::to_string);
        assert_eq!(kept, [Term::from(name("p")), Term::from(name("s"))]);
    }

    #[test]
    fn a_graph_by_itself_is_written_without_its_name_and_among_others_with_it() {
        let (_directory, store) = store(&[name("o").into()], &name("g").into());
        let snapshot = store.snapshot().unwrap();
        let graph = snapshot.id(name("g").as_ref().into()).unwrap().unwrap();
        for (pattern, expected) in [
            (IdPattern::of_graph(graph), "<http://a/s> <http://a/p> <http://a/o> .\n"),
            (IdPattern::ALL, "<http://a/s> <http://a/p> <http://a/o> <http://a/g> .\n"),
        ] {
            let mut out = Vec::new();
            assert_eq!(dump(&snapshot, &pattern, RdfFormat::NQuads, &mut out, |_| Ok(())).unwrap(), 1);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn it_ends_when_it_is_told_to_and_passes_over_namespaces_that_are_none() {
        let (_directory, store) = store(&[name("o").into(), name("x").into()], &GraphName::DefaultGraph);
        store.update(|transaction| transaction.set_namespace("bad", "no IRI")).unwrap();
        let told = |written| if written == 1 { Err(Error::Cancelled) } else { Ok(()) };
        let mut out = Vec::new();
        let ended = dump(&store.snapshot().unwrap(), &IdPattern::ALL, RdfFormat::NTriples, &mut out, told);
        assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1);
    }
}
