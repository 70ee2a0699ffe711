//! Small programs as SCIP: sources whose words are found, so that ranges are right by construction.

use std::path::{Path, PathBuf};

use fulgurite_code::{CodeReader, FoundDiagnostic, ScipFile, Step, Updated, open_index, update_index};
use protobuf::{EnumOrUnknown, Message, MessageField};
use scip::types::symbol_information::Kind;
use scip::types::{
    Document, Index, Metadata, Occurrence, PositionEncoding, Relationship, SymbolInformation, SymbolRole, ToolInfo,
};
use tempfile::TempDir;

pub fn symbol(name: &str) -> String {
    format!("test . demo . {name}")
}

pub fn info(name: &str, kind: Kind, display: &str) -> SymbolInformation {
    SymbolInformation {
        symbol: symbol(name),
        kind: EnumOrUnknown::new(kind),
        display_name: display.to_owned(),
        documentation: vec![format!("What `{display}` does.")],
        ..Default::default()
    }
}

/// A document. In `text`, `‹name›word` is a use of the symbol `name` at `word`, `«name»word` its definition.
pub fn document(path: &str, marked: &str, encoding: PositionEncoding) -> (Document, String) {
    let mut document = Document {
        relative_path: path.to_owned(),
        language: "rust".to_owned(),
        position_encoding: EnumOrUnknown::new(encoding),
        ..Default::default()
    };
    let mut text = String::new();
    for (line, marked) in marked.lines().enumerate() {
        let mut plain = String::new();
        let mut rest = marked;
        while let Some(at) = rest.find(['‹', '«']) {
            let is_definition = rest[at..].starts_with('«');
            plain.push_str(&rest[..at]);
            let after = &rest[at..];
            let close = after.find(if is_definition { '»' } else { '›' }).unwrap();
            let name: String = after[..close].chars().skip(1).collect();
            let word = after[close..].chars().skip(1).take_while(|letter| letter.is_alphanumeric() || *letter == '_');
            let word: String = word.collect();
            let units = |text: &str| match encoding {
                PositionEncoding::UTF8CodeUnitOffsetFromLineStart => text.len(),
                PositionEncoding::UTF32CodeUnitOffsetFromLineStart => text.chars().count(),
                _ => text.encode_utf16().count(),
            };
            let column = units(&plain);
            let range = vec![line as i32, column as i32, (column + units(&word)) as i32];
            let name =
                if let Some(local) = name.strip_prefix("local ") { format!("local {local}") } else { symbol(&name) };
            let roles = if is_definition { SymbolRole::Definition as i32 } else { 0 };
            document.occurrences.push(Occurrence { range, symbol: name, symbol_roles: roles, ..Default::default() });
            rest = &after[close + if is_definition { '»' } else { '›' }.len_utf8()..];
        }
        plain.push_str(rest);
        text.push_str(&plain);
        text.push('\n');
    }
    (document, text)
}

/// A directory with sources, an index of SCIP, and a database.
pub struct Project {
    pub directory: TempDir,
}

impl Project {
    pub fn new() -> Self {
        let project = Self { directory: tempfile::tempdir().unwrap() };
        std::fs::create_dir(project.root()).unwrap();
        project
    }

    pub fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub fn database(&self) -> PathBuf {
        self.directory.path().join("code.ful")
    }

    pub fn scip(&self) -> PathBuf {
        self.directory.path().join("index.scip")
    }

    /// Writes the sources and the index, as an indexer would.
    pub fn write(&self, files: &[(&str, &str, Vec<SymbolInformation>)]) {
        let mut index = index();
        let _ = std::fs::remove_dir_all(self.root());
        for (path, marked, symbols) in files {
            let (mut document, text) = document(path, marked, PositionEncoding::UTF8CodeUnitOffsetFromLineStart);
            document.symbols = symbols.clone();
            let path = self.root().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            index.documents.push(document);
        }
        index.external_symbols.push(info("std/Display#", Kind::Trait, "Display"));
        std::fs::write(self.scip(), index.write_to_bytes().unwrap()).unwrap();
    }

    pub fn update(&self) -> Updated {
        self.try_update(false).unwrap()
    }

    pub fn try_update(&self, whole: bool) -> Result<Updated, fulgurite_code::Error> {
        update_index(&self.database(), &ScipFile::new(self.scip(), self.root()), whole, &mut |_: Step| {})
    }

    pub fn reader(&self) -> CodeReader {
        reader(&self.database())
    }

    /// The names of files beside the sources.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.ends_with("-lock"));
        names.sort();
        names
    }
}

pub fn reader(path: &Path) -> CodeReader {
    CodeReader::new(&open_index(path).unwrap()).unwrap()
}

/// The diagnostics of all files.
pub fn diagnostics(reader: &CodeReader) -> Vec<FoundDiagnostic> {
    reader.diagnostics(None).unwrap().map(Result::unwrap).collect()
}

pub fn index() -> Index {
    let tool = ToolInfo { name: "test".to_owned(), ..Default::default() };
    let metadata = Metadata { tool_info: MessageField::some(tool), ..Default::default() };
    Index { metadata: MessageField::some(metadata), ..Default::default() }
}

pub fn implements(mut info: SymbolInformation, of: &str) -> SymbolInformation {
    info.relationships.push(Relationship { symbol: symbol(of), is_implementation: true, ..Default::default() });
    info
}

/// Everything that the reader says, as text: two indexes of the same code must say the same.
pub fn everything(reader: &CodeReader) -> String {
    let mut said = String::new();
    for path in reader.files().unwrap() {
        let file = reader.file(&path).unwrap();
        said.push_str(&format!("{path} {} {:?}\n", file.language, file.columns));
        for used in reader.uses(&file).unwrap() {
            let description = reader.describe(used.symbol).unwrap();
            let (enclosing, description) =
                (description.enclosing, fulgurite_code::Description { enclosing: None, ..description });
            let enclosing = enclosing.map(|symbol| reader.describe(symbol).unwrap().symbol);
            said.push_str(&format!("  {:?} {:?} {enclosing:?} {description:?}\n", used.span, used.role));
            said.push_str(&format!(
                "    {:?}\n    {:?}\n",
                reader.definitions(used.symbol),
                reader.references(used.symbol)
            ));
            let mut hierarchy: Vec<String> = Vec::new();
            for (relative, symbol) in reader.hierarchy(used.symbol).unwrap() {
                hierarchy.push(format!("{relative:?} {}", reader.describe(symbol).unwrap().symbol));
            }
            hierarchy.sort();
            said.push_str(&format!("    {hierarchy:?}\n    {:?}\n", reader.wide_line(&file, used.span.line)));
        }
    }
    for text in ["", "s", "main", "ei", "d"] {
        let found = reader.search(text, 100).unwrap();
        let mut found: Vec<_> = found.iter().map(|symbol| reader.describe(*symbol).unwrap().symbol).collect();
        found.sort();
        said.push_str(&format!("{text}: {found:?}\n"));
    }
    said
}
