//! One writer, as its parent sees it: a process that is talked to by lines.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::judge::{Failure, misbehaves};
use super::writer::{Ending, NOTES, Writer};
use crate::crash::{Defect, DefectKind};
use crate::kill::Ring;

/// A writer that runs.
#[derive(Debug)]
pub(super) struct Session {
    child: Child,
    orders: ChildStdin,
    lines: Receiver<String>,
    said: Vec<String>,
    /// So many of these lines are heard: nobody hears one twice.
    heard: usize,
}

/// How a writer ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// How its threads ended, if it lived to say so.
    pub endings: Option<Vec<Ending>>,
    /// Whether a sync had failed.
    pub poisoned: bool,
    /// Whether a bus error killed it.
    pub bus_error: bool,
    /// What failed first.
    pub struck: Option<String>,
    /// Whether a call failed for want of room.
    pub full: bool,
}

impl Session {
    /// Starts a writer and waits until it is open. `None` if the disk failed before.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn start(writer: &Writer, mut command: Command) -> Result<Option<Self>, Failure> {
        for path in [writer.commits_path(), writer.loads_path()] {
            Ring::create(&path).map_err(|error| Failure::Tool(format!("{NOTES}{error}")))?;
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::Tool(format!("no process starts: {error}")))?;
        let orders = child.stdin.take().expect("its input is piped");
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let (say, lines) = mpsc::channel();
        // Ends with the process.
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| say.send(line)));
        let mut session = Self { child, orders, lines, said: Vec::new(), heard: 0 };
        if session.hears("open", PATIENCE)? {
            return Ok(Some(session));
        }
        session.end_at_once()?;
        Ok(None)
    }

    /// Sends it a line. If it no longer listens, it is dead, which shows when it ends.
    pub fn order(&mut self, order: &str) {
        let _ = writeln!(self.orders, "{order}").and_then(|()| self.orders.flush());
    }

    /// Waits until it says a line with this beginning, or is dead, or time is up. Answers whether it said it. That
    /// line and those before it are heard then: the next call waits for one that follows.
    ///
    /// # Errors
    /// What it says is wrong.
    pub fn hears(&mut self, word: &str, patience: Duration) -> Result<bool, Failure> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(at) = self.said[self.heard..].iter().position(|line| line.starts_with(word)) {
                self.heard += at + 1;
                return Ok(true);
            }
            let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
                return Ok(false);
            };
            if let Some(text) = line.strip_prefix("wrong: ") {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return Err(failure_of(text));
            }
            self.said.push(line);
        }
    }

    /// Has it end, and hears it out.
    ///
    /// # Errors
    /// What is wrong.
    pub fn end(mut self, sound: bool) -> Result<Ended, Failure> {
        self.order(if sound { "end sound" } else { "end" });
        self.end_at_once()
    }

    fn end_at_once(&mut self) -> Result<Ended, Failure> {
        // To the end of its output.
        let ended = self.hears("ends", PATIENCE)?;
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
                _ => {
                    let _ = self.child.kill();
                    return Err(misbehaves(format!("it hangs; it said {:?}", self.said)));
                }
            }
        };
        let bus_error = status.signal() == Some(SIGBUS);
        let said = |word: &str| self.said.iter().find_map(|line| line.strip_prefix(word).map(str::to_owned));
        let struck = || self.said.iter().filter_map(|line| line.strip_prefix("struck ")?.split_once(": "));
        if !status.success() && !bus_error {
            return Err(misbehaves(format!("the writer ended by itself ({status}); it said {:?}", self.said)));
        }
        let endings = self.said.iter().filter_map(|line| line.strip_prefix("ending ")).map(Ending::parse).collect();
        Ok(Ended {
            endings: if ended { endings } else { None },
            poisoned: said("poisoned").is_some(),
            bus_error,
            struck: struck().next().map(|(_, text)| text.to_owned()).or(said("not open: ")),
            full: struck().any(|(what, _)| what.ends_with("full")),
        })
    }
}

/// Of what a writer says is wrong.
fn failure_of(text: &str) -> Failure {
    if text.contains(NOTES) {
        return Failure::Tool(text.to_owned());
    }
    let kind = if text.contains("it panics") { DefectKind::Panic } else { DefectKind::Wrong };
    Failure::Reported(Defect { kind, text: text.to_owned() })
}

impl Drop for Session {
    fn drop(&mut self) {
        // Whatever went wrong: no process may hold on to what is to be unmounted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// As Linux numbers it on the machines that the engine runs on.
const SIGBUS: i32 = 7;
