//! [`roots`]: for which directories of a tree an indexer is. Repositories with several projects have files that say so
//! in subdirectories only.

use std::fs;
use std::path::{Path, PathBuf};

use crate::indexers::languages::{INDEXERS, Indexer};
use crate::indexers::stamps::{BUILT, CACHE_MARK, CACHES};

/// A directory for which an indexer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its path from the indexed directory on, with `/`. Empty for that itself.
    pub path: String,
    /// The file that says so: its path from the indexed directory on.
    pub mark: String,
}

/// A directory below the indexed one.
#[derive(Debug)]
pub struct Folder {
    /// Its path from the indexed directory on.
    path: String,
    /// Its files that are marks of indexers.
    marks: Vec<String>,
}

/// The directories below `top` in which projects are looked for, each after the one that it is in: those that neither
/// hold dependencies, nor test data, nor what builds write.
pub fn folders(top: &Path) -> Vec<Folder> {
    let mut found = Vec::new();
    let mut level: Vec<String> = children(top).0.into_iter().filter(|name| is_searched(name)).collect();
    for depth in 1..=DEPTH_MAX {
        let mut next = Vec::new();
        for path in level {
            let (below, mut marks) = children(&top.join(&path));
            if depth < DEPTH_MAX {
                let searched = below.into_iter().filter(|name| is_searched(name));
                next.extend(searched.map(|name| format!("{path}/{name}")));
            }
            marks.retain(|name| INDEXERS.iter().any(|indexer| indexer.marks.contains(&name.as_str())));
            found.push(Folder { path, marks });
        }
        level = next;
    }
    found
}

/// The directories for which an indexer is: `top` alone, or else those of `folders` that are not below another one.
/// These have sources too: a tool may have left only its settings.
pub fn roots(top: &Path, folders: &[Folder], indexer: &Indexer) -> Vec<Root> {
    if let Some(mark) = indexer.mark(top) {
        return vec![Root { path: String::new(), mark }];
    }
    let mut roots: Vec<Root> = Vec::new();
    for Folder { path, marks } in folders {
        let Some(mark) = indexer.marks.iter().find(|mark| marks.iter().any(|name| name == *mark)) else { continue };
        if !roots.iter().any(|root| is_below(path, &root.path)) && has_source(&top.join(path), indexer.endings) {
            roots.push(Root { path: path.clone(), mark: format!("{path}/{mark}") });
        }
    }
    roots
}

fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a directory, or one below it, has a file with one of these endings.
fn has_source(directory: &Path, endings: &[&str]) -> bool {
    let mut left: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        let (below, files) = children(&directory);
        if files.iter().any(|name| endings.iter().any(|ending| name.ends_with(ending))) {
            return true;
        }
        left.extend(below.iter().map(|name| directory.join(name)));
    }
    false
}

/// The names of the directories in a directory, without hidden ones, caches and environments, and of its files, both in
/// order. A directory that cannot be read has none.
pub fn children(directory: &Path) -> (Vec<String>, Vec<String>) {
    let (mut directories, mut files) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        // Indexers write names in UTF-8.
        let Ok(name) = entry.file_name().into_string() else { continue };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if !is_of_tools(&name, &entry.path()) {
                    directories.push(name);
                }
            }
            _ => files.push(name),
        }
    }
    directories.sort_unstable();
    files.sort_unstable();
    (directories, files)
}

/// Whether a directory has files of tools, and no sources of a project.
fn is_of_tools(name: &str, path: &Path) -> bool {
    let is_marked = || [CACHE_MARK, ENVIRONMENT_MARK].iter().any(|mark| path.join(mark).is_file());
    name.starts_with('.') || CACHES.contains(&name) || is_marked()
}

/// Whether projects are looked for in directories of this name. A project can have sources in the others, such as
/// `src/bin`.
pub fn is_searched(name: &str) -> bool {
    !BUILT.contains(&name) && !is_of_others(name)
}

/// Whether directories of this name have dependencies, what is published, or what tests read.
pub fn is_of_others(name: &str) -> bool {
    OF_OTHERS.contains(&name)
}

/// So many levels below the indexed directory, projects are looked for.
const DEPTH_MAX: usize = 3;
/// Directories with projects of others, with what is published, and with what tests read.
const OF_OTHERS: [&str; 5] = ["vendor", "third_party", "dist", "testdata", "fixtures"];
/// A file in an environment of Python, where dependencies are.
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_the_highest_directories_with_a_mark_and_sources() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path();
        for path in [
            "backend/Cargo.toml",
            "backend/src/main.rs",
            "backend/inner/Cargo.toml",
            "backend/inner/lib.rs",
            "apps/web/client/package.json",
            "apps/web/client/main.ts",
            "tools/Cargo.toml",
            "tools/src/bin/tool.rs",
            // Without sources, too deep, or in a directory that is skipped.
            "notes/Cargo.toml",
            "a/b/c/d/Cargo.toml",
            "a/b/c/d/main.rs",
            "samples/bin/Cargo.toml",
            "samples/bin/main.rs",
            "web/node_modules/x/package.json",
            "web/node_modules/x/x.js",
            ".hidden/Cargo.toml",
            ".hidden/main.rs",
            "env/pyvenv.cfg",
            "env/setup.py",
            "scripts/one.py",
        ] {
            let path = top.join(path);
            fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
            fs::write(path, "").expect("a file");
        }
        let of = |top: &Path| {
            let folders = folders(top);
            let all = INDEXERS.iter().flat_map(|indexer| roots(top, &folders, indexer));
            all.map(|root| (root.path, root.mark)).collect::<Vec<_>>()
        };
        let pair = |path: &str, mark: &str| (path.to_owned(), mark.to_owned());
        let web = "apps/web/client";
        let rust = ["backend", "tools"].map(|path| pair(path, &format!("{path}/Cargo.toml")));
        assert_eq!(of(top), [&rust[..], &[pair(web, &format!("{web}/package.json"))]].concat());
        assert_eq!(of(&top.join("backend")), [pair("", "Cargo.toml")]);
        // Any file of Python says that the directory itself is for it.
        assert_eq!(of(&top.join("scripts")), [pair("", "one.py")]);
    }
}
