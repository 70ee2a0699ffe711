//! Whether a format can express a statement or a solution.

use oxrdf::{GraphNameRef, NamedOrBlankNodeRef, QuadRef, TermRef, TripleRef};
use oxrdfio::RdfFormat;
use sparesults::QueryResultsFormat;

use super::rdf_xml;
use super::terms::TermCheck;
use super::unwritable::unwritable;
use crate::error::Result;

/// Whether a form has statements that it cannot say.
pub fn is_limited(format: RdfFormat) -> bool {
    matches!(format, RdfFormat::RdfXml | RdfFormat::JsonLd { .. })
}

/// Whether a form has solutions that it cannot say.
pub fn is_limited_in_results(format: QueryResultsFormat) -> bool {
    format == QueryResultsFormat::Xml
}

/// Whether a form can say a statement.
///
/// # Errors
/// [`Error::Unwritable`] if it cannot; [`Error::MalformedTerm`] if no form can.
pub fn check(format: RdfFormat, quad: QuadRef<'_>) -> Result<()> {
    TermCheck::default().check(quad)?;
    check_form(format, quad)
}

/// As [`check`], of a statement whose terms have been checked by themselves.
///
/// # Errors
/// [`Error::Unwritable`].
pub fn check_form(format: RdfFormat, quad: QuadRef<'_>) -> Result<()> {
    match format {
        RdfFormat::RdfXml => rdf_xml::check(quad.into()),
        RdfFormat::JsonLd { .. } => check_json(quad.into()),
        _ => Ok(()),
    }
}

fn check_json(triple: TripleRef<'_>) -> Result<()> {
    match triple.object {
        TermRef::Triple(_) => Err(unwritable(triple.object, "JSON-LD", "it has no triple terms")),
        _ => Ok(()),
    }
}

/// What comes before the first colon of the IRIs of a quad, where `//` does not follow: JSON-LD reads that as a prefix,
/// if it is one.
pub fn each_scheme<'q>(quad: QuadRef<'q>, mut each: impl FnMut(&'q str)) {
    let mut iri = |iri: &'q str| {
        if let Some((scheme, rest)) = iri.split_once(':')
            && !rest.starts_with("//")
        {
            each(scheme);
        }
    };
    if let NamedOrBlankNodeRef::NamedNode(node) = quad.subject {
        iri(node.as_str());
    }
    iri(quad.predicate.as_str());
    match quad.object {
        TermRef::NamedNode(node) => iri(node.as_str()),
        TermRef::Literal(literal) => iri(literal.datatype().as_str()),
        TermRef::BlankNode(_) | TermRef::Triple(_) => {}
    }
    if let GraphNameRef::NamedNode(node) = quad.graph_name {
        iri(node.as_str());
    }
}
