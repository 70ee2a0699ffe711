//! A document of SCIP as a [`Document`] of ours.

use std::collections::{BTreeMap, HashMap, HashSet};

use scip::types;
use scip::types::symbol_information::Kind;

use crate::columns::{Columns, convert};
use crate::model::details::Details;
use crate::model::{Document, Occurrence, RelationKind, Role, Span, SymbolInfo};
use crate::scip::details;
use crate::scip::names::{
    TYPE_PARAMETER, descriptors, name_and_kind, parent, role, symbol_in, without_parameters, words,
};
use crate::scip::ranges::{Wrong, spans};

/// The document, with columns in bytes if its text is given, and what else is said of it.
///
/// # Errors
/// What is wrong with it.
pub fn document(read: types::Document, text: Option<&str>, unspecified: Columns) -> Result<(Document, Details), Wrong> {
    let stated = columns(&read, unspecified);
    let mut lines = Lines::new(text, stated);
    let (path, language) = (read.relative_path, read.language.to_lowercase());
    let embedded = Some(read.text).filter(|text| !text.is_empty());
    let mut details = Details { path: Some(path.clone()), text: embedded, ..Details::default() };
    let mut occurrences = Vec::with_capacity(read.occurrences.len());
    for (number, occurrence) in read.occurrences.into_iter().enumerate() {
        let wrong = |wrong: Wrong| format!("occurrence {number}: {wrong}");
        let (span, extent) = spans(&occurrence).map_err(wrong)?;
        let (span, extent) = (lines.span(span), extent.map(|extent| lines.span(extent)));
        details::occurrence(&mut details, &occurrence, (span, extent), &path);
        // One without a symbol says how to colour the text, or what a compiler says of it.
        if !occurrence.symbol.is_empty() {
            let (symbol, role) = (symbol_in(&occurrence.symbol, &path), role(occurrence.symbol_roles));
            occurrences.push(Occurrence { span, symbol, role, extent });
        }
    }
    read.symbols.iter().for_each(|info| details::signature(&mut details, info, &path, &language));
    let symbols = read.symbols.into_iter().map(|info| symbol(info, &path)).collect();
    let columns = if text.is_some() { Columns::Utf8 } else { stated };
    let wide_lines = lines.wide;
    let mut document = Document { path, language, columns, wide_lines, occurrences, symbols };
    attach_to_types(&mut document);
    document.normalise();
    details.normalise();
    Ok((document, details))
}

/// Makes what is in an `impl` of Rust a part of its type, if the type is defined in the same module of the same file.
/// Type parameters stay with the `impl`: the type has its own.
fn attach_to_types(document: &mut Document) {
    let defined = document.occurrences.iter().filter(|occurrence| occurrence.role == Role::Definition);
    let defined: HashSet<&str> = defined.map(|occurrence| occurrence.symbol.as_str()).collect();
    for info in document.symbols.iter_mut().filter(|info| info.kind != TYPE_PARAMETER) {
        let Some(enclosing) = &info.enclosing else { continue };
        let Some(steps) = descriptors(enclosing) else { continue };
        let Some(at) = steps.iter().rposition(|step| (step.name, step.kind) == ("impl", "type")) else { continue };
        let [implemented, traits @ ..] = &steps[at + 1..] else { continue };
        // What is in a method of an `impl` is a part of the method.
        if !std::iter::once(implemented).chain(traits).all(|step| step.kind == TYPE_PARAMETER) {
            continue;
        }
        let ty = format!("{}{}#", &enclosing[..steps[at].start], without_parameters(implemented.name));
        if defined.contains(ty.as_str()) {
            info.enclosing = Some(ty);
        }
    }
}

/// What is known of a symbol, which is local to `path` if it is a local one.
pub fn symbol(read: types::SymbolInformation, path: &str) -> SymbolInfo {
    let symbol = symbol_in(&read.symbol, path);
    let (name, kind) = name_and_kind(&read.symbol);
    let name = if read.display_name.is_empty() { name } else { read.display_name };
    let kind = match read.kind.enum_value() {
        Ok(Kind::UnspecifiedKind) | Err(_) => kind,
        Ok(kind) => words(&format!("{kind:?}")),
    };
    let enclosing = match read.enclosing_symbol.as_str() {
        "" => parent(&read.symbol).map(str::to_owned),
        enclosing => Some(symbol_in(enclosing, path)),
    };
    let mut relations = Vec::new();
    for relation in read.relationships {
        let kinds = [
            (relation.is_implementation, RelationKind::Implementation),
            (relation.is_type_definition, RelationKind::TypeDefinition),
            (relation.is_reference, RelationKind::Reference),
            (relation.is_definition, RelationKind::Definition),
        ];
        let kinds = kinds.into_iter().filter(|(is_so, _)| *is_so);
        relations.extend(kinds.map(|(_, kind)| (kind, symbol_in(&relation.symbol, path))));
    }
    relations.sort_unstable();
    relations.dedup();
    let signature = read.signature_documentation.into_option().map(|signature| signature.text).unwrap_or_default();
    SymbolInfo { symbol, name, kind, signature, documentation: read.documentation, enclosing, relations }
}

fn columns(read: &types::Document, unspecified: Columns) -> Columns {
    match read.position_encoding.enum_value() {
        Ok(types::PositionEncoding::UTF8CodeUnitOffsetFromLineStart) => Columns::Utf8,
        Ok(types::PositionEncoding::UTF16CodeUnitOffsetFromLineStart) => Columns::Utf16,
        Ok(types::PositionEncoding::UTF32CodeUnitOffsetFromLineStart) => Columns::Utf32,
        Ok(types::PositionEncoding::UnspecifiedPositionEncoding) | Err(_) => unspecified,
    }
}

/// The lines of a text, and those of them that are wide. Sources that a program wrote can have all of their text in one
/// line.
struct Lines<'t> {
    /// Each line, and whether it is wide.
    lines: Vec<(&'t str, bool)>,
    columns: Columns,
    wide: BTreeMap<u32, String>,
    /// Columns of wide lines, as the indexer counts them and in bytes, from the first column on.
    known: HashMap<u32, Vec<(u32, usize)>>,
}

impl<'t> Lines<'t> {
    fn new(text: Option<&'t str>, columns: Columns) -> Self {
        let lines = text.map(|text| text.lines().map(|line| (line, !line.is_ascii())).collect()).unwrap_or_default();
        Self { lines, columns, wide: BTreeMap::new(), known: HashMap::new() }
    }

    fn span(&mut self, span: Span) -> Span {
        let (column, end_column) = (self.column(span.line, span.column), self.column(span.end_line, span.end_column));
        Span { column, end_column, ..span }
    }

    fn column(&mut self, line: u32, column: u32) -> u32 {
        let Some((text, true)) = self.lines.get(line as usize) else { return column };
        self.wide.entry(line).or_insert_with(|| (*text).to_owned());
        if self.columns == Columns::Utf8 {
            return column;
        }
        let known = self.known.entry(line).or_insert_with(|| known_columns(text, self.columns));
        let after = known.partition_point(|(counted, _)| *counted <= column);
        let (counted, start) = known[after - 1];
        let end = known.get(after).map_or(text.len(), |(_, end)| *end);
        let within = convert(&text[start..end], column - counted, self.columns, Columns::Utf8);
        u32::try_from(start).unwrap_or(u32::MAX).saturating_add(within)
    }
}

/// Columns of a line, as they are counted and in bytes, at most [`KNOWN_BYTES`] and one character apart. The first is
/// 0.
fn known_columns(line: &str, columns: Columns) -> Vec<(u32, usize)> {
    let (mut known, mut counted) = (vec![(0, 0)], 0_usize);
    let mut next = KNOWN_BYTES;
    for (at, character) in line.char_indices() {
        if at >= next {
            known.push((u32::try_from(counted).unwrap_or(u32::MAX), at));
            next = at + KNOWN_BYTES;
        }
        counted += columns.width(character);
    }
    known
}

/// So many bytes of a line at most are read to convert one column.
const KNOWN_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_long_line_are_those_that_are_counted_from_its_beginning() {
        let line = "let ä = \"🦀\"; plain text behind it ".repeat(200);
        for columns in [Columns::Utf8, Columns::Utf16, Columns::Utf32] {
            let mut lines = Lines::new(Some(line.as_str()), columns);
            assert!(known_columns(&line, columns).len() > 5);
            let end = u32::try_from(line.len()).expect("it is short") + 100;
            for column in (0..end).rev().step_by(7) {
                let expected = convert(&line, column, columns, Columns::Utf8);
                assert_eq!(lines.column(0, column), expected, "{columns:?} {column}");
            }
            assert_eq!(lines.column(0, u32::MAX), convert(&line, u32::MAX, columns, Columns::Utf8));
            assert_eq!(lines.wide.len(), 1);
        }
    }
}
