//! Counted rule: a folder has at most fifteen files, so that a reader finds the right one by its name.

use std::collections::BTreeMap;

use crate::tidy::finding::Count;
use crate::tidy::tree::Tree;

const FILES_MAX: usize = 15;

/// Folders of data, whose files nobody reads one by one, and of records, which grow by one file for each decision.
const EXEMPT: &[&str] = &["/decisions", "/data", "/corpus", "/golden"];

pub fn count(tree: &Tree) -> Vec<Count> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for file in tree.files() {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    let is_exempt = |folder: &str| EXEMPT.iter().any(|ending| folder.ends_with(ending) || folder == &ending[1..]);
    let full =
        folders.into_iter().filter(|(folder, files)| *files > FILES_MAX && !folder.is_empty() && !is_exempt(folder));
    full.map(|(folder, files)| Count {
        rule: "files",
        path: folder.to_owned(),
        line: 1,
        count: files,
        offence: format!("a folder of more than {FILES_MAX} files"),
        mend: "group its files by subject",
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_more_than_fifteen_files_is_counted() {
        let paths: Vec<String> = (0..16)
            .flat_map(|n| [format!("src/a/{n}.rs"), format!("docs/decisions/{n}.md"), format!("{n}.md")])
            .chain((0..15).map(|n| format!("src/b/{n}.rs")))
            .collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        let counts = count(&Tree::planted(&files));
        assert_eq!(counts.iter().map(|count| (&*count.path, count.count)).collect::<Vec<_>>(), [("src/a", 16)]);
    }
}
