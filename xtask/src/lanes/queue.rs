//! The lanes: the programs of all tasks in one queue, from which each lane takes the next one.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::program::Program;
use crate::command::Failure;

/// Something that is proved by programs.
pub struct Task<'t> {
    /// Its name in what is printed.
    pub name: &'static str,
    /// Makes its programs ready. This, too, is done beside other things.
    pub prepare: &'t Prepare<'t>,
}

/// Makes the programs of a task ready, in the workspace's root directory.
pub type Prepare<'t> = dyn Fn(&Path) -> Result<Vec<Program>, Failure> + Sync + 't;

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
                        Some((label, program)) => (Vec::new(), program.run(&label)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

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
        for (ending, why) in endings.iter().zip(["cannot run", "no program"]) {
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
}
