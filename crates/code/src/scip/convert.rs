//! A document of SCIP as a [`Document`] of ours.

use std::collections::{BTreeMap, HashSet};

use scip::types;
use scip::types::occurrence::{Typed_enclosing_range, Typed_range};
use scip::types::symbol_information::Kind;

use crate::columns::{Columns, convert};
use crate::model::{Document, Occurrence, RelationKind, Role, Span, SymbolInfo};
use crate::scip::names::{descriptors, local, name_and_kind, parent};

/// What is wrong with a document, in words.
pub type Wrong = String;

/// The document, with columns in bytes if its text is given.
pub fn document(read: types::Document, text: Option<&str>, unspecified: Columns) -> Result<Document, Wrong> {
    let stated = columns(&read, unspecified);
    let mut lines = Lines::new(text, stated);
    let path = read.relative_path;
    let mut occurrences = Vec::with_capacity(read.occurrences.len());
    for (number, occurrence) in read.occurrences.into_iter().enumerate() {
        let wrong = |wrong: Wrong| format!("occurrence {number}: {wrong}");
        let (span, extent) = spans(&occurrence).map_err(wrong)?;
        if occurrence.symbol.is_empty() {
            // It says how to colour the text.
            continue;
        }
        occurrences.push(Occurrence {
            span: lines.span(span),
            symbol: symbol_in(&occurrence.symbol, &path),
            role: role(occurrence.symbol_roles),
            extent: extent.map(|extent| lines.span(extent)),
        });
    }
    let symbols = read.symbols.into_iter().map(|info| symbol(info, &path)).collect();
    let columns = if text.is_some() { Columns::Utf8 } else { stated };
    let wide_lines = lines.wide;
    let mut document =
        Document { path, language: read.language.to_lowercase(), columns, wide_lines, occurrences, symbols };
    attach_to_types(&mut document);
    document.normalise();
    Ok(document)
}

/// Makes what is in an `impl` of Rust a part of its type, if the type is defined in the same module of the same file.
fn attach_to_types(document: &mut Document) {
    let defined = document.occurrences.iter().filter(|occurrence| occurrence.role == Role::Definition);
    let defined: HashSet<&str> = defined.map(|occurrence| occurrence.symbol.as_str()).collect();
    for info in &mut document.symbols {
        let Some(enclosing) = &info.enclosing else { continue };
        let Some(steps) = descriptors(enclosing) else { continue };
        let Some(at) = steps.iter().rposition(|step| (step.name, step.kind) == ("impl", "type")) else { continue };
        let [implemented, traits @ ..] = &steps[at + 1..] else { continue };
        // What is in a method of an `impl` is a part of the method.
        if !std::iter::once(implemented).chain(traits).all(|step| step.kind == "type parameter") {
            continue;
        }
        let ty = format!("{}{}#", &enclosing[..steps[at].start], implemented.name);
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

/// A symbol that no other file has.
fn symbol_in(symbol: &str, path: &str) -> String {
    match local(symbol) {
        Some(_) => format!("{symbol} {path}"),
        None => symbol.to_owned(),
    }
}

/// `AbstractMethod` as `abstract method`.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

fn columns(read: &types::Document, unspecified: Columns) -> Columns {
    match read.position_encoding.enum_value() {
        Ok(types::PositionEncoding::UTF8CodeUnitOffsetFromLineStart) => Columns::Utf8,
        Ok(types::PositionEncoding::UTF16CodeUnitOffsetFromLineStart) => Columns::Utf16,
        Ok(types::PositionEncoding::UTF32CodeUnitOffsetFromLineStart) => Columns::Utf32,
        Ok(types::PositionEncoding::UnspecifiedPositionEncoding) | Err(_) => unspecified,
    }
}

/// The strongest of the roles, which are bits.
fn role(bits: i32) -> Role {
    let is = |role: types::SymbolRole| bits & role as i32 != 0;
    match () {
        () if is(types::SymbolRole::Definition) => Role::Definition,
        () if is(types::SymbolRole::ForwardDefinition) => Role::Declaration,
        () if is(types::SymbolRole::Import) => Role::Import,
        () if is(types::SymbolRole::WriteAccess) => Role::Write,
        () if is(types::SymbolRole::ReadAccess) => Role::Read,
        () => Role::Reference,
    }
}

/// The range of an occurrence, and that of the definition around it.
fn spans(read: &types::Occurrence) -> Result<(Span, Option<Span>), Wrong> {
    let single = |range: &types::SingleLineRange| vec![range.line, range.start_character, range.end_character];
    let multi = |range: &types::MultiLineRange| {
        vec![range.start_line, range.start_character, range.end_line, range.end_character]
    };
    let range = match &read.typed_range {
        Some(Typed_range::SingleLineRange(range)) => single(range),
        Some(Typed_range::MultiLineRange(range)) => multi(range),
        _ => read.range.clone(),
    };
    let enclosing = match &read.typed_enclosing_range {
        Some(Typed_enclosing_range::SingleLineEnclosingRange(range)) => single(range),
        Some(Typed_enclosing_range::MultiLineEnclosingRange(range)) => multi(range),
        _ => read.enclosing_range.clone(),
    };
    let extent = if enclosing.is_empty() { None } else { Some(span(&enclosing)?) };
    Ok((span(&range)?, extent))
}

fn span(range: &[i32]) -> Result<Span, Wrong> {
    let numbers: Option<Vec<u32>> = range.iter().map(|number| u32::try_from(*number).ok()).collect();
    let span = match numbers.as_deref() {
        Some(&[line, column, end_column]) => Span { line, column, end_line: line, end_column },
        Some(&[line, column, end_line, end_column]) => Span { line, column, end_line, end_column },
        _ => return Err(format!("the range {range:?} has not three or four natural numbers")),
    };
    match (span.line, span.column) <= (span.end_line, span.end_column) {
        true => Ok(span),
        false => Err(format!("the range {range:?} ends before it begins")),
    }
}

/// The lines of a text, and those of them that are wide.
struct Lines<'t> {
    lines: Vec<&'t str>,
    columns: Columns,
    wide: BTreeMap<u32, String>,
}

impl<'t> Lines<'t> {
    fn new(text: Option<&'t str>, columns: Columns) -> Self {
        let lines = text.map(|text| text.lines().collect()).unwrap_or_default();
        Self { lines, columns, wide: BTreeMap::new() }
    }

    fn span(&mut self, span: Span) -> Span {
        let (column, end_column) = (self.column(span.line, span.column), self.column(span.end_line, span.end_column));
        Span { column, end_column, ..span }
    }

    fn column(&mut self, line: u32, column: u32) -> u32 {
        match self.lines.get(line as usize) {
            Some(text) if !text.is_ascii() => {
                self.wide.entry(line).or_insert_with(|| (*text).to_owned());
                convert(text, column, self.columns, Columns::Utf8)
            }
            _ => column,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_three_or_four_numbers_in_order() {
        assert_eq!(span(&[1, 2, 3]), Ok(Span { line: 1, column: 2, end_line: 1, end_column: 3 }));
        assert_eq!(span(&[1, 2, 3, 0]), Ok(Span { line: 1, column: 2, end_line: 3, end_column: 0 }));
        for wrong in [&[][..], &[1], &[1, 2], &[1, 3, 2], &[2, 0, 1, 9], &[0, -1, 4], &[1, 2, 3, 4, 5]] {
            assert!(span(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn kinds_are_words() {
        assert_eq!((words("AbstractMethod").as_str(), words("Enum").as_str()), ("abstract method", "enum"));
    }
}
