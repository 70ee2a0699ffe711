//! The messages of compilers and linters about indexed code, as far as indexers report them.

use std::vec;

use fulgurite_facts::{FactId, Value};

use crate::browse::reader::{CodeReader, IndexedFile, of_fact, span, string};
use crate::columns::Columns;
use crate::error::Result;
use crate::model::Span;
use crate::model::details::{DiagnosticTag, Severity};

/// A message of a compiler or a linter about a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundDiagnostic {
    /// The path of the file.
    pub path: String,
    /// The range in the file. Lines and columns begin at 0.
    pub span: Span,
    /// How bad it is.
    pub severity: Severity,
    /// Its code, such as `E0308`.
    pub code: String,
    /// The message.
    pub message: String,
    /// The tool, such as `clippy`.
    pub source: String,
    /// The tags.
    pub tags: Vec<DiagnosticTag>,
    /// The unit of columns: bytes, unless the text of the file was missing when it was indexed.
    pub columns: Columns,
}

/// The diagnostics of files, one after the other; see [`CodeReader::diagnostics`]. Memory holds those of one file.
pub struct Diagnostics<'r> {
    reader: &'r CodeReader,
    /// The files that are left.
    files: vec::IntoIter<(String, FactId)>,
    /// Those of the last file that are left.
    found: vec::IntoIter<FoundDiagnostic>,
}

impl CodeReader {
    /// The diagnostics of a file, or of all files, in the order of places. An index that an earlier version wrote has
    /// none.
    ///
    /// # Errors
    /// Errors of the database; from the iterator too.
    pub fn diagnostics(&self, file: Option<&IndexedFile>) -> Result<Diagnostics<'_>> {
        let files = match (&self.predicates.scip, file) {
            (None, _) => Vec::new(),
            (Some(_), Some(file)) => vec![(file.path.clone(), file.id)],
            (Some(_), None) => self.files_by_path()?,
        };
        Ok(Diagnostics { reader: self, files: files.into_iter(), found: Vec::new().into_iter() })
    }

    /// The diagnostics of one file, in the order of places.
    fn diagnostics_of(&self, path: &str, file: FactId) -> Result<Vec<FoundDiagnostic>> {
        let Some(scip) = &self.predicates.scip else { return Ok(Vec::new()) };
        // Many files may have none.
        self.limits.check()?;
        let columns = self.columns(file)?;
        let (mut found, mut held) = (Vec::new(), self.limits.held());
        self.seek(&scip.diagnostic, &of_fact(file)?, |_, key, value| {
            let (Value::Record(key), Value::Record(value)) = (key, value) else { return Ok(()) };
            let [_, range, severity, code, message, source, _] = key.as_slice() else { return Ok(()) };
            let severity = match severity {
                Value::Enum(number) => Severity::of(*number),
                _ => None,
            };
            let text = |value: &Value| string(value).to_owned();
            let diagnostic = FoundDiagnostic {
                path: path.to_owned(),
                span: span(range),
                severity: severity.unwrap_or(Severity::Unspecified),
                code: text(code),
                message: text(message),
                source: text(source),
                tags: value.first().map(tags).unwrap_or_default(),
                columns,
            };
            let FoundDiagnostic { path, code, message, source, tags, .. } = &diagnostic;
            let texts = path.len() + code.len() + message.len() + source.len();
            held.add(size_of::<FoundDiagnostic>() + texts + tags.len())?;
            found.push(diagnostic);
            Ok(())
        })?;
        found.sort_unstable();
        // Those of several symbols at a range are the same for people.
        found.dedup();
        Ok(found)
    }
}

impl Iterator for Diagnostics<'_> {
    type Item = Result<FoundDiagnostic>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(diagnostic) = self.found.next() {
                return Some(Ok(diagnostic));
            }
            let (path, file) = self.files.next()?;
            match self.reader.diagnostics_of(&path, file) {
                Ok(found) => self.found = found.into_iter(),
                Err(error) => {
                    self.files = Vec::new().into_iter();
                    return Some(Err(error));
                }
            }
        }
    }
}

fn tags(value: &Value) -> Vec<DiagnosticTag> {
    let Value::Array(tags) = value else { return Vec::new() };
    let of = |tag: &Value| match tag {
        Value::Enum(number) => DiagnosticTag::of(*number),
        _ => None,
    };
    tags.iter().filter_map(of).collect()
}
