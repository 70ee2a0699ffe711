//! A test that runs itself again as a child process.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};

/// The path to work on, if this process is the child of the test of this name.
pub fn child_of(name: &str) -> Option<PathBuf> {
    let (test, path) = env::var(VARIABLE).ok()?.split_once('=').map(|(a, b)| (a.to_owned(), b.into()))?;
    (test == name).then_some(path)
}

/// Reports to the parent that all is done, and holds everything until the parent closes the input. Always true.
pub fn say_ready_and_wait() -> bool {
    println!("\n{READY}");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    true
}

/// The child. Dropping it kills it.
pub struct Child {
    child: process::Child,
    input: Option<ChildStdin>,
    pub output: BufReader<ChildStdout>,
}

impl Child {
    /// Runs the test of this name as a child, and returns once it is ready.
    pub fn start(name: &str, path: &Path) -> Self {
        Self::start_as(name, path, None)
    }

    /// As [`Child::start`], as another user.
    pub fn start_as(name: &str, path: &Path, user: Option<u32>) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
        command.env(VARIABLE, format!("{name}={}", path.display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut started = Self { child, input, output };
        let mut lines = started.output.by_ref().lines();
        let ready = lines.by_ref().map_while(Result::ok).any(|line| line == READY);
        assert!(ready, "the child failed; its message is above");
        started
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether the child ended well, once it has ended.
    pub fn ended(&mut self) -> Option<bool> {
        self.child.try_wait().unwrap().map(|status| status.success())
    }

    /// Ends the child's input, and waits until it has ended well.
    pub fn finish(mut self) {
        drop(self.input.take());
        std::io::copy(&mut self.output, &mut std::io::sink()).unwrap();
        assert!(self.child.wait().unwrap().success(), "the child failed; its message is above");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // A child that ended already cannot be killed; that is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a child prints once it is ready.
pub const READY: &str = "child: ready";
const VARIABLE: &str = "FULGURITE_TEST_CHILD";
