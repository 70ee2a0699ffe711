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

    /// The path of a file in the index, if `is_known` says so of the path that the URI names, or of that without links.
    /// Otherwise the path that it would have. `None`, if it is outside of the directory.
    pub fn path(&self, uri: &Uri, is_known: &dyn Fn(&str) -> bool) -> Option<String> {
        let path = path_of(uri.as_str())?;
        let real_root = self.real_root.as_deref();
        let named = within(&path, &self.root).or_else(|| within(&path, real_root?));
        if named.as_deref().is_some_and(is_known) {
            return named;
        }
        // An editor can open a file by a link outside of the directory, or within it.
        let real = || within(&path.canonicalize().ok()?, real_root?);
        match real() {
            Some(real) if named.is_none() || is_known(&real) => Some(real),
            _ => named,
        }
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

/// The path of a file from a directory on, as indexes have it. `None`, if the directory does not have the file.
fn within(path: &Path, directory: &Path) -> Option<String> {
    let relative = path.strip_prefix(directory).ok()?;
    let parts: Option<Vec<&str>> = relative.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

/// The path of a `file:` URI. `None`, if it is of another machine.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let encoded = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/')?);
            if !authority.is_empty() && !authority.eq_ignore_ascii_case("localhost") {
                return None;
            }
            path
        }
        // `file:/a`, as Java writes it.
        None => rest,
    };
    if !encoded.starts_with('/') {
        return None;
    }
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
        for same in ["file:/a/b%20c.rs", "FILE:///a/b%20c.rs", "file:///a/b%20%63.rs"] {
            assert_eq!(path_of(same), Some(PathBuf::from("/a/b c.rs")), "{same}");
        }
        let others =
            ["http://a/b", "file:///%ff", "file://other/a.rs", "file:a.rs", "file://a", "untitled:Untitled-1", ""];
        for other in others {
            assert_eq!(path_of(other), None, "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_behind_a_link_has_the_path_that_the_index_has() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("project");
        std::fs::create_dir_all(root.join("src")).expect("a directory");
        for name in ["src/a.rs", "src/b.rs"] {
            std::fs::write(root.join(name), "").expect("a file");
        }
        std::os::unix::fs::symlink("src", root.join("inner")).expect("a link");
        std::os::unix::fs::symlink(&root, directory.path().join("outer")).expect("a link");
        let places = Places::new(&root, Columns::Utf16).expect("the directory is there");
        let path = |named: &Path, known: &[&str]| {
            let uri = uri_of(named).expect("a path is a URI");
            places.path(&uri, &|path| known.contains(&path))
        };
        let inner = root.join("inner/a.rs");
        assert_eq!(path(&inner, &["src/a.rs"]).as_deref(), Some("src/a.rs"));
        // The index can have the path with the link.
        assert_eq!(path(&inner, &["src/a.rs", "inner/a.rs"]).as_deref(), Some("inner/a.rs"));
        assert_eq!(path(&inner, &[]).as_deref(), Some("inner/a.rs"));
        let outer = directory.path().join("outer/src/b.rs");
        assert_eq!(path(&outer, &["src/b.rs"]).as_deref(), Some("src/b.rs"));
        assert_eq!(path(&outer, &[]).as_deref(), Some("src/b.rs"));
        assert_eq!(path(&root.join("src/../../a.rs"), &["src/a.rs"]).as_deref(), Some("src/../../a.rs"));
        assert_eq!(path(Path::new("/elsewhere.rs"), &["elsewhere.rs"]), None);
    }
}
