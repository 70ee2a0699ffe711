//! The data of an indexer about a file, independent of the indexer's format and order.

use std::collections::BTreeMap;

use crate::columns::Columns;

pub mod details;
pub mod part;

/// A range of text. Lines and columns begin at 0; the end is after the last character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first line.
    pub line: u32,
    /// The first column.
    pub column: u32,
    /// The last line.
    pub end_line: u32,
    /// The column after the last one.
    pub end_column: u32,
}

impl Span {
    /// Whether a position is in it, or right behind it, where a cursor stands after a word.
    #[must_use]
    pub fn touches(&self, line: u32, column: u32) -> bool {
        (self.line, self.column) <= (line, column) && (line, column) <= (self.end_line, self.end_column)
    }

    /// A number that is greater for longer ranges.
    pub(crate) fn extent(&self) -> (u32, i64) {
        (self.end_line - self.line, i64::from(self.end_column) - i64::from(self.column))
    }
}

/// The role of a symbol at a place. Stored by its position here: never reorder, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It is defined.
    Definition,
    /// It is declared; the definition is elsewhere.
    Declaration,
    /// It is imported.
    Import,
    /// It is written to.
    Write,
    /// It is read.
    Read,
    /// It is used.
    Reference,
}

impl Role {
    const ALL: [Role; 6] =
        [Role::Definition, Role::Declaration, Role::Import, Role::Write, Role::Read, Role::Reference];

    /// The role with this number.
    #[must_use]
    pub fn of(number: usize) -> Option<Role> {
        Self::ALL.get(number).copied()
    }

    /// Its name, as in the schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Definition => "definition",
            Role::Declaration => "declaration",
            Role::Import => "import",
            Role::Write => "write",
            Role::Read => "read",
            Role::Reference => "reference",
        }
    }
}

/// How a symbol relates to another. Stored by its position here: never reorder, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RelationKind {
    /// It implements the other.
    Implementation,
    /// The other is its type.
    TypeDefinition,
    /// References of the other are its references too.
    Reference,
    /// The other is where it is defined.
    Definition,
}

/// A symbol at a place of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// Where.
    pub span: Span,
    /// The symbol.
    pub symbol: String,
    /// Its role there.
    pub role: Role,
    /// The whole definition, with its body.
    pub extent: Option<Span>,
}

/// The data about a symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SymbolInfo {
    /// The symbol.
    pub symbol: String,
    /// Its name for people.
    pub name: String,
    /// Its kind, such as `function`.
    pub kind: String,
    /// How it is declared.
    pub signature: String,
    /// Its documentation, usually Markdown.
    pub documentation: Vec<String>,
    /// The symbol that it is part of.
    pub enclosing: Option<String>,
    /// Its relations to other symbols.
    pub relations: Vec<(RelationKind, String)>,
}

/// The data about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its path, from the indexed directory on, with `/`.
    pub path: String,
    /// Its language, such as `rust`.
    pub language: String,
    /// The unit of columns.
    pub columns: Columns,
    /// The text of lines on which it matters what columns count.
    pub wide_lines: BTreeMap<u32, String>,
    /// The occurrences of symbols.
    pub occurrences: Vec<Occurrence>,
    /// The data about symbols.
    pub symbols: Vec<SymbolInfo>,
}

impl Document {
    /// Orders what the indexer found, and removes what it found twice.
    pub(crate) fn normalise(&mut self) {
        self.occurrences.sort_unstable();
        self.occurrences.dedup_by(|a, b| (a.span, &a.symbol, a.role) == (b.span, &b.symbol, b.role));
        self.symbols.sort_unstable();
        self.symbols.dedup_by(|a, b| a.symbol == b.symbol);
    }
}

/// The unit of symbols of other projects. No path of a file is like it.
pub const EXTERNAL_UNIT: &str = "<external symbols>";
/// The unit of the indexers themselves. No path of a file is like it.
pub const TOOLS_UNIT: &str = "<indexers>";
