//! Rule: a file has at most 800 lines and a function at most 70. Functions that were longer are listed, with their
//! length, in
//! [`LIST`]: an entry may only shrink, and goes when the function fits.

use std::collections::BTreeMap;
use std::path::Path;

use proc_macro2::{Delimiter, TokenTree};

use crate::command::Failure;
use crate::tidy::finding::Finding;
use crate::tidy::tree::{self, File, Tree};

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;

/// The long functions: one `PATH FUNCTION LINES` a line.
const LIST: &str = "xtask/long-functions.txt";

/// Endings of the files whose length counts.
const SOURCES: &[&str] = &[".rs", ".py", ".java", ".go", ".c", ".h", ".sh"];

/// Files that a program writes. A C program includes one header, so it is not split.
const GENERATED: &[&str] = &["bindings/c/include/fulgurite.h"];

/// A function, by its file and name: of several with one name in a file, the longest.
type Functions = BTreeMap<(String, String), Extent>;

/// Where a function is, and how long.
#[derive(Clone, Copy)]
struct Extent {
    line: usize,
    lines: usize,
}

/// An entry of the list: its place there, and the length that it allows.
#[derive(Clone, Copy)]
struct Entry {
    line: usize,
    lines: usize,
}

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let is_source = |file: &&File| SOURCES.iter().any(|ending| file.path.ends_with(ending));
    for file in tree.files().iter().filter(is_source).filter(|file| !GENERATED.contains(&&*file.path)) {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            let offence = format!("{lines} lines, more than {FILE_LINES_MAX}");
            findings.push(Finding::new(&file.path, FILE_LINES_MAX + 1, offence, "split it by subject"));
        }
    }
    let functions = functions(tree);
    let list = read_list(tree, findings);
    for ((path, name), extent) in functions.iter().filter(|(_, extent)| extent.lines > FUNCTION_LINES_MAX) {
        let allowed = list.get(&(path.clone(), name.clone())).map_or(FUNCTION_LINES_MAX, |entry| entry.lines);
        if extent.lines > allowed {
            let offence = format!("`{name}` has {} lines, more than {allowed}", extent.lines);
            findings.push(Finding::new(path, extent.line, offence, "decide in it, and compute in functions beside it"));
        }
    }
    for (key, entry) in &list {
        let now = functions.get(key).map_or(0, |extent| extent.lines);
        if now < entry.lines {
            let offence = format!("`{}` in {} has shrunk to {now} lines", key.1, key.0);
            findings.push(Finding::new(LIST, entry.line, offence, "run `cargo xtask tidy --tighten`"));
        }
    }
}

/// Rewrites the list so that it allows what the sources need and no more; it never adds or raises an entry.
///
/// # Errors
/// Fails if the list cannot be written.
pub fn tighten(root: &Path, tree: &Tree) -> Result<(), Failure> {
    let text = tightened(tree);
    std::fs::write(root.join(LIST), text).map_err(|error| Failure::Failed(format!("{LIST}: {error}")))
}

fn tightened(tree: &Tree) -> String {
    let functions = functions(tree);
    let mut text: String = tree.file(LIST).map(comments).unwrap_or_default();
    for (key, entry) in read_list(tree, &mut Vec::new()) {
        let lines = functions.get(&key).map_or(0, |extent| extent.lines.min(entry.lines));
        if lines > FUNCTION_LINES_MAX {
            text.push_str(&format!("{} {} {lines}\n", key.0, key.1));
        }
    }
    text
}

fn comments(file: &File) -> String {
    file.text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

fn read_list(tree: &Tree, findings: &mut Vec<Finding>) -> BTreeMap<(String, String), Entry> {
    let mut list = BTreeMap::new();
    let lines = tree.file(LIST).map_or("", |file| file.text.as_str()).lines().enumerate();
    for (index, text) in lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#')) {
        let mut words = text.split(' ');
        let (path, name, lines) = (words.next(), words.next(), words.next().and_then(|lines| lines.parse().ok()));
        match (path, name, lines, words.next()) {
            (Some(path), Some(name), Some(lines), None) => {
                list.insert((path.into(), name.into()), Entry { line: index + 1, lines });
            }
            _ => findings.push(Finding::new(LIST, index + 1, "not an entry", "write PATH FUNCTION LINES")),
        }
    }
    list
}

fn functions(tree: &Tree) -> Functions {
    let mut functions = Functions::new();
    for (file, tokens) in tree.rust_files() {
        tree::each_level(tokens, &mut |level| {
            for (index, token) in level.iter().enumerate() {
                let Some(TokenTree::Ident(name)) = level.get(index + 1) else { continue };
                if !tree::is_word(Some(token), "fn") {
                    continue;
                }
                let Some(end) = end_of_body(&level[index + 2..]) else { continue };
                let line = tree::line_of(token);
                let extent = Extent { line, lines: end + 1 - line };
                let longest = functions.entry((file.path.clone(), name.to_string())).or_insert(extent);
                if extent.lines > longest.lines {
                    *longest = extent;
                }
            }
        });
    }
    functions
}

/// The line of the brace that closes the function whose signature goes on in `tokens`; `None` if it has no body.
fn end_of_body(tokens: &[TokenTree]) -> Option<usize> {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return Some(group.span_close().end().line);
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{LIST, check, tightened};
    use crate::tidy::planted::places;
    use crate::tidy::tree::Tree;

    /// A function of `lines` lines, the first and the last being its signature and its closing brace.
    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_of_more_than_800_lines_is_found() {
        let fits = "//\n".repeat(800);
        let long = "//\n".repeat(801);
        assert_eq!(places(check, &[("a.rs", &fits), ("b.rs", &long), ("c.md", &long)]), ["b.rs:801"]);
    }

    #[test]
    fn a_function_of_more_than_70_lines_is_found_wherever_it_hides() {
        assert!(places(check, &[("a.rs", &function("a", 70))]).is_empty());
        let long = function("a", 71);
        assert_eq!(places(check, &[("a.rs", &long)]), ["a.rs:1"]);
        let hidden = format!("impl X {{\nmod y {{\nmacro_rules! z {{ () => {{\n{long}}} }}\n}}\n}}\n");
        assert_eq!(places(check, &[("a.rs", &hidden)]), ["a.rs:4"]);
    }

    #[test]
    fn a_listed_function_may_stay_but_not_grow() {
        let list = "# why\na.rs a 90\n";
        assert!(places(check, &[("a.rs", &function("a", 90)), (LIST, list)]).is_empty());
        assert_eq!(places(check, &[("a.rs", &function("a", 91)), (LIST, list)]), ["a.rs:1"]);
    }

    #[test]
    fn an_entry_that_allows_too_much_is_found_and_tightened() {
        let list = "# why\na.rs a 90\nb.rs gone 80\n";
        let shrunk = function("a", 85);
        assert_eq!(places(check, &[("a.rs", &shrunk), (LIST, list)]), [format!("{LIST}:2"), format!("{LIST}:3")]);
        assert_eq!(tightened(&Tree::planted(&[("a.rs", &shrunk), (LIST, list)])), "# why\na.rs a 85\n");
        let grown = function("a", 99);
        assert_eq!(tightened(&Tree::planted(&[("a.rs", &grown), (LIST, list)])), "# why\na.rs a 90\n");
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_found() {
        assert_eq!(places(check, &[(LIST, "a.rs a\n")]), [format!("{LIST}:1")]);
    }
}
