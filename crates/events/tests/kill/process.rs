//! This program as a process of its own, which does what a variable of the environment says.

use std::fs::File;
use std::io::{Read, Write, sink, stdin};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// A process that runs until it is killed. It is killed when this is dropped, too.
pub struct Process {
    child: Child,
    /// What it writes to standard error.
    messages: PathBuf,
}

impl Process {
    /// Runs a test of this program, with these variables. `name` is that of the file for its messages.
    pub fn start(test: &str, directory: &Path, name: &str, variables: &[(&str, &Path)]) -> Self {
        let messages = directory.join(format!("{name}.messages"));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(&messages).unwrap())
            .spawn()
            .unwrap();
        Self { child, messages }
    }

    /// Fails if it has ended by itself.
    pub fn expect_running(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            let mut messages = String::new();
            File::open(&self.messages).unwrap().read_to_string(&mut messages).unwrap();
            panic!("a process ended with {status}: {messages}");
        }
    }

    /// The whole lines that it has written to standard error.
    pub fn lines(&self) -> Vec<String> {
        let messages = std::fs::read_to_string(&self.messages).unwrap();
        let end = messages.rfind('\n').map_or(0, |end| end + 1);
        messages[..end].lines().map(str::to_owned).collect()
    }

    /// Kills it by a signal that it cannot catch, and waits for its end. Fails if it has ended by itself.
    pub fn kill(&mut self) {
        self.expect_running();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends this process if the thread that has it panics: otherwise its other threads would hide that.
pub struct ExitOnPanic;

impl Drop for ExitOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::exit(101);
        }
    }
}

/// Ends this process when its parent has ended, also if the parent could not kill it.
pub fn end_with_parent() {
    thread::spawn(|| {
        let _ = std::io::copy(&mut stdin(), &mut sink());
        let _ = std::io::stderr().write_all(b"the parent has ended\n");
        std::process::exit(1);
    });
}
