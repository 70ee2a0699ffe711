//! What indexers say beside definitions, references and descriptions: plain data, as SCIP has it.

use crate::model::{EXTERNAL_UNIT, Occurrence, Span, TOOLS_UNIT};

/// An indexer that was run, and for which directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The arguments of its command line.
    pub arguments: Vec<String>,
    /// The URI of the directory.
    pub project_root: String,
    /// The encoding of the sources, such as `utf8`.
    pub text_encoding: String,
}

impl Tool {
    /// The unit that owns its facts.
    #[must_use]
    pub fn unit(&self) -> &str {
        TOOLS_UNIT
    }
}

/// Further data about a file, or about symbols of other projects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The path of the file. `None`: it is about symbols of other projects.
    pub path: Option<String>,
    /// The text of the file, if the indexer wrote it.
    pub text: Option<String>,
    /// Further roles of symbols: the place, the symbol and the role.
    pub roles: Vec<(Span, String, SymbolRole)>,
    /// The classes of ranges for a syntax highlighter.
    pub highlights: Vec<(Span, String)>,
    /// The messages of compilers and linters.
    pub diagnostics: Vec<Diagnostic>,
    /// The documentation of a symbol at one place.
    pub documentation: Vec<(Span, String, Vec<String>)>,
    /// The ranges around symbols that are not defined there.
    pub enclosing: Vec<(Span, String, Span)>,
    /// The symbols in signatures.
    pub signatures: Vec<Signature>,
}

impl Details {
    /// The unit that owns its facts.
    #[must_use]
    pub fn unit(&self) -> &str {
        self.path.as_deref().unwrap_or(EXTERNAL_UNIT)
    }

    /// Orders what the indexer says, and removes what it says twice.
    pub(crate) fn normalise(&mut self) {
        let Self { path: _, text: _, roles, highlights, diagnostics, documentation, enclosing, signatures } = self;
        for diagnostic in &mut *diagnostics {
            put_in_order(&mut diagnostic.tags);
        }
        for signature in &mut *signatures {
            put_in_order(&mut signature.occurrences);
        }
        put_in_order(roles);
        put_in_order(highlights);
        put_in_order(diagnostics);
        put_in_order(documentation);
        put_in_order(enclosing);
        put_in_order(signatures);
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { path: _, text, roles, highlights, diagnostics, documentation, enclosing, signatures } = self;
        text.is_none()
            && roles.is_empty()
            && highlights.is_empty()
            && diagnostics.is_empty()
            && documentation.is_empty()
            && enclosing.is_empty()
            && signatures.is_empty()
    }
}

fn put_in_order<T: Ord>(said: &mut Vec<T>) {
    said.sort_unstable();
    said.dedup();
}

/// A role of a symbol, as SCIP has it. Stored by its position here: never reorder, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolRole {
    /// It is defined. This is the strongest role, so that no place has it as a further one.
    Definition,
    /// It is imported.
    Import,
    /// It is written to.
    WriteAccess,
    /// It is read.
    ReadAccess,
    /// The code was generated.
    Generated,
    /// The code is a test.
    Test,
    /// It is declared before its definition.
    ForwardDefinition,
}

/// How bad something is. Stored by its position here: never reorder, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The indexer does not say.
    Unspecified,
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// Information.
    Information,
    /// A hint.
    Hint,
}

impl Severity {
    const ALL: [Severity; 5] =
        [Severity::Unspecified, Severity::Error, Severity::Warning, Severity::Information, Severity::Hint];

    /// The severity with this number.
    #[must_use]
    pub fn of(number: usize) -> Option<Severity> {
        Self::ALL.get(number).copied()
    }

    /// Its name, as in the schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Unspecified => "unspecified",
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Information => "information",
            Severity::Hint => "hint",
        }
    }
}

/// A tag of a diagnostic. Stored by its position here: never reorder, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiagnosticTag {
    /// Code that is not needed.
    Unnecessary,
    /// Code that is deprecated.
    Deprecated,
}

impl DiagnosticTag {
    /// The tag with this number.
    #[must_use]
    pub fn of(number: usize) -> Option<DiagnosticTag> {
        [DiagnosticTag::Unnecessary, DiagnosticTag::Deprecated].get(number).copied()
    }

    /// Its name, as in the schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DiagnosticTag::Unnecessary => "unnecessary",
            DiagnosticTag::Deprecated => "deprecated",
        }
    }
}

/// A message of a compiler or a linter about a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// How bad it is.
    pub severity: Severity,
    /// Its code, such as `E0308`.
    pub code: String,
    /// The message.
    pub message: String,
    /// The tool, such as `clippy`.
    pub source: String,
    /// The symbol at the range.
    pub symbol: Option<String>,
    /// The tags.
    pub tags: Vec<DiagnosticTag>,
}

/// The symbols in the signature of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// The symbol.
    pub symbol: String,
    /// The language, if it is not that of the file.
    pub language: Option<String>,
    /// Symbols in its text.
    pub occurrences: Vec<Occurrence>,
}
