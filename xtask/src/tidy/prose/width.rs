//! Counted rule: lines of comments have at most 120 columns, lines of documents 100, and cells of tables 120.

use crate::tidy::finding::Count;
use crate::tidy::tree::{File, Tree};

const COMMENT_COLUMNS_MAX: usize = 120;
const DOCUMENT_COLUMNS_MAX: usize = 100;
const CELL_COLUMNS_MAX: usize = 120;

pub fn count(tree: &Tree) -> Vec<Count> {
    tree.files().iter().filter_map(count_file).collect()
}

fn count_file(file: &File) -> Option<Count> {
    let lines: Vec<usize> = match file.path.rsplit_once('.')?.1 {
        "md" if !file.path.starts_with("data/") => wide_in_document(&file.text),
        "rs" => wide_comments(&file.text),
        _ => return None,
    };
    Some(Count {
        rule: "width",
        path: file.path.clone(),
        line: *lines.first()?,
        count: lines.len(),
        offence: "lines or cells that are too long to read".to_owned(),
        mend: "wrap comments at 120 columns and documents at 100, and shorten cells to 120",
    })
}

fn wide_comments(text: &str) -> Vec<usize> {
    let is_wide = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > COMMENT_COLUMNS_MAX;
    text.lines().zip(1..).filter(|(line, _)| is_wide(line)).map(|(_, number)| number).collect()
}

/// Lines that hold a link or a code span too long to be broken are judged without it.
fn wide_in_document(text: &str) -> Vec<usize> {
    let mut is_code = false;
    let mut wide = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        is_code ^= line.trim_start().starts_with("```");
        let is_too_wide = if line.starts_with('|') {
            line.split('|').any(|cell| without_targets(cell).chars().count() > CELL_COLUMNS_MAX)
        } else {
            without_targets(line).chars().count() > DOCUMENT_COLUMNS_MAX
        };
        if is_too_wide && !is_code {
            wide.push(number);
        }
    }
    wide
}

/// The line without the targets of its links.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let mut plain = parts.next().unwrap_or("").to_owned();
    for part in parts {
        plain.push_str("](");
        plain.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(path: &str, text: &str) -> Option<(usize, usize)> {
        count(&Tree::planted(&[(path, text)])).first().map(|count| (count.line, count.count))
    }

    #[test]
    fn long_lines_of_comments_are_counted() {
        let long = "x".repeat(117);
        let text = format!("//! Fits.\n    let s = \"{long}\";\n    // {long}\n// {long}\n");
        assert_eq!(counted("a.rs", &text), Some((3, 1)));
    }

    #[test]
    fn long_lines_and_cells_of_documents_are_counted() {
        let (long, cell) = ("x".repeat(101), "x".repeat(121));
        let text = format!("{long}\n```\n{long}\n```\n| {long} | {long} |\n| {cell} |\n[a]({long})\n");
        assert_eq!(counted("a.md", &text), Some((1, 2)));
    }
}
