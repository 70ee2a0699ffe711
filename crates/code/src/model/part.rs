//! [`Part`]: a part of an index, the unit that owns its facts, and its digest.

use xxhash_rust::xxh3::xxh3_128;

use crate::model::details::{Details, Tool};
use crate::model::{Document, EXTERNAL_UNIT, Occurrence, Span, SymbolInfo};

/// A part of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A file.
    Document(Document),
    /// A symbol of another project.
    External(SymbolInfo),
    /// Further data about a file, or about symbols of other projects.
    Details(Box<Details>),
    /// An indexer that was run.
    Tool(Tool),
}

impl Part {
    /// The unit that owns its facts.
    #[must_use]
    pub fn unit(&self) -> &str {
        match self {
            Part::Document(document) => &document.path,
            Part::External(_) => EXTERNAL_UNIT,
            Part::Details(details) => details.unit(),
            Part::Tool(tool) => tool.unit(),
        }
    }

    /// A number that differs between parts with different facts.
    #[must_use]
    pub fn digest(&self) -> u128 {
        let mut bytes = Vec::new();
        match self {
            Part::Document(document) => {
                put(&mut bytes, &document.language);
                bytes.push(document.columns as u8);
                document.wide_lines.iter().for_each(|(line, text)| {
                    bytes.extend_from_slice(&line.to_le_bytes());
                    put(&mut bytes, text);
                });
                document.occurrences.iter().for_each(|occurrence| put_occurrence(&mut bytes, occurrence));
                document.symbols.iter().for_each(|info| put_info(&mut bytes, info));
            }
            Part::External(info) => put_info(&mut bytes, info),
            // Unlike for the others, how these are written may change: then their facts are written again.
            Part::Details(details) => put(&mut bytes, &format!("{details:?}")),
            Part::Tool(tool) => put(&mut bytes, &format!("{tool:?}")),
        }
        xxh3_128(&bytes)
    }
}

fn put(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn put_span(bytes: &mut Vec<u8>, span: Span) {
    for number in [span.line, span.column, span.end_line, span.end_column] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn put_occurrence(bytes: &mut Vec<u8>, occurrence: &Occurrence) {
    bytes.push(b'o');
    put_span(bytes, occurrence.span);
    put(bytes, &occurrence.symbol);
    bytes.push(occurrence.role as u8);
    if let Some(extent) = occurrence.extent {
        bytes.push(1);
        put_span(bytes, extent);
    }
}

fn put_info(bytes: &mut Vec<u8>, info: &SymbolInfo) {
    bytes.push(b's');
    for text in [&info.symbol, &info.name, &info.kind, &info.signature] {
        put(bytes, text);
    }
    bytes.extend_from_slice(&(info.documentation.len() as u64).to_le_bytes());
    info.documentation.iter().for_each(|text| put(bytes, text));
    put(bytes, info.enclosing.as_deref().unwrap_or_default());
    for (kind, target) in &info.relations {
        bytes.push(*kind as u8);
        put(bytes, target);
    }
}
