//! [`sources`]: the files of a directory that ctags reads. Ctags by itself also reads dependencies and what builds
//! write.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::indexers::roots::{children, is_of_others, is_searched};

/// The files below `top`, by their paths from there on, with `/`: those that git does not ignore, without those of
/// tools and of others. Where git knows no files, as in a repository within another one, directories into which builds
/// write are left out by their names.
pub fn sources(top: &Path) -> Vec<String> {
    match known_to_git(top) {
        None => below(top, is_searched),
        Some(known) => {
            let mut found = below(top, |name| !is_of_others(name));
            // Of a repository within this one, git lists the directory, and does not say what is ignored there.
            let is_in_other = |path: &str| {
                let is_known = |at: usize| known.contains(&path[..at]) && is_in_no_build(&path[at + 1..]);
                path.match_indices('/').any(|(at, _)| is_known(at))
            };
            found.retain(|path| known.contains(path) || is_in_other(path));
            found
        }
    }
}

/// Whether no directory of a path has the name of one into which builds write.
fn is_in_no_build(path: &str) -> bool {
    path.rsplit_once('/').is_none_or(|(directories, _)| directories.split('/').all(is_searched))
}

/// Writes paths as a list that ctags reads.
///
/// # Errors
/// [`Error::File`].
pub fn write_list(list: &Path, paths: &[String]) -> Result<()> {
    let mut text = String::new();
    for path in paths.iter().filter(|path| !path.contains(['\n', '\r'])) {
        // A line that begins with `-` would be an option.
        text.push_str("./");
        text.push_str(path);
        text.push('\n');
    }
    fs::write(list, text).map_err(Error::file(list, "be written"))
}

/// The files below `top` in directories whose names are wanted.
fn below(top: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![String::new()];
    while let Some(path) = left.pop() {
        let here = top.join(&path);
        let joined = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        let (directories, files) = children(&here);
        // Neither a link to a directory nor a pipe.
        let is_file = |name: &String| fs::metadata(here.join(name)).is_ok_and(|metadata| metadata.is_file());
        found.extend(files.into_iter().filter(is_file).map(|name| joined(&name)));
        left.extend(directories.iter().filter(|name| is_wanted(name)).map(|name| joined(name)));
    }
    found
}

/// The files below `top` that git has or would add. `None`, if git is not there, or knows no file there: `top` may be a
/// directory that is ignored as a whole.
fn known_to_git(top: &Path) -> Option<HashSet<String>> {
    let mut git = Command::new("git");
    // This setting of a repository names a program that git would run.
    git.args(["-c", "core.fsmonitor=false"]);
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    // Within a hook, these are of the repository of the hook.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(name);
    }
    let output = git.current_dir(top).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let paths = output.stdout.split(|byte| *byte == 0).filter_map(|path| str::from_utf8(path).ok());
    let known: HashSet<String> =
        paths.filter(|path| !path.is_empty()).map(|path| path.trim_end_matches('/').to_owned()).collect();
    (output.status.success() && !known.is_empty()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(top: &Path, path: &str, text: &str) {
        let path = top.join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn sorted(top: &Path) -> Vec<String> {
        let mut found = sources(top);
        found.sort_unstable();
        found
    }

    /// Ctags indexed dependencies and the output of builds.
    #[test]
    fn ctags_reads_no_dependencies_and_no_output_of_builds() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path();
        for path in [
            "main.js",
            "src/lib.js",
            "node_modules/lib/x.js",
            "web/node_modules/lib/x.js",
            "env/pyvenv.cfg",
            "env/lib/x.py",
            ".venv/lib/x.py",
            "cache/CACHEDIR.TAG",
            "cache/debug/x.json",
            "target/x.rs",
            "dist/x.js",
            "vendor/x.go",
        ] {
            write(top, path, "");
        }
        assert_eq!(sorted(top), ["main.js", "src/lib.js"]);
        assert_eq!(sorted(&top.join("vendor")), ["x.go"]);
    }

    #[test]
    fn ctags_reads_no_files_that_git_ignores() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path();
        // A repository, and one within it.
        for path in [top.to_owned(), top.join("inner")] {
            fs::create_dir_all(&path).expect("a directory");
            let begun = Command::new("git").args(["init", "--quiet"]).current_dir(path).status();
            if !begun.is_ok_and(|status| status.success()) {
                eprintln!("SKIPPED: there is no program `git`");
                return;
            }
        }
        write(top, ".gitignore", "/made/\n*.min.js\n");
        for path in ["src/bin/tool.rs", "made/x.rs", "made/y.rs", "web/a.js", "web/a.min.js", "vendor/x.go"] {
            write(top, path, "");
        }
        for path in ["inner/x.rs", "inner/src/y.rs", "inner/target/debug/z.rs"] {
            write(top, path, "");
        }
        assert_eq!(sorted(top), [".gitignore", "inner/src/y.rs", "inner/x.rs", "src/bin/tool.rs", "web/a.js"]);
        assert_eq!(sorted(&top.join("web")), ["a.js"]);
        // It is ignored as a whole, but asked for.
        assert_eq!(sorted(&top.join("made")), ["x.rs", "y.rs"]);
    }

    #[test]
    fn a_list_for_ctags_has_no_line_that_is_an_option() {
        let directory = tempfile::tempdir().expect("a directory");
        let list = directory.path().join("list");
        write_list(&list, &["-x.rs", "a b.rs", "a\nb.rs"].map(str::to_owned)).expect("it is written");
        assert_eq!(fs::read_to_string(list).expect("it is there"), "./-x.rs\n./a b.rs\n");
    }
}
