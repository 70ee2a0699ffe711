//! The files under the rules: read once, Rust sources split into tokens.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::command::Failure;
use crate::workspace;

/// All text files of the repository, and the paths of the others.
pub struct Tree {
    files: Vec<File>,
    binary: Vec<String>,
}

/// One text file.
pub struct File {
    /// Its path from the workspace's root, with slashes.
    pub path: String,
    /// Its whole text.
    pub text: String,
    /// The tokens of a Rust file; `None` for other files, and for a Rust file that cannot be split (see `broken`).
    pub tokens: Option<Vec<TokenTree>>,
    /// Line and reason, if this is a Rust file that cannot be split into tokens.
    pub broken: Option<(usize, String)>,
}

impl Tree {
    /// Reads what git tracks or would track; of binary files only the paths are kept.
    ///
    /// # Errors
    /// Fails if git cannot list the files, or one cannot be read.
    pub fn read(root: &Path) -> Result<Self, Failure> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let output = workspace::child(root, "git", &list)
            .output()
            .map_err(|error| Failure::Failed(format!("git cannot start, and tidy asks it for the files: {error}")))?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::Failed(format!("git cannot list the files: {}", complaint.trim())));
        }
        let mut paths: Vec<String> = String::from_utf8_lossy(&output.stdout)
            .split('\0')
            .filter(|path| !path.is_empty() && root.join(path).is_file())
            .map(String::from)
            .collect();
        paths.sort();
        paths.dedup();
        let (mut files, mut binary) = (Vec::new(), Vec::new());
        for path in paths {
            let bytes = std::fs::read(root.join(&path)).map_err(|error| Failure::Failed(format!("{path}: {error}")))?;
            match String::from_utf8(bytes) {
                Ok(text) => files.push(File::new(path, text)),
                Err(_) => binary.push(path),
            }
        }
        Ok(Self { files, binary })
    }

    /// A tree of files that exist only here.
    #[cfg(test)]
    pub fn planted(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new((*path).into(), (*text).into())).collect();
        Self { files, binary: Vec::new() }
    }

    /// All text files, in the order of their paths.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The Rust files that could be split, with their tokens.
    pub fn rust_files(&self) -> impl Iterator<Item = (&File, &[TokenTree])> {
        self.files.iter().filter_map(|file| file.tokens.as_deref().map(|tokens| (file, tokens)))
    }

    /// The text file at `path`.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether `path` is a file, text or binary, or a directory above one.
    pub fn contains(&self, path: &str) -> bool {
        let directory = format!("{path}/");
        let mut paths = self.files.iter().map(|file| &file.path).chain(&self.binary);
        paths.any(|known| known == path || known.starts_with(&directory))
    }
}

impl File {
    fn new(path: String, text: String) -> Self {
        let (mut tokens, mut broken) = (None, None);
        if path.ends_with(".rs") {
            match text.parse::<TokenStream>() {
                Ok(stream) => tokens = Some(stream.into_iter().collect()),
                Err(error) => broken = Some((error.span().start().line, error.to_string())),
            }
        }
        Self { path, text, tokens, broken }
    }
}

/// The line on which a token begins, from 1.
pub fn line_of(token: &TokenTree) -> usize {
    match token {
        TokenTree::Group(group) => group.span_open().start().line,
        other => other.span().start().line,
    }
}

/// Whether this is the word `word`.
pub fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

/// Whether this is the sign `sign`.
pub fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// Whether `tokens` begin with `::`.
pub fn begins_with_colons(tokens: &[TokenTree]) -> bool {
    is_sign(tokens.first(), ':') && is_sign(tokens.get(1), ':')
}

/// The tokens within a group of this kind.
pub fn within(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<Vec<TokenTree>> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group.stream().into_iter().collect()),
        _ => None,
    }
}

/// Calls `visit` with every run of sibling tokens: the file's own, then those of each group inside, at any depth.
pub fn each_level(tokens: &[TokenTree], visit: &mut impl FnMut(&[TokenTree])) {
    visit(tokens);
    for token in tokens {
        if let TokenTree::Group(group) = token {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            each_level(&inner, visit);
        }
    }
}
