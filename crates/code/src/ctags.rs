//! [`CtagsFile`]: definitions as Universal Ctags writes them in JSON, one on each line.
//!
//! Ctags reads text without knowing the program: there are definitions, but no references.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Component, Path, PathBuf};

use serde_json::Value as Json;

use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::model::part::Part;
use crate::model::{Document, Occurrence, Role, Span, SymbolInfo};
use crate::source::{Source, Visit};

/// Tags in a file of JSON, and the directory with the sources.
#[derive(Clone, Debug)]
pub struct CtagsFile {
    path: PathBuf,
    root: PathBuf,
}

/// What ctags must be told, so that [`CtagsFile`] reads what it writes.
pub const CTAGS_ARGUMENTS: &[&str] =
    &["--output-format=json", "--fields=+neKSZlt-P", "--sort=no", "--excmd=number", "--extras=-F"];

/// The first word of its symbols, before a space.
pub const SCHEME: &str = "ctags";

impl CtagsFile {
    /// The tags at `path`, of the files below `root`.
    pub fn new(path: impl Into<PathBuf>, root: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), root: root.into() }
    }

    fn tags(&self) -> Result<BTreeMap<String, Vec<Tag>>> {
        let file = File::open(&self.path).map_err(Error::file(&self.path, "be read"))?;
        let mut tags: BTreeMap<String, Vec<Tag>> = BTreeMap::new();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let wrong = |message: String| Error::Index {
                path: self.path.clone(),
                place: format!("line {}", number + 1),
                message,
            };
            let line = line.map_err(Error::file(&self.path, "be read"))?;
            if let Some(tag) = Tag::read(&line).map_err(wrong)? {
                tags.entry(tag.path.clone()).or_default().push(tag);
            }
        }
        Ok(tags)
    }
}

impl Source for CtagsFile {
    fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
        for (path, tags) in self.tags()? {
            let text = std::fs::read(self.root.join(&path)).unwrap_or_default();
            visit(Part::Document(document(path, tags, &String::from_utf8_lossy(&text))))?;
        }
        Ok(())
    }
}

/// A line of ctags.
#[derive(Debug)]
struct Tag {
    name: String,
    path: String,
    language: String,
    /// From 1 on.
    line: u32,
    end: Option<u32>,
    kind: String,
    scope: Option<String>,
    signature: String,
}

impl Tag {
    /// `None`, if the line is not a tag.
    fn read(line: &str) -> std::result::Result<Option<Tag>, String> {
        let json: Json = serde_json::from_str(line).map_err(|error| {
            format!("column {}: {error}; ctags must be run with --output-format=json", error.column())
        })?;
        if json["_type"] != "tag" {
            return Ok(None);
        }
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| json[name].as_u64().and_then(|number| u32::try_from(number).ok());
        let path = text("path");
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        let is_within = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || !is_within {
            return Err(format!("the path `{path}` must lead into the indexed directory, without `..`"));
        }
        let line = number("line").filter(|line| *line > 0).ok_or("the tag has no line; run ctags with --fields=+n")?;
        Ok(Some(Tag {
            name: text("name"),
            path,
            language: text("language").to_lowercase(),
            line,
            end: number("end").filter(|end| *end >= line),
            kind: text("kind"),
            scope: json["scope"].as_str().map(str::to_owned),
            signature: text("signature"),
        }))
    }

    /// The name with the scope before it, as ctags writes scopes.
    fn qualified(&self, separator: &str) -> String {
        match &self.scope {
            Some(scope) => format!("{scope}{separator}{}", self.name),
            None => self.name.clone(),
        }
    }
}

fn document(path: String, tags: Vec<Tag>, text: &str) -> Document {
    let lines: Vec<&str> = text.lines().collect();
    let language = tags.first().map(|tag| tag.language.clone()).unwrap_or_default();
    let separator = if SCOPES_WITH_COLONS.contains(&language.as_str()) { "::" } else { "." };
    let mut named: HashMap<String, u32> = HashMap::new();
    let mut scopes: HashMap<String, String> = HashMap::new();
    let mut wide_lines = BTreeMap::new();
    let (mut occurrences, mut symbols) = (Vec::new(), Vec::new());
    for tag in &tags {
        let qualified = tag.qualified(separator);
        let number = named.entry(format!("{qualified} {}", tag.kind)).or_default();
        *number += 1;
        let which = if *number == 1 { String::new() } else { format!("+{number}") };
        let symbol = format!("{SCHEME} {path} {qualified}({}{which})", tag.kind);
        scopes.entry(qualified).or_insert_with(|| symbol.clone());
        let line = lines.get(tag.line as usize - 1).copied().unwrap_or_default();
        if !line.is_ascii() {
            wide_lines.insert(tag.line - 1, line.to_owned());
        }
        occurrences.push(Occurrence {
            span: span_of(&tag.name, line, tag.line - 1),
            symbol: symbol.clone(),
            role: Role::Definition,
            extent: tag.end.map(|end| extent(tag.line - 1, end - 1, &lines)),
        });
        symbols.push(SymbolInfo {
            symbol,
            name: tag.name.clone(),
            kind: tag.kind.clone(),
            signature: tag.signature.clone(),
            enclosing: tag.scope.as_ref().and_then(|scope| scopes.get(scope).cloned()),
            ..SymbolInfo::default()
        });
    }
    let mut document = Document { path, language, columns: Columns::Utf8, wide_lines, occurrences, symbols };
    document.normalise();
    document
}

/// Where a name is in its line: as a word, or anywhere, or else at the beginning.
fn span_of(name: &str, text: &str, line: u32) -> Span {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_alone = |at: &usize| {
        !text[..*at].chars().next_back().is_some_and(is_word) && !text[at + name.len()..].starts_with(is_word)
    };
    let mut places = text.match_indices(name).map(|(at, _)| at);
    let at = places.clone().find(is_alone).or_else(|| places.next());
    let column = u32::try_from(at.unwrap_or(0)).unwrap_or(0);
    let end_column = at.map_or(column, |_| column + u32::try_from(name.len()).unwrap_or(0));
    Span { line, column, end_line: line, end_column }
}

/// All of the lines of a definition.
fn extent(line: u32, end_line: u32, lines: &[&str]) -> Span {
    let length = lines.get(end_line as usize).map_or(0, |text| text.len());
    Span { line, column: 0, end_line, end_column: u32::try_from(length).unwrap_or(0) }
}

/// Languages in which ctags writes scopes as `a::b`.
const SCOPES_WITH_COLONS: &[&str] = &["c++", "rust", "ruby", "perl", "php", "tcl", "cuda"];
