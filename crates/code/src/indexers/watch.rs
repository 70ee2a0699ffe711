//! [`Watch`]: ends an indexer if this process is killed, and removes what the indexer has written.
//!
//! A killed process cannot end its indexer, which would run on and write the files that the next run reads. A shell
//! reads from a pipe that this process alone has open for writing: the pipe ends with this process, however it ends.
//! The shell holds the lock of the index too, so no other process indexes before the indexer has ended. The indexer
//! begins when the shell has its number: another shell waits for that, and then becomes the indexer.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::stack::IndexLock;

/// The shell that watches, until this is dropped. Drop it when the indexer has ended.
pub struct Watch(Option<Child>);

impl Watch {
    /// Begins. If this process is killed, `files` are removed. Where there is no shell, nothing is watched.
    #[cfg(unix)]
    pub fn begin(lock: &IndexLock, files: &[PathBuf]) -> Self {
        let Ok(held) = lock.file().try_clone() else { return Self(None) };
        let mut shell = Command::new("/bin/sh");
        // As its output, the shell has the file that is locked. It prints nothing there.
        shell.args(["-c", SCRIPT, "sh"]).args(files).stdin(Stdio::piped()).stdout(held).stderr(Stdio::null());
        Self(shell.spawn().ok())
    }

    /// Elsewhere, nothing is watched.
    #[cfg(not(unix))]
    pub fn begin(_: &IndexLock, _: &[PathBuf]) -> Self {
        Self(None)
    }

    /// Starts the indexer with these outputs. If this process is killed, it is ended, or does not begin. Where there is
    /// a shell, an indexer that cannot be run ends with the status 126 or 127, and the shell says why.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn start(&mut self, mut indexer: Command, output: Stdio, messages: Stdio) -> io::Result<Child> {
        let Some(pipe) = self.0.as_mut().and_then(|shell| shell.stdin.as_mut()) else {
            return indexer.stdin(Stdio::null()).stdout(output).stderr(messages).spawn();
        };
        let mut child = waiting(&indexer).stdin(Stdio::piped()).stdout(output).stderr(messages).spawn()?;
        // A shell that has failed watches nothing.
        let _ = writeln!(pipe, "{}", child.id());
        if let Some(mut gate) = child.stdin.take() {
            // If the shell that waits has ended, its status says so.
            let _ = gate.write_all(b"go\n");
        }
        Ok(child)
    }
}

/// A shell that becomes the indexer when it has read a line. If its input ends before, it ends too.
fn waiting(indexer: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", WAITING, "sh"]).arg(indexer.get_program()).args(indexer.get_args());
    for (name, value) in indexer.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(directory) = indexer.get_current_dir() {
        shell.current_dir(directory);
    }
    shell
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(shell) = &mut self.0 {
            // Before the pipe ends: the number of the indexer may be that of another process soon.
            let _ = shell.kill();
            let _ = shell.wait();
        }
    }
}

/// Its arguments are the indexer and what that is run with. It stays the same process, with the same number.
const WAITING: &str = r#"read -r go && exec "$@" </dev/null"#;

/// Reads the number of the indexer, and waits for the end of the pipe. Then it ends the indexer, and removes the files
/// of its arguments. A signal for all processes of a terminal does not end the shell before. An indexer that runs for
/// ten seconds more is killed.
#[cfg(unix)]
const SCRIPT: &str = r#"
trap '' HUP INT TERM
PATH=$PATH:/usr/bin:/bin
read -r indexer
read -r line
if [ -n "$indexer" ]; then
    kill "$indexer"
    seconds=0
    while kill -0 "$indexer" && [ "$seconds" -lt 10 ]; do
        seconds=$((seconds + 1))
        sleep 1
    done
    kill -9 "$indexer"
fi
rm -f -- "$@"
"#;

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::waiting;

    /// A process that was killed before the watch had the number of its indexer left it running.
    #[test]
    fn an_indexer_begins_when_it_is_told_to_and_not_if_the_program_has_ended_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut indexer = Command::new("/bin/sh");
        indexer.args(["-c", "echo \"$0 $1 $SET\" > ran; cat >> ran", "a b", "*"]);
        indexer.env("SET", "by the command").current_dir(directory.path());
        let ended = waiting(&indexer).stdin(Stdio::null()).status().expect("a shell");
        assert!(!ended.success());
        assert!(!directory.path().join("ran").exists());
        let mut begun = waiting(&indexer).stdin(Stdio::piped()).spawn().expect("a shell");
        let mut gate = begun.stdin.take().expect("a pipe");
        gate.write_all(b"go\nno input\n").expect("the shell reads");
        drop(gate);
        assert!(begun.wait().expect("it ends").success());
        let ran = std::fs::read_to_string(directory.path().join("ran")).expect("it has run");
        assert_eq!(ran, "a b * by the command\n");
    }
}
