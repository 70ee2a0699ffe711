//! The quads of a damaged store that can still be read, written out as RDF.

use std::io::Write;

use oxrdf::{GraphName, GraphNameRef, NamedOrBlankNode, Quad, Term};
use oxrdfio::RdfFormat;

use super::dump::in_graph;
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::model::pattern::{GraphPattern, IdPattern, IdQuad};
use crate::quads::reading::Quads;
use crate::store::snapshot::Snapshot;
use crate::tables::{Index, Tables};
use crate::writing::GraphWriter;

/// As [`dump`](crate::dump), of a damaged store: writes the quads that can be read, and passes each error of damage to
/// `skipped`. One damaged page may cause many errors. It reads one index for each kind of graph and of statements, and
/// each term by itself, so it is slower.
///
/// Statements are not checked before they are written. If the format cannot represent one, the output ends there.
///
/// # Errors
/// As [`dump`](crate::dump), except for damage.
pub fn dump_readable(
    snapshot: &Snapshot,
    pattern: &IdPattern,
    format: RdfFormat,
    out: impl Write,
    mut each: impl FnMut(u64) -> Result<()>,
    mut skipped: impl FnMut(Error),
) -> Result<u64> {
    let prefixes = match format {
        // A prefix might be the scheme of an IRI, which is not known before.
        RdfFormat::JsonLd { .. } => Vec::new(),
        _ => readable(snapshot.namespaces(), &mut skipped)?.unwrap_or_default(),
    };
    let names_graphs = !matches!(pattern.graph, GraphPattern::Named(_));
    let mut writer = GraphWriter::new(format, &prefixes, out);
    let mut written = 0;
    for index in indexes(snapshot.tables(), pattern.graph) {
        for entry in snapshot.read().salvage(&index.table, ..)? {
            let quad = entry.map_err(Error::from).and_then(|(key, _)| {
                index.order.quad_of(&key).ok_or_else(|| snapshot.shared().damaged_key(&index.table))
            });
            let quad = readable(quad, &mut skipped)?.filter(|quad| pattern.matches(quad));
            let statement = quad.map(|quad| readable(statement(snapshot, &quad), &mut skipped)).transpose()?;
            let Some(statement) = statement.flatten() else { continue };
            each(written)?;
            let mut quad = statement.as_ref();
            if !names_graphs {
                quad.graph_name = GraphNameRef::DefaultGraph;
            }
            writer.write(quad).map_err(|error| in_graph(error, statement.graph_name.as_ref()))?;
            written += 1;
        }
    }
    writer.finish()?;
    Ok(written)
}

/// What was read; `None` if it is damaged, which is passed to `skipped`.
fn readable<T>(read: Result<T>, skipped: &mut impl FnMut(Error)) -> Result<Option<T>> {
    let error = match read {
        Ok(read) => return Ok(Some(read)),
        Err(error) => error,
    };
    match &error {
        Error::Damaged { .. } | Error::NoSuchTerm { .. } => {}
        Error::Engine(cause) if cause.is_corruption() => {}
        _ => return Err(error),
    }
    skipped(error);
    Ok(None)
}

/// One index for each kind of graph and of statements, as far as it may have quads of these graphs.
fn indexes(tables: &Tables, graphs: GraphPattern) -> impl Iterator<Item = &Index> {
    let explicit = [&tables.default_graph, &tables.named_graphs];
    let inferred = tables.inferred.iter().flat_map(|inferred| [&inferred.default_graph, &inferred.named_graphs]);
    explicit.into_iter().chain(inferred).filter_map(|indexes| indexes.first()).filter(move |index| {
        let is_of_named_graphs = index.order.is_of_named_graphs();
        match graphs {
            _ if tables.has_no_quads => false,
            GraphPattern::Any => true,
            GraphPattern::AnyNamed => is_of_named_graphs,
            GraphPattern::Default => !is_of_named_graphs,
            GraphPattern::Named(graph) => is_of_named_graphs == (graph != TermId::DEFAULT_GRAPH),
        }
    })
}

fn statement(snapshot: &Snapshot, quad: &IdQuad) -> Result<Quad> {
    let node = |id| match snapshot.term(id)? {
        Term::NamedNode(node) => Ok(NamedOrBlankNode::NamedNode(node)),
        Term::BlankNode(node) => Ok(NamedOrBlankNode::BlankNode(node)),
        _ => Err(snapshot.shared().misplaced_term(id)),
    };
    let Term::NamedNode(predicate) = snapshot.term(quad.predicate)? else {
        return Err(snapshot.shared().misplaced_term(quad.predicate));
    };
    let graph = match quad.graph == TermId::DEFAULT_GRAPH {
        true => GraphName::DefaultGraph,
        false => node(quad.graph)?.into(),
    };
    Ok(Quad::new(node(quad.subject)?, predicate, snapshot.term(quad.object)?, graph))
}
