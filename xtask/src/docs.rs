//! `cargo xtask docs`: the documents as a book.

use std::path::Path;

use crate::command::{Command, Failure};
use crate::launch::{cargo, wait};
use crate::{tidy, tools, workspace};

/// `cargo xtask docs`
pub const DOCS: Command = Command {
    name: "docs",
    summary: "build the documents as a book, and check their links and examples",
    help: "\
Usage: cargo xtask docs

Checks the links between the documents, runs the steps of the guides and the example programs, and builds the book in
target/book with mdBook. Open target/book/index.html in a browser. mdBook is built below target/ if it is missing.",
    run: docs,
};

fn docs(arguments: &[String]) -> Result<(), Failure> {
    if !arguments.is_empty() {
        return Err(Failure::Usage("takes no arguments".into()));
    }
    let root = workspace::root()?;
    tidy::check_workspace(&root)?;
    let missing = missing_pages(&root).map_err(Failure::Failed)?;
    if !missing.is_empty() {
        return Err(Failure::Failed(format!("docs/SUMMARY.md does not list {}; add them", missing.join(", "))));
    }
    cargo(&root, &["test", "--package", "fulgurite-examples"])?;
    let mdbook = tools::ensure_mdbook(&root).map_err(Failure::Failed)?;
    wait(workspace::child(&root, &mdbook.to_string_lossy(), &["build", "docs"]))?;
    println!("{}", root.join("target/book/index.html").display());
    Ok(())
}

/// The documents that the book leaves out.
///
/// # Errors
/// If the documents cannot be read.
fn missing_pages(root: &Path) -> Result<Vec<String>, String> {
    let docs = root.join("docs");
    let failed = |path: &Path, error: &std::io::Error| format!("{}: {error}", path.display());
    let summary = docs.join("SUMMARY.md");
    let listed = std::fs::read_to_string(&summary).map_err(|error| failed(&summary, &error))?;
    let (mut folders, mut missing) = (vec![docs.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| failed(&folder, &error))? {
            let path = entry.map_err(|error| failed(&folder, &error))?.path();
            let name = path.strip_prefix(&docs).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".md") && name != "SUMMARY.md" && !listed.contains(&format!("]({name})")) {
                missing.push(name);
            }
        }
    }
    missing.sort();
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_every_document() {
        let root = workspace::root().expect("cargo runs this test");
        assert_eq!(missing_pages(&root), Ok(Vec::new()), "add these to docs/SUMMARY.md");
    }

    #[test]
    fn a_document_that_the_book_leaves_out_is_found() {
        let root = std::env::temp_dir().join(format!("xtask-docs-{}", std::process::id()));
        std::fs::create_dir_all(root.join("docs/guide")).expect("the directory is ours");
        let write = |name: &str, text: &str| std::fs::write(root.join("docs").join(name), text).expect("it is ours");
        write("SUMMARY.md", "- [a](guide/a.md)\n");
        write("guide/a.md", "# A\n");
        write("guide/b.md", "# B\n");
        let missing = missing_pages(&root);
        std::fs::remove_dir_all(&root).expect("the directory is ours");
        assert_eq!(missing, Ok(vec!["guide/b.md".to_owned()]));
    }
}
