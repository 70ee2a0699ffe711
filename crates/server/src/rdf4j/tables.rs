//! Small tables: the repositories, namespaces and graphs, as results of a query.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use fulgurite_rdf::oxrdf::{Term, TermRef, Variable};
use fulgurite_rdf::sparesults::QueryResultsSerializer;

use crate::http::refusal::Refusal;
use crate::protocol::negotiation::{RESULTS, negotiate};

/// The answer with these rows, in the format that the client wants.
///
/// # Errors
/// 406 if it wants none that there is.
pub fn table<const N: usize>(
    headers: &HeaderMap,
    columns: [&str; N],
    rows: impl IntoIterator<Item = [Term; N]>,
) -> Result<Response, Refusal> {
    let (media_type, format) = negotiate(headers, RESULTS)?;
    let failed = |error: std::io::Error| Refusal::failure(format!("a table: {error}"));
    let columns = columns.map(Variable::new_unchecked);
    let serializer = QueryResultsSerializer::from_format(format);
    let mut writer = serializer.serialize_solutions_to_writer(Vec::new(), columns.to_vec()).map_err(failed)?;
    for row in rows {
        writer.serialize(columns.iter().map(Variable::as_ref).zip(row.iter().map(TermRef::from))).map_err(failed)?;
    }
    let mut response = Response::new(Body::from(writer.finish().map_err(failed)?));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}
