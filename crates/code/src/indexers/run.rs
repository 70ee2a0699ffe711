//! Running an indexer: its messages are kept for errors, and it may take minutes.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Whether a program is there and runs: rustup has proxies of components that are missing.
pub fn is_available(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs `command` in `directory` until it ends, with its messages in the file `log`, and calls `waiting` meanwhile.
///
/// # Errors
/// [`Error::Indexer`] with the last lines of its messages.
pub fn run(
    name: &'static str,
    mut command: Command,
    directory: &Path,
    log: &Path,
    waiting: &mut dyn FnMut(Duration),
) -> Result<()> {
    let failed = |message: String| Error::Indexer { name, message };
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
    if status.success() {
        return Ok(());
    }
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(LINES_SHOWN).collect();
    lines.reverse();
    if lines.is_empty() {
        // Perhaps its messages are missing because the disk is full: then so is the index.
        probe(log).map_err(Error::file(log, "be written"))?;
        return Err(failed(format!("{status}, without a message")));
    }
    Err(failed(format!("{status}: {}", lines.join(" / "))))
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
