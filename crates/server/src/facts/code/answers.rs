//! The answers about an index of code, one function for each verb.

use std::ops::ControlFlow;

use fulgurite_code::{CodeReader, Description, FoundDiagnostic, Located, Place, Relative, Span, Summary, SymbolId};
use serde_json::{Value as Json, json};

use crate::facts::code::asked::Asked;
use crate::facts::code::list::List;
use crate::facts::fields::Fields;
use crate::http::refusal::Refusal;

/// The definitions of a file, in the order of places.
///
/// # Errors
/// As all others: 400 with the field that is wrong; 404, if the index does not have what is asked about.
pub fn symbols(asked: &Asked<'_>, mut fields: Fields) -> Result<String, Refusal> {
    let path = required(&mut fields, "file", "the path of a source file, from the indexed directory on")?;
    let all = fields.flag("all")?;
    let mut list = List::of(&mut fields, asked, asked.results_max)?;
    fields.end()?;
    let file = asked.reader.file(&path)?;
    let outline = if all { asked.reader.whole_outline(&file)? } else { asked.reader.outline(&file)? };
    for definition in outline {
        let definition = definition?;
        if !list.add(|| Ok(entry(&definition.what, Some(&definition.place))))? {
            break;
        }
    }
    Ok(list.answer("symbols", &[]))
}

/// What is known of the symbols that are asked about. The limit is that of symbols, and of the definitions of each.
pub fn describe(asked: &Asked<'_>, mut fields: Fields) -> Result<String, Refusal> {
    let symbols = symbols_of(asked, &mut fields)?;
    let mut list = List::of(&mut fields, asked, asked.results_max)?;
    fields.end()?;
    for symbol in symbols {
        let definitions = list.like();
        if !list.add(|| described(asked.reader, symbol, definitions))? {
            break;
        }
    }
    Ok(list.answer("symbols", &[]))
}

/// Where symbols are defined. A symbol of another project has no place.
pub fn definition(asked: &Asked<'_>, mut fields: Fields) -> Result<String, Refusal> {
    let symbols = symbols_of(asked, &mut fields)?;
    let mut list = List::of(&mut fields, asked, asked.results_max)?;
    fields.end()?;
    'symbols: for symbol in symbols {
        let located = asked.reader.located(symbol)?;
        for place in located.rows() {
            if !list.add(|| Ok(entry(&located.what, place)))? {
                break 'symbols;
            }
        }
    }
    Ok(list.answer("definitions", &[]))
}

/// Where symbols are used, and at how many places.
pub fn references(asked: &Asked<'_>, mut fields: Fields) -> Result<String, Refusal> {
    let symbols = symbols_of(asked, &mut fields)?;
    let mut list = List::of(&mut fields, asked, asked.results_max)?;
    fields.end()?;
    let places = asked.reader.references_of(&symbols)?;
    for place in &places {
        if !list.add(|| Ok(of_place(place)))? {
            break;
        }
    }
    Ok(list.answer("references", &[("total", json!(places.len()))]))
}

/// Symbols by a part of their names, the best match first.
pub fn search(asked: &Asked<'_>, mut fields: Fields) -> Result<String, Refusal> {
    let text = required(&mut fields, "text", "a part of a name, in any case")?;
    let mut list = List::of(&mut fields, asked, FOUND)?;
    fields.end()?;
    for symbol in asked.reader.search(&text, list.needed())? {
        if !list.add(|| found(asked.reader, symbol))? {
            break;
        }
    }
    Ok(list.answer("symbols", &[]))
}

/// The symbols around others: containers, members, implementations and types.
pub fn hierarchy(asked: &Asked<'_>, mut fields: Fields) -> Result<String, Refusal> {
    let symbols = symbols_of(asked, &mut fields)?;
    let mut list = List::of(&mut fields, asked, asked.results_max)?;
    fields.end()?;
    for symbol in symbols {
        let flow = asked.reader.each_relative(symbol, |relative, other| {
            let has_room = list.add(|| related(asked.reader, relative, other))?;
            Ok::<_, Refusal>(if has_room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        if flow.is_break() {
            break;
        }
    }
    Ok(list.answer("symbols", &[]))
}

/// The messages of compilers and linters about a file, or about all files, as far as the indexer reports them.
pub fn diagnostics(asked: &Asked<'_>, mut fields: Fields) -> Result<String, Refusal> {
    let path = fields.text("file")?;
    let mut list = List::of(&mut fields, asked, asked.results_max)?;
    fields.end()?;
    let file = path.map(|path| asked.reader.file(&path)).transpose()?;
    for diagnostic in asked.reader.diagnostics(file.as_ref())? {
        let diagnostic = diagnostic?;
        if !list.add(|| Ok(of_diagnostic(&diagnostic)))? {
            break;
        }
    }
    Ok(list.answer("diagnostics", &[]))
}

/// The symbols that the field `symbol` means: at a place, or by name.
fn symbols_of(asked: &Asked<'_>, fields: &mut Fields) -> Result<Vec<SymbolId>, Refusal> {
    let what = "a place, such as src/main.rs:7:4, or a symbol or its name, such as Store::open";
    let text = required(fields, "symbol", what)?;
    if text.is_empty() {
        return Err(fields.wrong("symbol", &format!("is empty: it must be {what}")));
    }
    Ok(asked.reader.symbols_asked(&text)?)
}

fn required(fields: &mut Fields, name: &str, what: &str) -> Result<String, Refusal> {
    fields.text(name)?.ok_or_else(|| fields.wrong(name, &format!("is missing: {what}")))
}

/// A symbol with one of its definitions.
fn found(reader: &CodeReader, symbol: SymbolId) -> Result<Json, Refusal> {
    let place = reader.first_definition(symbol)?;
    Ok(entry(&reader.describe(symbol)?, place.as_ref()))
}

/// A symbol around another, and how it relates to it.
fn related(reader: &CodeReader, relative: Relative, symbol: SymbolId) -> Result<Json, Refusal> {
    let mut entry = found(reader, symbol)?;
    entry["relation"] = json!(relative.name());
    Ok(entry)
}

/// A symbol with a place.
fn entry(what: &Description, place: Option<&Place>) -> Json {
    json!({
        "symbol": what.symbol,
        "name": what.label(),
        "kind": what.kind,
        "isLocal": what.is_local,
        "place": place.map(of_place),
    })
}

/// What is known of a symbol, as a text of JSON, with as many of its definitions as the list takes.
fn described(reader: &CodeReader, symbol: SymbolId, mut definitions: List) -> Result<String, Refusal> {
    let Summary { located: Located { what, places }, enclosing, references, files } = reader.summary(symbol)?;
    for place in &places {
        if !definitions.add(|| Ok(of_place(place)))? {
            break;
        }
    }
    let others = [
        ("symbol", json!(what.symbol)),
        ("name", json!(what.label())),
        ("kind", json!(what.kind)),
        ("isLocal", json!(what.is_local)),
        ("signature", json!(what.signature)),
        ("documentation", json!(what.documentation)),
        ("package", json!(what.package.as_ref().map(ToString::to_string))),
        ("enclosing", json!(enclosing)),
        ("total", json!(places.len())),
        ("references", json!(references)),
        ("files", json!(files)),
    ];
    Ok(definitions.answer("definitions", &others))
}

fn of_diagnostic(diagnostic: &FoundDiagnostic) -> Json {
    let tags: Vec<&str> = diagnostic.tags.iter().map(|tag| tag.name()).collect();
    let mut json = range(diagnostic.span);
    json["file"] = json!(diagnostic.path);
    json["severity"] = json!(diagnostic.severity.name());
    json["code"] = json!(diagnostic.code);
    json["message"] = json!(diagnostic.message);
    json["source"] = json!(diagnostic.source);
    json["tags"] = json!(tags);
    json["columns"] = json!(diagnostic.columns.name());
    json
}

/// A place. Lines and columns begin at 1. Columns count bytes, or what the indexer counts, if the text of the file was
/// not there when it was indexed: the member `columns` says what.
fn of_place(place: &Place) -> Json {
    let mut json = range(place.span);
    json["file"] = json!(place.path);
    json["role"] = json!(place.role.name());
    json["columns"] = json!(place.columns.name());
    if let Some(extent) = place.extent {
        json["extent"] = range(extent);
    }
    json
}

fn range(span: Span) -> Json {
    let from_1 = |number: u32| u64::from(number) + 1;
    json!({
        "line": from_1(span.line),
        "column": from_1(span.column),
        "endLine": from_1(span.end_line),
        "endColumn": from_1(span.end_column),
    })
}

/// So many symbols a search lists unless it is asked for more.
const FOUND: usize = 50;
