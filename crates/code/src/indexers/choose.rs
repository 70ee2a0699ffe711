//! [`Plan`]: the indexers for a directory, those that are missing, and running them.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::ctags::{CTAGS_ARGUMENTS, CtagsFile};
use crate::error::{Error, Result};
use crate::indexers::languages::{INDEXERS, INSTALL_CTAGS, Indexer};
use crate::indexers::run::{Run, Temporary, is_available, run};
use crate::indexers::stamps::Stamps;
use crate::model::part::Part;
use crate::scip::reader::ScipFile;
use crate::source::{Source, Visit};
use crate::stack::IndexLock;

/// The indexers that will be run for a directory.
#[derive(Debug)]
pub struct Plan {
    directory: PathBuf,
    scip: Vec<&'static Indexer>,
    ctags: Option<Ctags>,
    /// Whether ctags is not to be run.
    skips_ctags: bool,
    /// What is missing, and how to install it.
    missing: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Ctags {
    All,
    Languages(Vec<&'static str>),
}

impl Plan {
    /// A plan that runs this indexer alone.
    #[cfg(all(test, unix))]
    pub(crate) fn of_one(directory: &Path, indexer: &'static Indexer) -> Self {
        let (scip, missing) = (vec![indexer], Vec::new());
        Self { directory: directory.to_owned(), scip, ctags: None, skips_ctags: true, missing }
    }

    /// Looks at the files of `directory`, and at what this machine has.
    ///
    /// # Errors
    /// [`Error::NoIndexer`], if nothing on this machine reads the directory; [`Error::File`], if it is none.
    pub fn of(directory: &Path) -> Result<Plan> {
        Self::without(directory, &[])
    }

    /// As [`Plan::of`], without some indexers, which are named as in [`INDEXER_NAMES`](crate::INDEXER_NAMES). Ctags
    /// finds the definitions of their languages.
    ///
    /// # Errors
    /// As [`Plan::of`].
    pub fn without(directory: &Path, skipped: &[String]) -> Result<Plan> {
        Self::with(directory, skipped, &is_available)
    }

    fn with(directory: &Path, skipped: &[String], is_available: &dyn Fn(&str) -> bool) -> Result<Plan> {
        let is_skipped = |name: &str| skipped.iter().any(|skipped| skipped == name);
        std::fs::read_dir(directory).map_err(Error::file(directory, "be read"))?;
        let skips_ctags = is_skipped("ctags");
        let mut plan =
            Plan { directory: directory.to_owned(), scip: Vec::new(), ctags: None, skips_ctags, missing: Vec::new() };
        let mut others = Vec::new();
        for indexer in INDEXERS {
            let Some(mark) = indexer.mark(directory) else { continue };
            if is_skipped(indexer.name) {
                others.push(indexer.for_ctags);
            } else if is_available(indexer.name) {
                plan.scip.push(indexer);
            } else {
                let Indexer { name, language, install, .. } = indexer;
                plan.missing.push(format!("{language} ({mark}) needs {name}: {install}"));
                others.push(indexer.for_ctags);
            }
        }
        let wanted = match (plan.scip.is_empty(), others.is_empty()) {
            // Without another indexer, nothing would find the languages that none is for.
            (true, _) => Some(Ctags::All),
            (false, false) => Some(Ctags::Languages(others)),
            (false, true) => None,
        };
        let wanted = wanted.filter(|_| !skips_ctags);
        if wanted.is_some() && is_available("ctags") {
            plan.ctags = wanted;
        } else if wanted.is_some() {
            let finds = "Universal Ctags with JSON finds definitions of many languages";
            plan.missing.push(format!("{finds}: {INSTALL_CTAGS}"));
        }
        if plan.scip.is_empty() && plan.ctags.is_none() {
            if plan.missing.is_empty() {
                plan.missing.push("all indexers that read it are skipped".to_owned());
            }
            return Err(Error::NoIndexer { path: plan.directory, missing: plan.missing });
        }
        Ok(plan)
    }

    /// The names of the indexers, in the order in which they are run.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let ctags = self.ctags.iter().map(|_| "ctags");
        self.scip.iter().map(|indexer| indexer.name).chain(ctags).collect()
    }

    /// What is missing for a better index, and how to install it.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Runs the indexers, which write files beside the index: the lock keeps other processes from these. Calls
    /// `waiting` with the name of the running one and for how long it has run.
    ///
    /// # Errors
    /// [`Error::Indexer`]; [`Error::File`], if an earlier output cannot be removed.
    pub fn run(&self, lock: &IndexLock, waiting: &mut dyn FnMut(&str, Duration)) -> Result<Indexed> {
        let beside = lock.path();
        let beside = std::path::absolute(beside).map_err(Error::file(beside, "be written"))?;
        let named = |ending: &str| {
            let mut name = beside.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let log = Temporary::at(named("-indexer.log"))?;
        let stamps = Stamps::of(&self.directory);
        let changed = RefCell::default();
        let mut indexed = Indexed { outputs: Vec::new(), own_paths: HashSet::new(), stamps, changed };
        let mut files = vec![log.path().to_owned()];
        for name in self.names() {
            let indexer = self.scip.iter().find(|indexer| indexer.name == name);
            let ending = if indexer.is_some() { format!("-{name}.scip") } else { "-ctags.json".to_owned() };
            let file = Temporary::at(named(&ending))?;
            files.push(file.path().to_owned());
            let command = match indexer {
                Some(indexer) => self.command(indexer, file.path()),
                None => self.ctags_command(file.path()),
            };
            let source: Box<dyn Source> = match indexer {
                Some(_) => Box::new(ScipFile::new(file.path(), &self.directory)),
                None => Box::new(CtagsFile::new(file.path(), &self.directory)),
            };
            let (directory, output, log) = (self.directory.as_path(), file.path(), log.path());
            let begun = Run { name, command, directory, output, log, lock, files: &files };
            run(begun, &mut |time| waiting(name, time)).map_err(|error| self.explained(error, &is_available))?;
            indexed.own_paths.extend(path_within(&self.directory, file.path()));
            let can_be_skipped = self.can_be_skipped(name, &is_available);
            indexed.outputs.push(Output { name, can_be_skipped, source, _file: file });
        }
        Ok(indexed)
    }

    /// How an indexer is run that writes SCIP.
    fn command(&self, indexer: &Indexer, output: &Path) -> Command {
        let mut command = Command::new(indexer.name);
        let name = self.directory.canonicalize().ok();
        let name = name.as_deref().and_then(Path::file_name).unwrap_or_default();
        command.args(indexer.arguments.iter().map(|argument| match *argument {
            "{output}" => output.as_os_str(),
            "{name}" => name,
            argument => argument.as_ref(),
        }));
        if let Some(target) = cargo_target(&self.directory, std::env::var_os("CARGO_TARGET_DIR")) {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }

    /// How ctags is run.
    fn ctags_command(&self, output: &Path) -> Command {
        let mut command = Command::new("ctags");
        command.args(CTAGS_ARGUMENTS).arg("--recurse").arg("-f").arg(output);
        if let Some(Ctags::Languages(languages)) = &self.ctags {
            command.arg(format!("--languages={}", languages.join(",")));
        }
        // It would read its own output, which is JSON. It takes some names for patterns, or for those of files.
        let name = output.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !name.is_empty() && !name.contains(['*', '?', '[', '\\']) && !name.starts_with('@') {
            command.arg(format!("--exclude={name}"));
        }
        command.arg(".");
        command
    }

    /// The error of an indexer, with whether another one would be left without it.
    fn explained(&self, error: Error, is_available: &dyn Fn(&str) -> bool) -> Error {
        let Error::Indexer { name, message, .. } = error else { return error };
        Error::Indexer { name, message, can_be_skipped: self.can_be_skipped(name, is_available) }
    }

    /// Whether another indexer would be left without this one.
    fn can_be_skipped(&self, name: &str, is_available: &dyn Fn(&str) -> bool) -> bool {
        // Ctags takes the languages of an indexer that is skipped.
        let is_replaced = || name != "ctags" && !self.skips_ctags && is_available("ctags");
        self.names().len() > 1 || is_replaced()
    }
}

/// Where an indexer that runs cargo builds: in a directory of its own within that of other builds, so that it does not
/// wait until these end. `None`, if cargo finds that directory by itself.
fn cargo_target(directory: &Path, inherited: Option<OsString>) -> Option<PathBuf> {
    let of_workspace = || directory.join("Cargo.lock").is_file().then(|| directory.join("target"));
    let shared = inherited.filter(|name| !name.is_empty()).map(PathBuf::from).or_else(of_workspace)?;
    std::path::absolute(shared.join("fulgurite-index")).ok()
}

/// The path of a file from a directory on, if the file is below it.
fn path_within(directory: &Path, file: &Path) -> Option<String> {
    let (directory, parent) = (directory.canonicalize().ok()?, file.parent()?.canonicalize().ok()?);
    let path = parent.strip_prefix(directory).ok()?.join(file.file_name()?);
    let names: Option<Vec<&str>> = path.iter().map(OsStr::to_str).collect();
    Some(names?.join("/"))
}

/// What indexers wrote. The files go when it is dropped.
pub struct Indexed {
    outputs: Vec<Output>,
    /// The paths of the outputs from the directory on, if they are in it: an indexer may have read them.
    own_paths: HashSet<String>,
    /// The directory before the indexers ran.
    stamps: Stamps,
    /// The files that were found to be changed.
    changed: RefCell<BTreeSet<String>>,
}

/// What one indexer wrote.
struct Output {
    name: &'static str,
    /// Whether another indexer would be left without this one.
    can_be_skipped: bool,
    source: Box<dyn Source>,
    _file: Temporary,
}

impl Source for Indexed {
    fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
        let mut checked = |part: Part| {
            if self.own_paths.contains(part.unit()) {
                return Ok(());
            }
            // The text was read for the part before this, if columns are counted in it.
            if let Part::Document(document) = &part
                && !self.stamps.is_unchanged(&document.path)
            {
                self.changed.borrow_mut().insert(document.path.clone());
            }
            visit(part)
        };
        for output in &self.outputs {
            output.source.each(&mut checked).map_err(|error| output.explained(error))?;
        }
        Ok(())
    }

    fn changed_files(&self) -> BTreeSet<String> {
        self.changed.borrow().clone()
    }

    fn outside_files(&self) -> BTreeSet<String> {
        self.outputs.iter().flat_map(|output| output.source.outside_files()).collect()
    }
}

impl Output {
    /// The error of what the indexer wrote names the indexer: the file is gone when the user reads it.
    fn explained(&self, error: Error) -> Error {
        let Error::Index { place, message, .. } = error else { return error };
        let message = format!("its index is wrong: {place}: {message}");
        Error::Indexer { name: self.name, message, can_be_skipped: self.can_be_skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexers_are_chosen_by_files_and_programs() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let names = |available: &[&str]| {
            let plan = Plan::with(path, &[], &|program| available.contains(&program));
            plan.map(|plan| (plan.names(), plan.missing().len()))
        };
        assert_eq!(names(&["ctags"]).expect("ctags reads anything"), (vec!["ctags"], 0));
        for name in ["Cargo.toml", "main.py"] {
            std::fs::write(path.join(name), "").expect("a file");
        }
        assert_eq!(names(&["rust-analyzer", "scip-python"]).expect("both"), (vec!["rust-analyzer", "scip-python"], 0));
        assert_eq!(names(&["rust-analyzer", "ctags"]).expect("one"), (vec!["rust-analyzer", "ctags"], 1));
        assert_eq!(names(&["rust-analyzer"]).expect("one"), (vec!["rust-analyzer"], 2));
        let ctags =
            |available: &[&str]| Plan::with(path, &[], &|program| available.contains(&program)).map(|plan| plan.ctags);
        assert_eq!(ctags(&["ctags"]).expect("ctags reads anything"), Some(Ctags::All));
        let python = Some(Ctags::Languages(vec!["Python"]));
        assert_eq!(ctags(&["ctags", "rust-analyzer"]).expect("both"), python);
        let error = names(&[]).expect_err("nothing is there").to_string();
        for part in ["Cargo.toml", "rustup component add rust-analyzer", "scip-python", "universal-ctags"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(Plan::of(&path.join("none")).is_err());
    }

    #[test]
    fn an_indexer_that_is_skipped_is_not_run_and_not_missing() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["Cargo.toml", "main.py"] {
            std::fs::write(directory.path().join(name), "").expect("a file");
        }
        let plan = |skipped: &[&str], available: &[&str]| {
            let skipped: Vec<String> = skipped.iter().map(|name| (*name).to_owned()).collect();
            let plan = Plan::with(directory.path(), &skipped, &|program| available.contains(&program))?;
            Ok::<_, Error>((plan.names(), plan.missing().len(), plan.ctags))
        };
        let all = ["rust-analyzer", "scip-python", "ctags"];
        let python = Some(Ctags::Languages(vec!["Python"]));
        assert_eq!(plan(&["scip-python"], &all).expect("two"), (vec!["rust-analyzer", "ctags"], 0, python));
        let without_ctags = plan(&["scip-python", "ctags"], &all).expect("one");
        assert_eq!(without_ctags, (vec!["rust-analyzer"], 0, None));
        let error = plan(&all, &all).expect_err("all are skipped").to_string();
        assert!(error.ends_with("no indexer reads this directory: all indexers that read it are skipped"), "{error}");
    }

    #[test]
    fn ctags_finds_all_languages_of_an_indexer_that_is_skipped() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["Cargo.toml", "pom.xml"] {
            std::fs::write(directory.path().join(name), "").expect("a file");
        }
        let plan = Plan::with(directory.path(), &["scip-java".to_owned()], &|_| true).expect("two are left");
        assert_eq!(plan.names(), ["rust-analyzer", "ctags"]);
        assert_eq!(plan.ctags, Some(Ctags::Languages(vec!["Java,Kotlin,Scala"])));
    }

    #[test]
    fn skipping_an_indexer_is_advised_if_another_one_would_be_left() {
        let directory = tempfile::tempdir().expect("a directory");
        let advice = |name: &'static str, skipped: &[&str], available: &[&str]| {
            let skipped: Vec<String> = skipped.iter().map(|name| (*name).to_owned()).collect();
            let is_available = |program: &str| available.contains(&program);
            let plan = Plan::with(directory.path(), &skipped, &is_available).expect("an indexer is there");
            let error = Error::Indexer { name, message: "it has a bug".to_owned(), can_be_skipped: false };
            plan.explained(error, &is_available).to_string().contains(&format!("`--skip {name}` indexes without it"))
        };
        assert!(!advice("ctags", &[], &["ctags"]));
        std::fs::write(directory.path().join("Cargo.toml"), "").expect("a file");
        assert!(!advice("rust-analyzer", &[], &["rust-analyzer"]));
        assert!(!advice("rust-analyzer", &["ctags"], &["rust-analyzer", "ctags"]));
        assert!(advice("rust-analyzer", &[], &["rust-analyzer", "ctags"]));
        std::fs::write(directory.path().join("main.py"), "").expect("a file");
        assert!(advice("ctags", &[], &["rust-analyzer", "ctags"]));
    }

    #[test]
    fn cargo_builds_for_an_indexer_beside_other_builds() {
        let directory = tempfile::tempdir().expect("a directory");
        let inherited = directory.path().join("shared");
        let own = cargo_target(directory.path(), Some(inherited.clone().into()));
        assert_eq!(own, Some(inherited.join("fulgurite-index")));
        assert_eq!(cargo_target(directory.path(), None), None);
        std::fs::write(directory.path().join("Cargo.lock"), "").expect("a file");
        let own = directory.path().join("target").join("fulgurite-index");
        assert_eq!(cargo_target(directory.path(), Some(OsString::new())), Some(own));
    }

    #[cfg(unix)]
    #[test]
    fn an_indexer_that_is_missing_is_an_error_that_says_so() {
        static MISSING: Indexer =
            Indexer { name: "no-such-indexer", language: "", marks: &[], arguments: &[], install: "", for_ctags: "" };
        let directory = tempfile::tempdir().expect("a directory");
        let plan = Plan::of_one(directory.path(), &MISSING);
        let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
        let error = plan.run(&lock, &mut |_, _| {}).err().expect("there is no such program").to_string();
        assert!(error.starts_with("no-such-indexer failed: it cannot be run: "), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_an_earlier_run_has_left_is_not_read() {
        static SILENT: Indexer =
            Indexer { name: "true", language: "", marks: &[], arguments: &["{output}"], install: "", for_ctags: "" };
        let directory = tempfile::tempdir().expect("a directory");
        let index = directory.path().join("code.ful");
        // Metadata only: an empty index.
        std::fs::write(directory.path().join("code.ful-true.scip"), [0x0a, 0]).expect("a file");
        let plan = Plan::of_one(directory.path(), &SILENT);
        let run = plan.run(&IndexLock::take(&index).expect("a lock"), &mut |_, _| {});
        let error = run.err().expect("the indexer wrote nothing").to_string();
        assert!(error.contains("true failed: it ended without an error, and wrote no index"), "{error}");
        // It is the only indexer.
        assert!(error.ends_with("the index was not changed"), "{error}");
        assert!(!directory.path().join("code.ful-true.scip").exists());
    }
}
