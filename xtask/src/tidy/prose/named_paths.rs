//! Rule: a path of the repository that any text names exists, so that no comment, document or script names a file that
//! has moved.
//!
//! A word counts as such a path if it begins with one of [`DIRECTORIES`]. It is taken from the root of the repository
//! or from the directory of the file that names it, and `../` before it is passed over: the compiler checks these.

use crate::tidy::finding::Finding;
use crate::tidy::tree::{File, Tree};

/// The directories at the root whose paths are checked.
const DIRECTORIES: &[&str] = &["benchmarks/", "crates/", "docs/", "proofs/", "xtask/"];

/// Directories of other projects that examples index.
const ELSEWHERE: &[&str] = &["crates/core/"];

/// Where paths are planted for the tests of rules.
const PLANTED: &str = "xtask/src/tidy/";

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files().iter().filter(|file| !file.path.starts_with(PLANTED)) {
        for (index, line) in file.text.lines().enumerate() {
            for path in named(line).filter(|path| !exists(tree, file, path)) {
                let offence = format!("`{path}` names no file of the repository");
                findings.push(Finding::new(&file.path, index + 1, offence, "name the place where it is now"));
            }
        }
    }
}

/// The paths that `line` names, as they are written but for a dot that ends a sentence.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let ends_path = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-' | '.' | '/');
    line.split(ends_path).filter_map(|word| {
        let mut path = word;
        while let Some(rest) = path.strip_prefix("../") {
            path = rest;
        }
        let path = path.trim_end_matches(['.', '/']);
        // A path that ends with its directory names nothing below it.
        let begins = |directories: &[&str]| directories.iter().any(|directory| path.starts_with(directory));
        (begins(DIRECTORIES) && !begins(ELSEWHERE)).then_some(path)
    })
}

fn exists(tree: &Tree, file: &File, path: &str) -> bool {
    let beside = file.path.rsplit_once('/').map(|(directory, _)| format!("{directory}/{path}"));
    tree.contains(path) || beside.is_some_and(|beside| tree.contains(&beside))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::places;

    #[test]
    fn a_path_that_has_moved_is_found_in_any_file() {
        let files = [
            ("a.rs", "//! See `docs/old.md`, \"Log\".\nconst TEXT: &str = include_str!(\"../../docs/old.md\");\n"),
            (".ci/run", "python crates/tool/run.py\n"),
            ("docs/new.md", "the file crates/engine/gone.rs.\n"),
        ];
        assert_eq!(places(check, &files), [".ci/run:1", "a.rs:1", "a.rs:2", "docs/new.md:1"]);
    }

    #[test]
    fn files_and_directories_are_found_from_the_root_and_from_beside() {
        let text =
            "docs/a.md. (docs/), docs/deep/ `../docs/a.md#one` docs/…\n[data](benchmarks/x.jsonl) at benchmarks/.\n";
        let files = [("docs/a.md", text), ("docs/deep/b.md", ""), ("docs/benchmarks/x.jsonl", "")];
        assert!(places(check, &files).is_empty());
    }

    #[test]
    fn addresses_and_longer_paths_are_left_alone() {
        let text =
            "https://example.org/docs/x.md target/docs/x.md my-docs/x.md docs-x/y ./docs.md crates/core/search.rs\n";
        assert!(places(check, &[("a.md", text)]).is_empty());
    }
}
