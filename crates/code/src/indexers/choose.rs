//! [`Plan`]: the indexers for a directory, those that are missing, and running them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::ctags::{CTAGS_ARGUMENTS, CtagsFile};
use crate::error::{Error, Result};
use crate::indexers::earlier::{has_found, would_lose};
use crate::indexers::indexed::{Indexed, Output, in_root, path_within};
use crate::indexers::languages::{INDEXERS, INSTALL_CTAGS, Indexer};
use crate::indexers::roots::{folders, roots};
use crate::indexers::run::{Run, Temporary, is_available, run};
use crate::indexers::sources::{sources, write_list};
use crate::scip::reader::ScipFile;
use crate::source::Source;
use crate::stack::{IndexLock, files_beside};

/// The indexers that will be run for a directory.
#[derive(Debug)]
pub struct Plan {
    directory: PathBuf,
    /// Those of one indexer are behind each other.
    scip: Vec<Job>,
    ctags: Option<Ctags>,
    /// Whether ctags is not to be run.
    skips_ctags: bool,
    /// What is missing, and how to install it.
    missing: Vec<String>,
    /// What would be run if nothing were missing.
    absent: Vec<Job>,
}

/// A run of an indexer that writes SCIP.
#[derive(Debug)]
struct Job {
    indexer: &'static Indexer,
    /// Where it runs: see [`Root::path`](crate::indexers::roots::Root::path).
    root: String,
}

impl Job {
    /// Whether the others are indexed without this one after an error of it: nothing that it has found before leaves
    /// the index at `path` then.
    fn can_be_left_out(&self, error: &Error, path: &Path) -> bool {
        let is_below = matches!(error, Error::Indexer { .. }) && !self.root.is_empty();
        // An index that cannot be read may have it.
        is_below && has_found(path, &self.root, self.indexer.endings).is_ok_and(|found| !found)
    }
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
        Self::in_roots(directory, indexer, &[""])
    }

    /// A plan that runs this indexer alone, in directories below.
    #[cfg(all(test, unix))]
    pub(crate) fn in_roots(directory: &Path, indexer: &'static Indexer, roots: &[&str]) -> Self {
        let scip = roots.iter().map(|root| Job { indexer, root: (*root).to_owned() }).collect();
        Self { scip, skips_ctags: true, ..Self::empty(directory) }
    }

    /// A plan that runs nothing.
    fn empty(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            scip: Vec::new(),
            ctags: None,
            skips_ctags: false,
            missing: Vec::new(),
            absent: Vec::new(),
        }
    }

    /// Looks at the files of `directory`, and at what this machine has. If no file of it is for an indexer, that runs
    /// in each directory below, at most three levels down, that has such files.
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
        let mut plan = Plan { skips_ctags: is_skipped("ctags"), ..Plan::empty(directory) };
        let mut others = Vec::new();
        let folders = folders(directory);
        for indexer in INDEXERS {
            let roots = roots(directory, &folders, indexer);
            let Some(first) = roots.first() else { continue };
            if is_skipped(indexer.name) {
                others.push(indexer.for_ctags);
            } else if is_available(indexer.name) {
                plan.scip.extend(roots.into_iter().map(|root| Job { indexer, root: root.path }));
            } else {
                let (Indexer { name, language, install, .. }, mark) = (indexer, &first.mark);
                plan.missing.push(format!("{language} ({mark}) needs {name}: {install}"));
                others.push(indexer.for_ctags);
                plan.absent.extend(roots.into_iter().map(|root| Job { indexer, root: root.path }));
            }
        }
        // Without another indexer for the directory itself, nothing would find the languages that none is for.
        let is_for_all = plan.scip.iter().all(|job| !job.root.is_empty());
        let wanted = match (is_for_all, others.is_empty()) {
            (true, _) => Some(Ctags::All),
            (false, false) => Some(Ctags::Languages(others)),
            (false, true) => None,
        };
        let wanted = wanted.filter(|_| !plan.skips_ctags);
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
        let mut names: Vec<&str> = self.scip.iter().map(|job| job.indexer.name).collect();
        names.dedup();
        names.extend(self.ctags.iter().map(|_| "ctags"));
        names
    }

    /// What is run, in order: names of indexers, with the directory if that is not the indexed one, as
    /// `scip-typescript in web`.
    #[must_use]
    pub fn runs(&self) -> Vec<String> {
        let ctags = self.ctags.iter().map(|_| "ctags".to_owned());
        self.scip.iter().map(|job| named_in(job.indexer.name, &job.root)).chain(ctags).collect()
    }

    /// The tools that are missing for a better index, and how to install them.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Runs the indexers, which write files beside the index: the lock keeps other processes from these. Calls
    /// `waiting` with the running one, as [`Plan::runs`] has it, and for how long it has run.
    ///
    /// One that fails in a directory below is left out, and named by [`Indexed::failures`], unless the index has files
    /// there that it found before, or no other one runs.
    ///
    /// # Errors
    /// [`Error::MissingIndexer`], if the index has files that an indexer found that is missing now; [`Error::Indexer`];
    /// [`Error::File`], if an earlier output cannot be removed, or the disk is full; [`Error::OutputsKept`] with one of
    /// these, if other indexers have finished.
    pub fn run(&self, lock: &IndexLock, waiting: &mut dyn FnMut(&str, Duration)) -> Result<Indexed> {
        let is_loss = |job: &&Job| would_lose(lock.path(), &job.root, job.indexer.endings);
        if let Some(Job { indexer, .. }) = self.absent.iter().find(is_loss) {
            return Err(Error::MissingIndexer { name: indexer.name, install: indexer.install });
        }
        let beside = lock.path();
        let beside = std::path::absolute(beside).map_err(Error::file(beside, "be written"))?;
        remove_outputs(&beside);
        let mut indexed = Indexed::of(&self.directory);
        match self.run_all(lock, &beside, &mut indexed, waiting) {
            Ok(()) => Ok(indexed),
            Err(error) => Err(indexed.failed(error)),
        }
    }

    /// Runs the indexers, which write files beside the index at `beside`, and adds their outputs to `indexed`.
    fn run_all(
        &self,
        lock: &IndexLock,
        beside: &Path,
        indexed: &mut Indexed,
        waiting: &mut dyn FnMut(&str, Duration),
    ) -> Result<()> {
        let named = |ending: &str| {
            let mut name = beside.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let (log, list) = (Temporary::at(named("-indexer.log"))?, Temporary::at(named("-ctags.list"))?);
        let mut files = [&log, &list].map(|file| file.path().to_owned()).to_vec();
        let scip = self.scip.iter().map(Some);
        for job in scip.chain(self.ctags.iter().map(|_| None)) {
            let (name, root) = job.map_or(("ctags", ""), |job| (job.indexer.name, job.root.as_str()));
            let earlier = indexed.outputs.iter().filter(|output| output.name == name).count();
            let ending = match (job, earlier) {
                (None, _) => "-ctags.json".to_owned(),
                (Some(_), 0) => format!("-{name}.scip"),
                (Some(_), number) => format!("-{name}-{number}.scip"),
            };
            let file = Temporary::at(named(&ending))?;
            files.push(file.path().to_owned());
            let directory = if root.is_empty() { self.directory.clone() } else { self.directory.join(root) };
            let command = match job {
                Some(job) => command(job.indexer, &directory, root, file.path()),
                None => self.ctags_command(file.path(), list.path())?,
            };
            let source: Box<dyn Source> = match job {
                Some(_) => Box::new(ScipFile::of_root(file.path(), &self.directory, root)),
                None => Box::new(CtagsFile::new(file.path(), &self.directory)),
            };
            let (output, log, shown) = (file.path(), log.path(), named_in(name, root));
            let begun = Run { name, command, directory: &directory, output, log, lock, files: &files };
            if let Err(error) = run(begun, &mut |time| waiting(&shown, time)) {
                let error = self.explained(in_root(error, root), &is_available);
                if job.is_some_and(|job| job.can_be_left_out(&error, lock.path())) {
                    indexed.failures.push(error);
                    continue;
                }
                return Err(error);
            }
            indexed.own_paths.extend(path_within(&self.directory, file.path()));
            let can_be_skipped = self.can_be_skipped(name, &is_available);
            indexed.outputs.push(Output { name, root: root.to_owned(), can_be_skipped, source, file });
        }
        match indexed.outputs.is_empty() && !indexed.failures.is_empty() {
            true => Err(indexed.failures.remove(0)),
            false => Ok(()),
        }
    }

    /// How ctags is run. Its own output is not there yet, so it is not in the list of files.
    fn ctags_command(&self, output: &Path, list: &Path) -> Result<Command> {
        write_list(list, &sources(&self.directory))?;
        let mut command = Command::new("ctags");
        command.args(CTAGS_ARGUMENTS).arg("-L").arg(list).arg("-f").arg(output);
        if let Some(Ctags::Languages(languages)) = &self.ctags {
            command.arg(format!("--languages={}", languages.join(",")));
        }
        Ok(command)
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

/// A run of an indexer, for people.
fn named_in(name: &str, root: &str) -> String {
    if root.is_empty() { name.to_owned() } else { format!("{name} in {root}") }
}

/// The files that runs of indexers have left beside the index at `path`, where there may be none: the outputs that
/// [`Error::OutputsKept`] names, and what a killed run has left. While the index is locked by another process, these
/// may be the files of indexers that it runs.
#[must_use]
pub fn output_files(path: &Path) -> Vec<PathBuf> {
    files_beside(path, is_output)
}

/// Removes all outputs that earlier runs have left beside an index: the next run may not write all of them. If an
/// output cannot be removed, writing it fails later.
fn remove_outputs(index: &Path) {
    output_files(index).iter().for_each(|file| drop(std::fs::remove_file(file)));
}

/// Whether a run of indexers writes a file. Its name is that of the index and `rest`.
fn is_output(rest: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_of = |indexer: &Indexer| {
        let rest = rest.strip_prefix('-').and_then(|rest| rest.strip_prefix(indexer.name));
        let number = rest.and_then(|rest| rest.strip_suffix(".scip"));
        number.is_some_and(|number| number.is_empty() || number.strip_prefix('-').is_some_and(is_number))
    };
    ["-ctags.json", "-ctags.list", "-indexer.log"].contains(&rest) || INDEXERS.iter().any(is_of)
}

/// How an indexer is run that writes SCIP.
fn command(indexer: &Indexer, directory: &Path, root: &str, output: &Path) -> Command {
    let mut command = Command::new(indexer.name);
    let name = match root.is_empty() {
        true => directory.canonicalize().ok().and_then(|path| path.file_name().map(OsStr::to_owned)),
        // Symbols begin with it, and the directories of several projects can have one name.
        false => Some(OsString::from(root.replace('/', "-"))),
    };
    let name = name.unwrap_or_default();
    command.args(indexer.arguments.iter().map(|argument| match *argument {
        "{output}" => output.as_os_str(),
        "{name}" => name.as_os_str(),
        argument => argument.as_ref(),
    }));
    if let Some(target) = cargo_target(directory, std::env::var_os("CARGO_TARGET_DIR")) {
        command.env("CARGO_TARGET_DIR", target);
    }
    command
}

/// Where an indexer that runs cargo builds: in a directory of its own within that of other builds, so that it does not
/// wait until these end. `None`, if cargo finds that directory by itself.
fn cargo_target(directory: &Path, inherited: Option<OsString>) -> Option<PathBuf> {
    let of_workspace = || directory.join("Cargo.lock").is_file().then(|| directory.join("target"));
    let shared = inherited.filter(|name| !name.is_empty()).map(PathBuf::from).or_else(of_workspace)?;
    std::path::absolute(shared.join("fulgurite-index")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    const NONE: Indexer =
        Indexer { name: "", language: "", marks: &[], endings: &[], arguments: &[], install: "", for_ctags: "" };

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

    /// The output of the third run of an indexer stayed until there were three again.
    #[test]
    fn outputs_of_runs_that_were_cut_off_are_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let kept = ["code.ful", "code.ful-notes.scip", "code.ful-scip-go-a.scip", "other.ful-ctags.json"];
        let endings = ["ctags.json", "ctags.list", "indexer.log", "rust-analyzer.scip", "scip-go-2.scip"];
        let left = endings.map(|ending| format!("code.ful-{ending}"));
        let left = left.each_ref().map(String::as_str);
        kept.iter().chain(&left).for_each(|name| std::fs::write(path(name), "").expect("a file"));
        remove_outputs(&path("code.ful"));
        assert!(kept.iter().all(|name| path(name).exists()));
        assert!(left.iter().all(|name| !path(name).exists()));
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
    fn an_indexer_that_no_file_of_the_directory_is_for_runs_in_those_below() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["a/Cargo.toml", "a/lib.rs", "b/Cargo.toml", "b/lib.rs", "web/package.json", "web/main.ts"] {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
            std::fs::write(path, "").expect("a file");
        }
        let plan = |available: &[&str]| {
            let plan = Plan::with(directory.path(), &[], &|program| available.contains(&program)).expect("a plan");
            (plan.runs(), plan.missing.join("; "), plan.ctags)
        };
        let all = plan(&["rust-analyzer", "scip-typescript", "ctags"]);
        // Ctags finds what is beside these projects.
        let runs = ["rust-analyzer in a", "rust-analyzer in b", "scip-typescript in web", "ctags"].map(str::to_owned);
        assert_eq!(all, (runs.to_vec(), String::new(), Some(Ctags::All)));
        let (runs, missing, _) = plan(&["rust-analyzer", "ctags"]);
        assert_eq!(runs.len(), 3);
        assert!(missing.contains("(web/package.json) needs scip-typescript"), "{missing}");
        // As if the others were not there, an indexer for the directory itself leaves ctags what is missing.
        std::fs::write(directory.path().join("Cargo.toml"), "").expect("a file");
        let (runs, _, ctags) = plan(&["rust-analyzer", "ctags"]);
        assert_eq!(runs, ["rust-analyzer", "ctags"]);
        assert_eq!(ctags, Some(Ctags::Languages(vec!["TypeScript,JavaScript"])));
    }

    #[test]
    fn skipping_an_indexer_is_advised_if_another_one_would_be_left() {
        let directory = tempfile::tempdir().expect("a directory");
        let advice = |name: &'static str, skipped: &[&str], available: &[&str]| {
            let skipped: Vec<String> = skipped.iter().map(|name| (*name).to_owned()).collect();
            let is_available = |program: &str| available.contains(&program);
            let plan = Plan::with(directory.path(), &skipped, &is_available).expect("an indexer is there");
            let message = "it has a bug".to_owned();
            let error = Error::Indexer { name, message, can_be_skipped: false };
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

    /// Symbols of `apps/a/backend` and `apps/b/backend` were those of one project.
    #[test]
    fn projects_in_directories_of_one_name_have_different_names() {
        let directory = tempfile::tempdir().expect("a directory");
        let python = INDEXERS.iter().find(|indexer| indexer.name == "scip-python").expect("it is known");
        let name = |root: &str| {
            let command = command(python, directory.path(), root, Path::new("index.scip"));
            command.get_args().skip_while(|argument| *argument != "--project-name").nth(1).map(OsStr::to_owned)
        };
        assert_eq!(name("apps/a/backend").as_deref(), Some(OsStr::new("apps-a-backend")));
        assert_eq!(name("").as_deref(), directory.path().file_name());
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
        static MISSING: Indexer = Indexer { name: "no-such-indexer", arguments: &[], ..NONE };
        let directory = tempfile::tempdir().expect("a directory");
        let plan = Plan::of_one(directory.path(), &MISSING);
        let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
        let error = plan.run(&lock, &mut |_, _| {}).err().expect("there is no such program").to_string();
        assert!(error.starts_with("no-such-indexer failed: it cannot be run: "), "{error}");
    }

    /// The errors blamed the indexers, and advised to index without them.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_indexer_that_finds_the_disk_full_fails_for_that() {
        const SAYS: &str = "echo 'Error: No space left on device (os error 28)'; seq 9 | sed 's/$/: main/'; exit 1";
        // What is written to this log fails.
        const FILLS: &str = "ln -sf /dev/full \"${0%-sh.scip}-indexer.log\"; : > \"$0\"";
        static SAYING: Indexer = Indexer { name: "sh", arguments: &["-c", SAYS, "{output}"], ..NONE };
        static FILLING: Indexer = Indexer { name: "sh", arguments: &["-c", FILLS, "{output}"], ..NONE };
        let directory = tempfile::tempdir().expect("a directory");
        let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
        for indexer in [&SAYING, &FILLING] {
            let plan = Plan { skips_ctags: false, ..Plan::of_one(directory.path(), indexer) };
            let error = plan.run(&lock, &mut |_, _| {}).err().expect("the disk is full").to_string();
            assert!(error.contains("No space left on device"), "{error}");
            assert!(error.ends_with("free space, or choose another disk; the index was not changed"), "{error}");
        }
    }

    /// The output of hours was removed because another indexer failed.
    #[cfg(unix)]
    #[test]
    fn what_indexers_wrote_stays_if_a_later_one_fails() {
        static WRITES: Indexer = Indexer { name: "sh", arguments: &["-c", "echo > \"$0\"", "{output}"], ..NONE };
        static FAILS: Indexer = Indexer { name: "false", ..NONE };
        let directory = tempfile::tempdir().expect("a directory");
        let mut plan = Plan::of_one(directory.path(), &WRITES);
        plan.scip.push(Job { indexer: &WRITES, root: "web".to_owned() });
        plan.scip.push(Job { indexer: &FAILS, root: String::new() });
        std::fs::create_dir(directory.path().join("web")).expect("a directory");
        let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
        let error = plan.run(&lock, &mut |_, _| {}).err().expect("the last one fails").to_string();
        let kept = ["code.ful-sh.scip", "code.ful-sh-1.scip"].map(|name| directory.path().join(name));
        assert!(error.starts_with("false failed: "), "{error}");
        let [of_root, of_web] = kept.each_ref().map(|path| path.display());
        let named = format!("; finished outputs are kept until indexers run again: {of_root}, {of_web}");
        assert!(error.ends_with(&named), "{error}");
        assert!(kept.iter().all(|path| path.exists()));
    }

    #[cfg(unix)]
    #[test]
    fn what_an_earlier_run_has_left_is_not_read() {
        static SILENT: Indexer = Indexer { name: "true", arguments: &["{output}"], ..NONE };
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
