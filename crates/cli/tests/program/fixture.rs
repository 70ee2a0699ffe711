//! A directory of its own for each test, and the program run in it.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use fulgurite::{Database, Durability};
use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_fulgurite");

/// A directory that goes when the test ends.
pub struct TestDirectory {
    directory: TempDir,
}

/// What a run of the program left.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub data: Vec<u8>,
    pub messages: String,
}

impl TestDirectory {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file, and gives its name back.
    pub fn file<'a>(&self, name: &'a str, content: impl AsRef<[u8]>) -> &'a str {
        std::fs::write(self.path(name), content).unwrap();
        name
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Run {
        self.run_with_input(arguments, b"")
    }

    pub fn run_with_input<S: AsRef<OsStr>>(&self, arguments: &[S], input: &[u8]) -> Run {
        let mut child = self.spawn(arguments);
        let mut pipe = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that fails early does not read what it is given.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Run::of(output)
    }

    /// Starts the program with pipes for all three streams.
    pub fn spawn<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Child {
        let mut command = self.command(PROGRAM);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// A command in this directory, with nothing of the test's environment that the program looks at.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root()).env_remove("NO_COLOR").env("TERM", "dumb");
        command
    }

    /// Leaves `database` as a crash leaves it: with `commits` commits of a table `commits` that are in the log only.
    /// Commit `n` has the keys `(n,0)` to `(n,2)`.
    pub fn crash(&self, database: &str, commits: u64) {
        crash(self.root(), database, commits);
    }

    /// A database with a plain table `fruit` of two entries.
    pub fn with_fruit(self, database: &str) -> Self {
        let input = "{\"key\":\"apple\",\"value\":\"red\"}\n{\"key\":\"banana\",\"value\":\"yellow\"}\n";
        self.run_with_input(&["import", database, "fruit", "--create"], input.as_bytes()).ok();
        self
    }
}

/// See [`TestDirectory::crash`].
pub fn crash(directory: &Path, database: &str, commits: u64) {
    let (elsewhere, path) = (tempfile::tempdir().unwrap(), directory.join(database));
    let made = elsewhere.path().join(database);
    if path.exists() {
        std::fs::copy(&path, &made).unwrap();
    }
    let options = Database::options().create(true).durability(Durability::Log).background(false);
    let db = options.open(&made).unwrap();
    let table = db.typed_table::<(u64, u8), String>("commits").unwrap();
    for number in 1..=commits {
        db.update(|txn| (0..3).try_for_each(|part| table.put(txn, (number, part), "text"))).unwrap();
    }
    let mut names: Vec<OsString> =
        std::fs::read_dir(elsewhere.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| !name.to_str().unwrap().ends_with("-lock"));
    assert!(names.len() > 1, "there is a log: {names:?}");
    for name in names {
        std::fs::copy(elsewhere.path().join(&name), directory.join(&name)).unwrap();
    }
    db.close().unwrap();
}

impl Run {
    pub fn of(output: Output) -> Self {
        let messages = String::from_utf8(output.stderr).unwrap();
        Self { code: output.status.code().expect("not ended by a signal"), data: output.stdout, messages }
    }

    pub fn text(&self) -> &str {
        str::from_utf8(&self.data).unwrap()
    }

    /// The data of a run that went well.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.code, self.is_quiet_but_for_reports()), (0, true), "{self:?}");
        String::from_utf8(self.data).unwrap()
    }

    /// The message of a run that ended with this code: one line, in the form that all have.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        let message = self.messages.strip_prefix("fulgurite: ").and_then(|rest| rest.strip_suffix('\n'));
        let message = message.unwrap_or_else(|| panic!("{self:?}"));
        assert!(!message.contains('\n'), "{message}");
        message.to_owned()
    }

    /// That a copy was made, with the warning that another process has the database open. `pid` is what the warning
    /// says of that process.
    #[track_caller]
    pub fn warns_of_writer(&self, pid: &str) {
        let warning = format!("another process{pid} has the database open for writing: its commits since its last");
        assert!(self.code == 0 && self.messages.contains(&warning), "{warning}: {self:?}");
    }

    fn is_quiet_but_for_reports(&self) -> bool {
        !self.messages.contains("fulgurite:")
    }
}
