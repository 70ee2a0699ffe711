//! Programs that run side by side: as many at once as there are processors.
//!
//! (1) Programs start in the order in which they are given. (2) What one prints is shown when it ends, in one piece
//! below the line that names it. (3) A program that fails does not keep the others from running. Called by `ci` and by
//! `miri`.

use std::collections::VecDeque;
use std::io::{PipeReader, Read};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::command::{Failure, SKIPPED};
use crate::launch;
use crate::workspace;

/// Something that is proved by programs.
pub struct Task<'t> {
    /// Its name in what is printed.
    pub name: &'static str,
    /// Makes its programs ready. This, too, is done beside other things.
    pub prepare: &'t Prepare<'t>,
}

/// Makes the programs of a task ready, in the workspace's root directory.
pub type Prepare<'t> = dyn Fn(&Path) -> Result<Vec<Program>, Failure> + Sync + 't;

/// A program that runs beside others.
pub struct Program {
    /// What starts it.
    pub command: Command,
    /// How many tests it runs, of a program of tests: it fails if it runs any other number.
    pub tests: Option<u64>,
}

impl Program {
    /// A program whose exit code is its result.
    pub fn new(command: Command) -> Self {
        Self { command, tests: None }
    }
}

/// How a task ended.
#[derive(Debug)]
pub struct Ending {
    /// The first failure of its programs.
    pub result: Result<(), Failure>,
    /// How long its programs ran, added up.
    pub time: Duration,
}

/// Runs the programs of all tasks, and returns how each task ended, in their order.
pub fn run(root: &Path, tasks: &[Task<'_>]) -> Vec<Ending> {
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    run_in(lanes, root, tasks)
}

fn run_in(lanes: usize, root: &Path, tasks: &[Task<'_>]) -> Vec<Ending> {
    let queue = Queue::new(tasks.len());
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(work) = queue.next() {
                    let begun = Instant::now();
                    let task = &tasks[work.task];
                    let (programs, result) = match work.program {
                        None => match (task.prepare)(root) {
                            Ok(programs) if programs.is_empty() => (programs, Err(nothing_to_run())),
                            Ok(programs) => (programs, Ok(())),
                            Err(failure) => (Vec::new(), Err(failure)),
                        },
                        Some((label, program)) => (Vec::new(), show(&label, program)),
                    };
                    queue.ended(work.task, task.name, programs, result, begun.elapsed());
                }
            });
        }
    });
    queue.state.into_inner().expect("no lane panics while it holds this lock").endings
}

/// A task without programs would prove nothing and look like success.
fn nothing_to_run() -> Failure {
    Failure::Failed("it has no program to run".into())
}

/// What waits for a lane, and what came of the rest. The one lock of this file.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Work>,
    /// How many are running: those that make ready may add to what waits.
    running: usize,
    endings: Vec<Ending>,
}

/// A program of a task, or what makes its programs ready.
struct Work {
    task: usize,
    program: Option<(String, Program)>,
}

impl Queue {
    fn new(tasks: usize) -> Self {
        let waiting = (0..tasks).map(|task| Work { task, program: None }).collect();
        let endings = (0..tasks).map(|_| Ending { result: Ok(()), time: Duration::ZERO }).collect();
        Self { state: Mutex::new(State { waiting, running: 0, endings }), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no lane panics while it holds this lock")
    }

    /// Waits for work; `None` when all is done.
    fn next(&self) -> Option<Work> {
        let idle = |state: &mut State| state.waiting.is_empty() && state.running > 0;
        let mut state = self.changed.wait_while(self.lock(), idle).expect("no lane panics while it holds this lock");
        let work = state.waiting.pop_front()?;
        state.running += 1;
        Some(work)
    }

    /// The programs that are ready now come before what waits, as their task did.
    fn ended(&self, task: usize, name: &str, programs: Vec<Program>, result: Result<(), Failure>, time: Duration) {
        let mut state = self.lock();
        let count = programs.len();
        for (index, program) in programs.into_iter().enumerate().rev() {
            let label = if count == 1 { name.to_owned() } else { format!("{name} {}/{count}", index + 1) };
            state.waiting.push_front(Work { task, program: Some((label, program)) });
        }
        let ending = &mut state.endings[task];
        ending.time += time;
        if ending.result.is_ok() {
            ending.result = result;
        }
        state.running -= 1;
        self.changed.notify_all();
    }
}

/// Runs a program and shows what it printed.
fn show(label: &str, program: Program) -> Result<(), Failure> {
    let shown = workspace::shown(&program.command);
    println!("-- {label} starts: $ {}", shortened(&shown));
    let begun = Instant::now();
    let (text, result) = match start(program.command) {
        Ok((child, output)) => finish(&shown, child, output),
        Err(error) => (String::new(), Err(Failure::Failed(format!("`{shown}` cannot start: {error}")))),
    };
    let result = result.and_then(|()| program.tests.map_or(Ok(()), |tests| ran(&text, tests)));
    let result = result.map_err(|failure| skipped(failure, &text));
    let verdict = match &result {
        Ok(()) => "passed".into(),
        Err(Failure::Unavailable(reason)) => format!("{MARK}{reason}"),
        Err(failure) => format!("FAILED: {failure}"),
    };
    println!(
        "-- {label} has ended ({:.1} s):\n{}\n-- {label}: {verdict}",
        begun.elapsed().as_secs_f64(),
        text.trim_end()
    );
    result
}

/// A failure that only says that the program could not check anything: with the reason that it has printed.
fn skipped(failure: Failure, text: &str) -> Failure {
    match failure {
        Failure::Child(SKIPPED) => {
            let reason = text.lines().rev().find_map(|line| line.split_once(MARK));
            Failure::Unavailable(reason.map_or("see what it printed", |(_, reason)| reason).into())
        }
        failure => failure,
    }
}

/// Stands before the reason in the report of `cargo xtask test`.
const MARK: &str = "SKIPPED: ";

/// Starts a program with both of its outputs in one pipe, in the order in which it writes them.
fn start(mut command: Command) -> std::io::Result<(Child, PipeReader)> {
    let (output, input) = std::io::pipe()?;
    command.stdout(input.try_clone()?).stderr(input);
    // `command` ends here, and with it our ends for writing: the pipe closes when the program's own do.
    Ok((command.spawn()?, output))
}

fn finish(shown: &str, mut child: Child, mut output: PipeReader) -> (String, Result<(), Failure>) {
    let mut bytes = Vec::new();
    let read = output.read_to_end(&mut bytes);
    let result = read.and_then(|_| child.wait());
    let result = match result {
        Ok(status) => launch::judge(shown, status),
        Err(error) => Err(Failure::Failed(format!("`{shown}`: {error}"))),
    };
    (String::from_utf8_lossy(&bytes).into_owned(), result)
}

/// Whether the output of a test program reports as many tests as it has to run.
fn ran(text: &str, tests: u64) -> Result<(), Failure> {
    let announced: u64 = text.lines().map(tests_announced).sum();
    if announced == tests && tests > 0 {
        return Ok(());
    }
    Err(Failure::Failed(format!("it ran {announced} tests, and not the {tests} that it was given")))
}

/// How many tests a line of a test program's output announces: `running 12 tests`.
fn tests_announced(line: &str) -> u64 {
    let number = line.strip_prefix("running ").and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// As much of a command as a line holds.
fn shortened(shown: &str) -> String {
    const CHARACTERS_MAX: usize = 160;
    match shown.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(arguments: &[&str]) -> Program {
        Program::new(workspace::child(Path::new("."), "rustc", arguments))
    }

    #[test]
    fn a_task_ends_when_all_its_programs_have_and_fails_if_one_does() {
        let good: &Prepare<'_> = &|_| Ok(vec![tool(&["--version"]), tool(&["--print", "sysroot"])]);
        let bad: &Prepare<'_> = &|_| Ok(vec![tool(&["--no-such-option"]), tool(&["--version"])]);
        let unready: &Prepare<'_> = &|_| Err(Failure::Unavailable("no tool".into()));
        let tasks = [good, bad, unready, good].map(|prepare| Task { name: "task", prepare });
        for lanes in [1, 2, 5] {
            let endings = run_in(lanes, Path::new("."), &tasks);
            assert!(endings.len() == 4 && endings[0].result.is_ok() && endings[3].result.is_ok(), "{endings:?}");
            assert!(matches!(endings[1].result, Err(Failure::Child(code)) if code != 0), "{endings:?}");
            assert!(matches!(&endings[2].result, Err(Failure::Unavailable(reason)) if reason == "no tool"));
            assert!(endings[0].time > Duration::ZERO);
        }
    }

    #[test]
    fn a_program_that_cannot_start_fails_its_task_and_so_does_the_lack_of_one() {
        let missing: &Prepare<'_> = &|root| Ok(vec![Program::new(workspace::child(root, "no-such-tool", &["run"]))]);
        let none: &Prepare<'_> = &|_| Ok(Vec::new());
        let tasks = [missing, none].map(|prepare| Task { name: "task", prepare });
        let endings = run_in(1, Path::new("."), &tasks);
        for (ending, why) in endings.iter().zip(["cannot start", "no program"]) {
            assert!(matches!(&ending.result, Err(Failure::Failed(reason)) if reason.contains(why)), "{ending:?}");
        }
    }

    #[test]
    fn programs_run_beside_what_makes_others_ready() {
        // Each waits for the other: one lane alone would never end.
        let both = std::sync::Barrier::new(2);
        let prepare: &Prepare<'_> = &|_| {
            both.wait();
            Ok(vec![tool(&["--version"])])
        };
        let tasks = [Task { name: "one", prepare }, Task { name: "other", prepare }];
        assert!(run_in(2, Path::new("."), &tasks).iter().all(|ending| ending.result.is_ok()));
    }

    #[test]
    fn a_program_that_could_not_check_anything_is_skipped_for_its_reason() {
        let text =
            "java SKIPPED: no JDK (0.1 s)\nstep  seconds  result\njava  0.1  SKIPPED: no JDK\n0 passed, 0 failed\n";
        let reason = |failure, text| match skipped(failure, text) {
            Failure::Unavailable(reason) => Some(reason),
            _ => None,
        };
        assert_eq!(reason(Failure::Child(SKIPPED), text).as_deref(), Some("no JDK"));
        assert_eq!(reason(Failure::Child(SKIPPED), "").as_deref(), Some("see what it printed"));
        assert_eq!(reason(Failure::Child(1), text), None);
    }

    #[test]
    fn a_run_of_other_tests_than_were_given_is_a_failure() {
        assert!(ran("\nrunning 12 tests\ntest a ... ok\n", 12).is_ok() && ran("running 1 test", 1).is_ok());
        for (text, tests) in [("running 11 tests", 12), ("running 13 tests", 12), ("running 0 tests", 0), ("", 1)] {
            assert!(ran(text, tests).is_err(), "{text}");
        }
    }

    #[test]
    fn both_outputs_of_a_program_are_kept_with_its_exit_code() {
        let (child, output) = start(tool(&["--no-such-option"]).command).expect("rustc starts");
        let (text, result) = finish("rustc", child, output);
        assert!(text.contains("no-such-option") && result.is_err());
        assert!(shortened(&"a".repeat(500)).chars().count() < 200 && shortened("short") == "short");
    }
}
