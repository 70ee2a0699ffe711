//! Which form of an answer a client wants, by its `Accept`, and which form of RDF a body has, by its `Content-Type`.

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use fulgurite_rdf::RdfFormat;
use fulgurite_rdf::oxrdfio::JsonLdProfileSet;
use fulgurite_rdf::sparesults::QueryResultsFormat;

use crate::http::content::{content_type, essence};
use crate::http::refusal::Refusal;

/// A form that can be had: what it is sent as, what else it is asked for as, and what it is.
pub type Offer<F> = (&'static str, &'static [&'static str], F);

const JSON_LD: RdfFormat = RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() };

/// Of solutions, the preferred one first.
pub const RESULTS: &[Offer<QueryResultsFormat>] = &[
    ("application/sparql-results+json", &["application/json"], QueryResultsFormat::Json),
    ("application/sparql-results+xml", &["application/xml", "text/xml"], QueryResultsFormat::Xml),
    ("text/csv; charset=utf-8", &[], QueryResultsFormat::Csv),
    ("text/tab-separated-values; charset=utf-8", &["text/tsv"], QueryResultsFormat::Tsv),
];

/// Of triples, the preferred one first.
pub const GRAPHS: &[Offer<RdfFormat>] = &[
    ("text/turtle; charset=utf-8", &["application/turtle", "application/x-turtle"], RdfFormat::Turtle),
    ("application/n-triples", &["text/plain"], RdfFormat::NTriples),
    ("application/rdf+xml", &["application/xml", "text/xml"], RdfFormat::RdfXml),
    ("application/ld+json", &["application/json"], JSON_LD),
    ("application/trig", &["application/x-trig"], RdfFormat::TriG),
    ("application/n-quads", &["text/x-nquads"], RdfFormat::NQuads),
];

/// Of all graphs in one document, the preferred one first.
pub const DATASETS: &[Offer<RdfFormat>] = &[
    ("application/trig", &["application/x-trig"], RdfFormat::TriG),
    ("application/n-quads", &["text/x-nquads"], RdfFormat::NQuads),
    ("application/ld+json", &["application/json"], JSON_LD),
];

/// The offer that the client likes best; the first of those that it likes equally.
///
/// # Errors
/// 406 with the list, if it likes none.
pub fn negotiate<F: Copy>(headers: &HeaderMap, offers: &[Offer<F>]) -> Result<(&'static str, F), Refusal> {
    let ranges = accepted(headers);
    if ranges.is_empty() {
        return Ok((offers[0].0, offers[0].2));
    }
    let mut best: Option<(u16, &Offer<F>)> = None;
    for offer in offers {
        let quality = quality(&ranges, offer);
        if quality > best.map_or(0, |(best, _)| best) {
            best = Some((quality, offer));
        }
    }
    match best {
        Some((_, offer)) => Ok((offer.0, offer.2)),
        None => {
            let list: Vec<&str> = offers.iter().map(|offer| offer.0).collect();
            let message = format!("no requested format is available for this answer; available:\n{}", list.join("\n"));
            Err(Refusal::of(StatusCode::NOT_ACCEPTABLE, message))
        }
    }
}

/// The names of an offer, without parameters.
fn names<F>(offer: &Offer<F>) -> impl Iterator<Item = &'static str> {
    [offer.0].into_iter().chain(offer.1.iter().copied()).map(essence)
}

/// A range of `Accept`: a media type, whose parts may be `*`, and its quality in thousandths.
struct Range {
    kind: String,
    quality: u16,
}

fn accepted(headers: &HeaderMap) -> Vec<Range> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(','));
    ranges.filter(|range| !range.trim().is_empty()).map(range).collect()
}

fn range(text: &str) -> Range {
    let quality = text.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value: f32 = name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().ok())??;
        Some((value.clamp(0.0, 1.0) * 1000.0).round() as u16)
    });
    Range { kind: essence(text).to_ascii_lowercase(), quality: quality.unwrap_or(1000) }
}

/// The quality of an offer: that of the range that fits the name that it is sent as most closely, or of its other
/// names, which only ranges without `*` mean. An offer whose own name is refused is not sent by another one.
fn quality<F>(ranges: &[Range], offer: &Offer<F>) -> u16 {
    let sent = essence(offer.0);
    let exact = |name: &str| ranges.iter().filter(|range| range.kind == name).map(|range| range.quality).max();
    if exact(sent) == Some(0) {
        return 0;
    }
    let aliases = offer.1.iter().filter_map(|name| exact(name)).max();
    let closeness = |range: &Range| match range.kind.as_str() {
        kind if kind == sent => 3,
        "*/*" | "*" => 1,
        kind => match kind.strip_suffix("/*") {
            Some(major) if sent.split('/').next() == Some(major) => 2,
            _ => 0,
        },
    };
    let fitting = ranges.iter().map(|range| (closeness(range), range.quality)).filter(|(closeness, _)| *closeness > 0);
    fitting.max().map_or(0, |(_, quality)| quality).max(aliases.unwrap_or(0))
}

/// The form of RDF that a body has.
///
/// # Errors
/// 415 with the list, if it is none.
pub fn graph_format(headers: &HeaderMap) -> Result<RdfFormat, Refusal> {
    let kind = content_type(headers)?;
    if let Some(offer) = GRAPHS.iter().find(|offer| names(offer).any(|name| name == kind)) {
        return Ok(offer.2);
    }
    let list: Vec<&str> = GRAPHS.iter().map(|offer| essence(offer.0)).collect();
    let list = list.join("\n");
    let message = match kind.as_str() {
        "" => format!("the request has no Content-Type; send one of:\n{list}"),
        kind if kind.starts_with("multipart/") => {
            format!("{kind} is not accepted; send one document per request, as one of:\n{list}")
        }
        kind => format!("{kind} is not a supported RDF format; send one of:\n{list}"),
    };
    Err(Refusal::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(accept: &str) -> Option<QueryResultsFormat> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        negotiate(&headers, RESULTS).ok().map(|(_, format)| format)
    }

    #[test]
    fn the_form_with_the_highest_quality_is_chosen_and_the_closest_range_counts() {
        use QueryResultsFormat::{Csv, Json, Tsv, Xml};
        for (accept, expected) in [
            ("text/csv", Some(Csv)),
            ("TEXT/CSV;q=1.0", Some(Csv)),
            ("*/*", Some(Json)),
            ("", Some(Json)),
            ("text/*", Some(Csv)),
            ("text/xml", Some(Xml)),
            ("application/*", Some(Json)),
            ("application/*;q=0.2, text/*;q=0.1", Some(Json)),
            ("text/csv;q=0.5, application/xml;q=0.6", Some(Xml)),
            ("application/sparql-results+json;q=0, */*;q=0.1", Some(Xml)),
            ("application/sparql-results+json;q=0, application/json", None),
            ("application/json;q=0, */*", Some(Json)),
            ("*/*;q=0, application/json", Some(Json)),
            ("application/sparql-results+json;q=0, application/json;q=0, */*;q=0.1", Some(Xml)),
            ("text/tab-separated-values, text/csv;q=0.9, */*;q=0.1", Some(Tsv)),
            ("image/png", None),
            ("text/csv;q=0", None),
        ] {
            assert_eq!(chosen(accept), expected, "{accept}");
        }
        assert_eq!(negotiate(&HeaderMap::new(), RESULTS).unwrap().1, Json);
    }
}
