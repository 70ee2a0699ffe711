//! SPARQL queries over snapshots, evaluated by the store.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use fulgurite_rdf::oxrdf::{GraphName, Term, Variable};
use fulgurite_rdf::sparql::{Limits, Query};
use fulgurite_rdf::{Error, Snapshot};
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};
use quick_cache::sync::Cache;

use super::objects::RunningQuery;
use super::objects::terms::{DEFAULT_GRAPH, take, take_number, take_term, take_text};
use super::reads::kinds;
use crate::arguments::{Bytes, array, text};
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 2] = [
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn query(
            snapshot: jlong, sparql: JString, base: JString, given: jbyte[], length: jint, kinds: jint, memory: jlong
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn next_solutions(query: jlong) -> jbyte[],
    },
];

/// How long a call waits for results, so that Java can look for interrupts.
const WAIT: Duration = Duration::from_millis(50);

/// Begins to evaluate a query, and returns its handle. Returns 0 if this store's SPARQL does not have the query. The
/// bytes of `given` are: 1 if a dataset is given, otherwise 0; if so, the number of default graphs and the graphs, the
/// number of named graphs and the graphs; the number of bindings, and the name and the term of each. A number has four
/// bytes, and a graph is a term, or the byte 8 for the default graph of the store. `memory` is the most memory of the
/// evaluation in bytes, 0 for no limit.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn query<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    snapshot: jlong,
    sparql: JString<'l>,
    base: JString<'l>,
    given: JByteArray<'l>,
    length: jint,
    kinds_of: jint,
    memory: jlong,
) -> Result<jlong> {
    let limits = match u64::try_from(memory) {
        Ok(0) => Limits::new(),
        Ok(bytes) => Limits::new().memory_bytes_max(bytes),
        Err(_) => return Err(Failure::Invalid(format!("{memory} bytes are no limit of memory"))),
    };
    let base = if base.is_null() { None } else { Some(text(env, &base)?) };
    let source = (text(env, &sparql)?, base);
    let query = match parse(&source) {
        Ok(query) => Query::clone(&query),
        Err(Error::SparqlSyntax { .. } | Error::Invalid { .. }) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let given = Bytes::of_first(env, &given, length)?;
    let query = with_given(query, &given)?;
    let kinds = kinds(kinds_of)?;
    let snapshot: Snapshot = REGISTRY.with(snapshot, |object| Ok(object.snapshot()?.of_kinds(kinds)))?;
    Ok(REGISTRY.add(Object::Query(RunningQuery::start(&source.0, query, snapshot, limits)?)))
}

/// A text and its base.
type Source = (String, Option<String>);

/// Up to [`PARSED_MAX`] parsed queries, of all stores of the process. Programs repeat texts, with other bindings or
/// other data.
static PARSED: LazyLock<Cache<Source, Arc<Query>>> = LazyLock::new(|| Cache::new(PARSED_MAX));

/// The maximum number of parsed queries that are kept.
const PARSED_MAX: usize = 256;

/// A query with a longer text is not kept.
const KEPT_BYTES_MAX: usize = 16 << 10;

fn parse(source: &Source) -> fulgurite_rdf::Result<Arc<Query>> {
    if let Some(query) = PARSED.get(source) {
        return Ok(query);
    }
    let (text, base) = source;
    let query = Arc::new(Query::parse_rdf_star(text, base.as_deref(), &[])?.union_default_graph(true));
    if text.len() + base.as_ref().map_or(0, String::len) <= KEPT_BYTES_MAX {
        PARSED.insert(source.clone(), Arc::clone(&query));
    }
    Ok(query)
}

/// Sets the dataset and the bindings.
fn with_given(mut query: Query, mut bytes: &[u8]) -> Result<Query> {
    if take(&mut bytes, 1)? == [1] {
        for _ in 0..take_number(&mut bytes)? {
            query = query.with_default_graph(take_graph(&mut bytes)?);
        }
        for _ in 0..take_number(&mut bytes)? {
            match take_graph(&mut bytes)? {
                GraphName::NamedNode(name) => query = query.with_named_graph(name),
                GraphName::BlankNode(name) => query = query.with_named_graph(name),
                // The default graph has no name, so `GRAPH` does not find it.
                GraphName::DefaultGraph => {}
            }
        }
    }
    for _ in 0..take_number(&mut bytes)? {
        let name = take_text(&mut bytes)?;
        let variable = Variable::new(name)
            .map_err(|_| Failure::Invalid(format!("`{name}` is not a name of a variable of SPARQL")))?;
        query = query.with_binding(variable, take_term(&mut bytes)?);
    }
    Ok(query)
}

fn take_graph(bytes: &mut &[u8]) -> Result<GraphName> {
    if bytes.first() == Some(&DEFAULT_GRAPH) {
        take(bytes, 1)?;
        return Ok(GraphName::DefaultGraph);
    }
    match take_term(bytes)? {
        Term::NamedNode(name) => Ok(name.into()),
        Term::BlankNode(name) => Ok(name.into()),
        _ => Err(Failure::Invalid("a graph must be an IRI or a blank node".to_owned())),
    }
}

/// The next batch of a query: see `objects::query`. Returns null if there is none for a while.
fn next_solutions<'l>(env: &mut Env<'l>, _: JClass<'l>, query: jlong) -> Result<JByteArray<'l>> {
    // Closing the query does not wait for this call.
    let running = REGISTRY.with(query, |object| object.query().cloned())?;
    match running.next(WAIT)? {
        Some(batch) => array(env, &batch),
        None => Ok(JByteArray::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kept(source: &Source) -> bool {
        let first = parse(source).expect("the text is a query");
        Arc::ptr_eq(&first, &parse(source).expect("the text is a query"))
    }

    #[test]
    fn a_text_with_its_base_is_parsed_once_unless_it_is_long() {
        let text = "ASK { <s> ?p ?o }";
        let bases = ["http://a.example/", "http://b.example/"].map(|base| (text.to_owned(), Some(base.to_owned())));
        assert!(bases.iter().all(is_kept));
        assert!(!Arc::ptr_eq(&parse(&bases[0]).unwrap(), &parse(&bases[1]).unwrap()));
        let padded = |length: usize| (format!("ASK {{ ?s ?p ?o }}{}", " ".repeat(length - 16)), None);
        assert_eq!(padded(100).0.len(), 100);
        assert!(is_kept(&padded(KEPT_BYTES_MAX)));
        assert!(!is_kept(&padded(KEPT_BYTES_MAX + 1)));
        for number in 0..2 * PARSED_MAX {
            parse(&(format!("ASK {{ VALUES ?o {{ {number} }} }}"), None)).unwrap();
        }
        assert!(PARSED.len() <= PARSED_MAX);
    }
}
