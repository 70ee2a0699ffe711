//! Running an indexer: its messages are kept for errors, and it may take minutes.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::indexers::watch::Watch;
use crate::stack::IndexLock;

/// Whether a program is there and runs: rustup has proxies of components that are missing, and older programs than
/// Universal Ctags are called `ctags` too.
pub fn is_available(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(output) = command.output() else { return false };
    output.status.success() && (program != "ctags" || writes_json(&String::from_utf8_lossy(&output.stdout)))
}

/// Whether a ctags that calls itself so writes JSON: it is a feature that can be left out.
fn writes_json(version: &str) -> bool {
    version.contains("Universal Ctags") && version.contains("+json")
}

/// What an indexer is run with.
pub struct Run<'r> {
    pub name: &'static str,
    pub command: Command,
    /// Where it runs.
    pub directory: &'r Path,
    /// What it is to write.
    pub output: &'r Path,
    /// Where its messages are kept.
    pub log: &'r Path,
    /// Keeps other processes from these files.
    pub lock: &'r IndexLock,
    /// What is removed if this process is killed meanwhile.
    pub files: &'r [PathBuf],
}

/// Runs an indexer until it ends, and calls `waiting` meanwhile.
///
/// # Errors
/// [`Error::Indexer`] with the last lines of its messages, also if it writes nothing. Whether it can be skipped is not
/// known here: the error says no. [`Error::File`], if a disk is full: that is no fault of the indexer.
pub fn run(run: Run<'_>, waiting: &mut dyn FnMut(Duration)) -> Result<()> {
    let Run { name, mut command, directory, output, log, lock, files } = run;
    let failed = |message: String| Error::Indexer { name, message, can_be_skipped: false };
    let messages = File::create(log).map_err(Error::file(log, "be written"))?;
    let others = messages.try_clone().map_err(Error::file(log, "be written"))?;
    command.current_dir(directory);
    let begun = Instant::now();
    let mut watch = Watch::begin(lock, files);
    let started = watch.start(command, others.into(), messages.into());
    let mut child = started.map_err(|error| failed(format!("{CANNOT_RUN}: {error}")))?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => {
                // Without the watch, it would run on.
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(error.to_string()));
            }
        }
        waiting(begun.elapsed());
        std::thread::sleep(BETWEEN_LOOKS);
    };
    drop(watch);
    let ended = match (status.success(), output.is_file()) {
        // Some end without an error though the disk is full. Then the index is cut off.
        (true, true) => return probe(log).map_err(Error::file(output, "be written")),
        (true, false) => "it ended without an error, and wrote no index".to_owned(),
        (false, _) if matches!(status.code(), Some(126 | 127)) && !is_available(name) => CANNOT_RUN.to_owned(),
        (false, _) => status.to_string(),
    };
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    if let Some(line) = line_of_full_disk(&text) {
        // It may be another disk, such as that of temporary files.
        let error = io::Error::new(ErrorKind::StorageFull, format!("{name} failed: {}", shortened(line)));
        return Err(Error::file(directory, "be indexed")(error));
    }
    // Perhaps its messages are missing because the disk is full: then so is the index.
    probe(log).map_err(Error::file(log, "be written"))?;
    let said = last_lines(&text);
    match said.is_empty() {
        true => Err(failed(format!("{ended}, without a message"))),
        false => Err(failed(format!("{ended}: {said}"))),
    }
}

/// The first of the messages that says that a disk is full.
fn line_of_full_disk(text: &str) -> Option<&str> {
    let is_full = |line: &&str| FULL_DISK.iter().any(|message| line.contains(*message));
    text.lines().find(is_full).map(str::trim)
}

/// The last lines of messages, in one. The frames of a stack are passed over, since the error is before them, and long
/// lines are cut.
fn last_lines(text: &str) -> String {
    let lines = || text.lines().rev().filter(|line| !line.trim().is_empty());
    let is_frame = |line: &str| {
        let frame = line.trim_start();
        let numbered = frame.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_numbered = numbered.len() < frame.len() && numbered.starts_with(": ");
        line.starts_with([' ', '\t']) && (frame.starts_with("at ") || is_numbered)
    };
    let mut last: Vec<&str> = lines().filter(|line| !is_frame(line)).take(LINES_SHOWN).collect();
    if last.is_empty() {
        last = lines().take(LINES_SHOWN).collect();
    }
    let shown: Vec<String> = last.into_iter().rev().map(shortened).collect();
    shown.join(" / ")
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARACTERS_SHOWN) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Writes so much to the end of a file that it needs space of the disk.
fn probe(path: &Path) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(&[b'\n'; PROBE_BYTES])?;
    file.sync_data()
}

/// A file that is removed when it is dropped, unless it is kept.
pub struct Temporary {
    path: PathBuf,
    is_kept: Cell<bool>,
}

impl Temporary {
    /// The one at `path`, where a program will write it. Removes what a killed process has left there.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn at(path: PathBuf) -> Result<Self> {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&path, "be removed")(error)),
            _ => Ok(Self { path, is_kept: Cell::new(false) }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file there.
    pub fn keep(&self) {
        self.is_kept.set(true);
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_kept.get() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What is said of a program that is missing.
const CANNOT_RUN: &str = "it cannot be run";
/// Blocks of file systems are smaller.
const PROBE_BYTES: usize = 1 << 16;
/// How systems say that a disk is full.
const FULL_DISK: [&str; 5] = [
    "No space left on device",
    "no space left on device",
    "Disk quota exceeded",
    "disk quota exceeded",
    "There is not enough space on the disk",
];
/// How often a running indexer is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// So many of its last lines an error has.
const LINES_SHOWN: usize = 5;
/// So many characters of such a line.
const LINE_CHARACTERS_SHOWN: usize = 400;

#[cfg(test)]
mod tests {
    use super::{LINE_CHARACTERS_SHOWN, last_lines, writes_json};

    /// Only frames of its stack were left of an error of JavaScript.
    #[test]
    fn the_last_lines_have_the_error_before_the_frames_of_a_stack() {
        let frames: String = (0..20).map(|number| format!("    at index (/lib/main.js:{number}:1)\n")).collect();
        let text = format!("reading\n\nTypeError: no version\n{frames}\nNode.js v20.1.0\n");
        assert_eq!(last_lines(&text), "reading / TypeError: no version / Node.js v20.1.0");
        let text = "Error: no workspace\n\nStack backtrace:\n   0: main\n             at ./main.rs:1\n  10: _start\n";
        assert_eq!(last_lines(text), "Error: no workspace / Stack backtrace:");
        assert_eq!(last_lines("\tat a.B.c(B.java:1)\n"), "\tat a.B.c(B.java:1)");
        assert_eq!(last_lines("1\n2\n3\n4\n5\n6\nat the end\n"), "3 / 4 / 5 / 6 / at the end");
        assert_eq!(last_lines(" \n"), "");
    }

    #[test]
    fn long_lines_of_messages_are_cut() {
        let shown = last_lines(&"é".repeat(20_000));
        assert_eq!(shown, format!("{}…", "é".repeat(LINE_CHARACTERS_SHOWN)));
        assert_eq!(last_lines(&"a".repeat(LINE_CHARACTERS_SHOWN)), "a".repeat(LINE_CHARACTERS_SHOWN));
    }

    #[test]
    fn a_ctags_that_writes_no_json_is_another_program() {
        let universal = "Universal Ctags 5.9.0, Copyright (C) 2015 Universal Ctags Team\n\
                         Universal Ctags is derived from Exuberant Ctags.\n\
                         Optional compiled features: +wildcards, +regex, +iconv";
        assert!(writes_json(&format!("{universal}, +json, +interactive")));
        assert!(!writes_json(universal));
        assert!(!writes_json("Exuberant Ctags 5.8, Copyright (C) 1996-2009 Darren Hiebert"));
        assert!(!writes_json("ctags (GNU Emacs 29.4)"));
    }
}
