//! Rule: every Rust file opens with `//!`, which says what it owns, and can be split into tokens at all.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files().iter().filter(|file| file.path.ends_with(".rs")) {
        if let Some((line, reason)) = &file.broken {
            findings.push(Finding::new(
                &file.path,
                *line,
                format!("not Rust: {reason}"),
                "mend it, then run this again",
            ));
        }
        let opening = file.text.lines().find(|line| !line.trim().is_empty());
        if opening.and_then(|line| line.strip_prefix("//!")).is_none_or(|rest| rest.trim().is_empty()) {
            let mend = "begin it with `//!`: what the file owns, its invariants, who may call it";
            findings.push(Finding::new(&file.path, 1, "the file does not say what it is for", mend));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::places;

    #[test]
    fn a_file_without_an_opening_comment_is_found() {
        let files = [
            ("a.rs", "//! Owns a.\n"),
            ("b.rs", "use std::fmt;\n//! Too late.\n"),
            ("c.rs", "//!\n\nfn c() {}\n"),
            ("d.rs", ""),
            ("e.md", "no Rust"),
        ];
        assert_eq!(places(check, &files), ["b.rs:1", "c.rs:1", "d.rs:1"]);
    }

    #[test]
    fn a_file_that_is_not_rust_is_found_at_its_line() {
        assert_eq!(places(check, &[("a.rs", "//! Owns a.\n\nfn a() { (] }\n")]), ["a.rs:3"]);
    }
}
