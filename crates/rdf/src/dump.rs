//! Quads written out as RDF, with the namespaces of their store as prefixes.

use std::io::Write;

use oxrdf::GraphNameRef;
use oxrdfio::{RdfFormat, RdfSerializer};

use crate::error::{Error, Result};
use crate::pattern::{GraphPattern, IdPattern};
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
    let failed = |source| Error::Output { source };
    let (mut statements, mut written) = (quads.statements(pattern), 0);
    while let Some(batch) = statements.next_batch() {
        for mut statement in batch? {
            each(written)?;
            if matches!(pattern.graph, GraphPattern::Named(_)) {
                statement.graph_name = GraphNameRef::DefaultGraph;
            }
            writer.serialize_quad(statement).map_err(failed)?;
            written += 1;
        }
    }
    writer.finish().and_then(|mut out| out.flush()).map_err(failed)?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use oxrdf::{GraphName, NamedNode, Quad, Term};

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
