//! Running an indexer: its messages are kept for errors, and it may take minutes.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

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
}

/// Runs an indexer until it ends, and calls `waiting` meanwhile.
///
/// # Errors
/// [`Error::Indexer`] with the last lines of its messages, also if it writes nothing. Whether it can be skipped is not
/// known here: the error says no.
pub fn run(run: Run<'_>, waiting: &mut dyn FnMut(Duration)) -> Result<()> {
    let Run { name, mut command, directory, output, log } = run;
    let failed = |message: String| Error::Indexer { name, message, can_be_skipped: false };
    let messages = File::create(log).map_err(Error::file(log, "be written"))?;
    let others = messages.try_clone().map_err(Error::file(log, "be written"))?;
    command.current_dir(directory).stdin(Stdio::null()).stdout(others).stderr(messages);
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| failed(format!("it cannot be run: {error}")))?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => return Err(failed(error.to_string())),
        }
        waiting(begun.elapsed());
        std::thread::sleep(BETWEEN_LOOKS);
    };
    let ended = match (status.success(), output.is_file()) {
        (true, true) => return Ok(()),
        (true, false) => "it ended without an error, and wrote no index".to_owned(),
        (false, _) => status.to_string(),
    };
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(LINES_SHOWN).collect();
    lines.reverse();
    if lines.is_empty() {
        // Perhaps its messages are missing because the disk is full: then so is the index.
        probe(log).map_err(Error::file(log, "be written"))?;
        return Err(failed(format!("{ended}, without a message")));
    }
    Err(failed(format!("{ended}: {}", lines.join(" / "))))
}

/// Writes so much to a file that it needs space of the disk.
fn probe(path: &Path) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&[b'\n'; PROBE_BYTES])?;
    file.sync_data()
}

/// A file that goes when it is dropped.
pub struct Temporary(PathBuf);

impl Temporary {
    /// The one at `path`, where a program will write it. Removes what a killed process has left there.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn at(path: PathBuf) -> Result<Self> {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&path, "be removed")(error)),
            _ => Ok(Self(path)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// As much as a block of a file system.
const PROBE_BYTES: usize = 4096;
/// How often a running indexer is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// So many of its last lines an error has.
const LINES_SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::writes_json;

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
