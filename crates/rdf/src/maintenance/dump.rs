//! Quads written out as RDF, with the namespaces of their store as prefixes.

use std::collections::HashSet;
use std::io::Write;

use oxrdf::GraphNameRef;
use oxrdfio::RdfFormat;

use crate::error::{Error, Result};
use crate::model::pattern::{GraphPattern, IdPattern};
use crate::quads::reading::Quads;
use crate::writing::{self, GraphWriter};

/// Writes the quads that match a pattern, and returns their number. The quads of a single graph are written as triples,
/// without the graph name. `each` is called before each quad with the number written so far; an error from it ends the
/// dump.
///
/// RDF/XML and JSON-LD cannot represent every statement, so all statements are checked before the first byte is
/// written. No format can represent invalid IRIs and language tags, which programs can add unchecked: in the other
/// formats, the dump ends at the first such statement.
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
/// [`Error::Unwritable`], and nothing is written; [`Error::MalformedTerm`]; [`Error::Output`]; [`Error::Damaged`];
/// errors of the engine and of `each`. Output that was written before an error remains.
pub fn dump(
    quads: &impl Quads,
    pattern: &IdPattern,
    format: RdfFormat,
    out: impl Write,
    each: impl FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let names_graphs = !matches!(pattern.graph, GraphPattern::Named(_));
    write(quads, std::slice::from_ref(pattern), names_graphs, format, out, each)
}

/// As [`dump`], of the quads that match any of several patterns, one pattern after the other. Graph names are left out
/// if the format has none.
///
/// # Errors
/// As [`dump`].
pub fn dump_patterns(
    quads: &impl Quads,
    patterns: &[IdPattern],
    format: RdfFormat,
    out: impl Write,
    each: impl FnMut(u64) -> Result<()>,
) -> Result<u64> {
    write(quads, patterns, format.supports_datasets(), format, out, each)
}

fn write(
    quads: &impl Quads,
    patterns: &[IdPattern],
    names_graphs: bool,
    format: RdfFormat,
    out: impl Write,
    mut each: impl FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let mut prefixes = quads.namespaces()?;
    if writing::is_limited(format) {
        let mut schemes = HashSet::new();
        patterns.iter().try_for_each(|pattern| check_all(quads, pattern, format, &mut schemes))?;
        if matches!(format, RdfFormat::JsonLd { .. }) {
            prefixes.retain(|(prefix, _)| !schemes.contains(prefix));
        }
    }
    let mut writer = GraphWriter::new(format, &prefixes, out);
    let mut written = 0;
    for pattern in patterns {
        let mut statements = quads.statements(pattern);
        while let Some(batch) = statements.next_batch() {
            for mut statement in batch? {
                each(written)?;
                let graph = statement.graph_name;
                if !names_graphs {
                    statement.graph_name = GraphNameRef::DefaultGraph;
                }
                writer.write(statement).map_err(|error| in_graph(error, graph))?;
                written += 1;
            }
        }
    }
    writer.finish()?;
    Ok(written)
}

/// Checks all statements before they are written. Adds to `schemes` what JSON-LD could take for a prefix of theirs.
fn check_all(quads: &impl Quads, pattern: &IdPattern, format: RdfFormat, schemes: &mut HashSet<String>) -> Result<()> {
    let mut statements = quads.statements(pattern);
    while let Some(batch) = statements.next_batch() {
        for statement in batch? {
            writing::check(format, statement).map_err(|error| in_graph(error, statement.graph_name))?;
            writing::each_scheme(statement, |scheme| {
                if !schemes.contains(scheme) && schemes.len() < SCHEMES_MAX {
                    schemes.insert(scheme.to_owned());
                }
            });
        }
    }
    Ok(())
}

/// The error with the graph of the statement that has the term.
pub(super) fn in_graph(error: Error, name: GraphNameRef<'_>) -> Error {
    match error {
        Error::MalformedTerm { term, reason, .. } => {
            let graph = match name {
                GraphNameRef::DefaultGraph => "the default graph".to_owned(),
                name => name.to_string(),
            };
            Error::MalformedTerm { term, graph: Some(graph), reason }
        }
        error => error,
    }
}

/// Schemes of IRIs that are remembered. There are a few hundred in all.
const SCHEMES_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use oxrdf::{GraphName, Literal, NamedNode, Quad, Term};
    use oxrdfio::RdfParser;

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
    fn a_term_that_is_none_ends_the_dump_with_its_name_and_graph() {
        let bad = Literal::new_language_tagged_literal_unchecked("a", "x y");
        for (graph, named) in [(GraphName::DefaultGraph, "the default graph"), (name("g").into(), "<http://a/g>")] {
            let (_directory, store) = store(&[name("o").into(), bad.clone().into()], &graph);
            let snapshot = store.snapshot().unwrap();
            let pattern = match &graph {
                GraphName::NamedNode(node) => IdPattern::of_graph(snapshot.id(node.as_ref().into()).unwrap().unwrap()),
                _ => IdPattern::ALL,
            };
            let formats = [RdfFormat::NTriples, RdfFormat::NQuads, RdfFormat::Turtle, RdfFormat::RdfXml];
            for format in formats {
                let failed = dump(&snapshot, &pattern, format, Vec::new(), |_| Ok(())).expect_err("a bad language");
                let Error::MalformedTerm { term, graph: Some(graph), .. } = &failed else { panic!("{failed}") };
                assert_eq!((term.as_str(), graph.as_str()), ("\"a\"@x y", named));
                assert!(failed.to_string().contains("`x y` is not a language tag"), "{failed}");
            }
        }
    }

    #[test]
    fn prefixes_that_no_reader_takes_are_not_written() {
        let (_directory, store) = store(&[name("o").into()], &GraphName::DefaultGraph);
        let prefixes = ["_x", "_", "µ", "m²", "a b"];
        store
            .update(|transaction| prefixes.iter().try_for_each(|prefix| transaction.set_namespace(prefix, "http://a/")))
            .unwrap();
        for format in [RdfFormat::Turtle, RdfFormat::TriG, RdfFormat::RdfXml] {
            let mut out = Vec::new();
            dump(&store.snapshot().unwrap(), &IdPattern::ALL, format, &mut out, |_| Ok(())).unwrap();
            let text = String::from_utf8(out.clone()).unwrap();
            assert!(prefixes[2..].iter().all(|prefix| !text.contains(prefix)), "{text}");
            let quads: Result<Vec<_>, _> = RdfParser::from_format(format).for_slice(&out).collect();
            assert_eq!(quads.unwrap_or_else(|error| panic!("{error}: {text}")).len(), 1, "{text}");
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
