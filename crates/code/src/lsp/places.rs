//! Places of an index as places of an editor, and back: paths and URIs, and columns.

use std::path::{Component, Path, PathBuf};

use lsp_types::{Position, Range, Uri};

use crate::browse::reader::{CodeReader, IndexedFile};
use crate::columns::{Columns, convert};
use crate::error::{Error, Result};
use crate::model::Span;

/// What an editor and an index call the same places.
pub struct Places {
    /// The directory with the sources, as the editor names it.
    root: PathBuf,
    /// The directory without links, if it exists.
    real_root: Option<PathBuf>,
    /// What the editor's columns count.
    pub columns: Columns,
}

impl Places {
    /// Those of the directory `root`.
    ///
    /// # Errors
    /// [`Error::File`], if the path is empty, or there is no current directory.
    pub fn new(root: &Path, columns: Columns) -> Result<Self> {
        let real_root = root.canonicalize().ok();
        let absolute = std::path::absolute(root).map_err(Error::file(root, "be found"))?;
        // Editors name no files through `..`.
        let has_parents = absolute.components().any(|part| part == Component::ParentDir);
        let root = real_root.clone().filter(|_| has_parents).unwrap_or(absolute);
        Ok(Self { root, real_root, columns })
    }

    /// The path of a file in the index. `None`, if it is outside of the directory.
    pub fn path(&self, uri: &Uri) -> Option<String> {
        let path = path_of(uri.as_str())?;
        let relative = match (path.strip_prefix(&self.root), &self.real_root) {
            (Ok(relative), _) => relative.to_owned(),
            (Err(_), Some(real_root)) => {
                let real = path.canonicalize().ok();
                let within = path.strip_prefix(real_root).ok();
                within.or_else(|| real.as_deref()?.strip_prefix(real_root).ok())?.to_owned()
            }
            (Err(_), None) => return None,
        };
        let parts: Option<Vec<&str>> = relative.components().map(|part| part.as_os_str().to_str()).collect();
        Some(parts?.join("/"))
    }

    /// The text of a file on the disk, if it can be read.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.root.join(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
    }

    /// The column of the index at a position of the editor, in the text that was indexed.
    pub fn indexed_column(
        &self,
        reader: &CodeReader,
        file: &IndexedFile,
        (line, character): (u32, u32),
    ) -> Result<u32> {
        self.column(reader, file, line, character, (self.columns, file.columns))
    }

    /// A range in the columns of the editor, in the text that was indexed.
    pub fn range(&self, reader: &CodeReader, file: &IndexedFile, span: Span) -> Result<Range> {
        let at = |line, column| {
            let character = self.column(reader, file, line, column, (file.columns, self.columns))?;
            Ok::<_, Error>(Position { line, character })
        };
        Ok(Range { start: at(span.line, span.column)?, end: at(span.end_line, span.end_column)? })
    }

    /// The URI of a file of the index.
    pub fn uri(&self, path: &str) -> Result<Uri> {
        uri_of(&self.root.join(path))
    }

    fn column(
        &self,
        reader: &CodeReader,
        file: &IndexedFile,
        line: u32,
        column: u32,
        (from, to): (Columns, Columns),
    ) -> Result<u32> {
        if from == to {
            return Ok(column);
        }
        let text = reader.wide_line(file, line)?;
        Ok(text.map_or(column, |text| convert(&text, column, from, to)))
    }
}

/// The path of a `file:` URI.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let encoded = uri.strip_prefix("file://")?;
    // An authority would be another machine, unless it is this one.
    let encoded = &encoded[encoded.find('/')?..];
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let digits = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => bytes.push(*first),
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    // `/C:/a` is `C:/a` on Windows.
    let has_drive = cfg!(windows) && path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if has_drive { &path[1..] } else { &path[..] }))
}

fn uri_of(path: &Path) -> Result<Uri> {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut uri = String::from(if text.starts_with('/') { "file://" } else { "file:///" });
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b':' => uri.push(byte as char),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.parse().map_err(|_| Error::Client(format!("the path {} is not a URI", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris_and_back() {
        for path in ["/a/b c/ä%20.rs", "/x.rs"] {
            let uri = uri_of(Path::new(path)).expect("a path is a URI");
            assert!(uri.as_str().is_ascii());
            assert_eq!(path_of(uri.as_str()), Some(PathBuf::from(path)));
        }
        assert_eq!(path_of("file://localhost/a%2"), Some(PathBuf::from("/a%2")));
        assert_eq!(path_of("http://a/b"), None);
        assert_eq!(path_of("file:///%ff"), None);
    }
}
