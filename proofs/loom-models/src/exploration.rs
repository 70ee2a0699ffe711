//! Runs models: each in a process of its own, first without and then with each of its faults, and judges the outcome.
//!
//! Schedules with one preemption at most come first, then those with two, and so on: most faults need few (Musuvathi
//! and Qadeer 2007), and loom, which searches depth first, would otherwise try all ends of one beginning.
//!
//! A thread of a model that fails ends its process at once: unwinding while loom's other threads are suspended would
//! take locks that they hold.

use std::collections::VecDeque;
use std::fmt;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::faults::{self, Fault};
use crate::models::{MODELS, Model};
use crate::sync::shadow;

const HELP: &str = "\
Explores the engine's concurrent parts with the model checker loom: what threads do is run in every order in which they may come,
and with every value that their loads may see, as far as N schedules reach; then once more with each planted fault, which must
be found.

Usage: cargo xtask loom [--schedules N] [--only MODEL] [--list]

  --schedules N  schedules to explore of each model at most (default 10000); a planted fault has 10000 at least
  --only MODEL   only this model
  --list         show the models and the faults that are planted in each
";

/// What the arguments ask for.
#[derive(Default)]
struct Arguments {
    schedules: Option<u64>,
    only: Option<String>,
    /// Explore one model in this process.
    run: Option<String>,
    plant: Option<String>,
    list: bool,
}

/// One process.
struct Job {
    model: &'static Model,
    fault: Option<&'static Fault>,
}

/// What came of a process.
struct Outcome {
    job: Job,
    schedules: u64,
    /// What was found, if something was.
    found: Option<String>,
    /// How far that reaches.
    reach: String,
    seconds: f64,
}

/// The program.
pub fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(reason) => {
            eprintln!("{reason}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let schedules = arguments.schedules.unwrap_or(SCHEDULES);
    let models: Vec<&'static Model> = match &arguments.run.as_ref().or(arguments.only.as_ref()) {
        None => MODELS.iter().collect(),
        Some(name) => MODELS.iter().filter(|model| model.name == **name).collect(),
    };
    if models.is_empty() {
        let names: Vec<_> = MODELS.iter().map(|model| model.name).collect();
        eprintln!("there is no such model; there are: {}", names.join(" "));
        return ExitCode::from(2);
    }
    if arguments.list {
        print!("{}", list(&models));
        return ExitCode::SUCCESS;
    }
    if arguments.run.is_some() {
        return explore(models[0], arguments.plant.as_deref(), schedules);
    }
    run_all(&models, schedules)
}

impl Arguments {
    fn read(mut rest: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self::default();
        while let Some(name) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{name} takes a value"));
            match name.as_str() {
                "--help" | "-h" => {
                    print!("{HELP}");
                    std::process::exit(0);
                }
                "--schedules" => {
                    let text = value()?;
                    let number = text.parse().ok().filter(|number| *number > 0);
                    arguments.schedules =
                        Some(number.ok_or_else(|| format!("--schedules takes a number, not {text}"))?);
                }
                "--only" => arguments.only = Some(value()?),
                "--run" => arguments.run = Some(value()?),
                "--plant" => arguments.plant = Some(value()?),
                "--list" => arguments.list = true,
                _ => return Err(format!("unknown argument {name}")),
            }
        }
        Ok(arguments)
    }
}

fn list(models: &[&Model]) -> String {
    let mut text = String::new();
    for model in models {
        text.push_str(&format!("{}: {}\n", model.name, model.what));
        for fault in model.faults {
            text.push_str(&format!("    {} ({})\n", fault.name, fault.file));
        }
    }
    text
}

/// Runs every model and every fault, as many at once as there are processors.
fn run_all(models: &[&'static Model], schedules: u64) -> ExitCode {
    let of_model = |model: &'static Model| {
        let planted = model.faults.iter().map(move |fault| Job { model, fault: Some(fault) });
        std::iter::once(Job { model, fault: None }).chain(planted)
    };
    let jobs: Mutex<VecDeque<Job>> = Mutex::new(models.iter().flat_map(|model| of_model(model)).collect());
    let outcomes: Mutex<Vec<Outcome>> = Mutex::default();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let job = jobs.lock().expect("no worker panics with the lock").pop_front();
                    let Some(job) = job else { break };
                    let outcome = run(job, schedules);
                    println!("{}", outcome.line());
                    outcomes.lock().expect("no worker panics with the lock").push(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().expect("no worker has panicked");
    let unplanted = || outcomes.iter().filter(|outcome| outcome.job.fault.is_none());
    let planted = || outcomes.iter().filter(|outcome| outcome.job.fault.is_some());
    let failed = unplanted().filter(|outcome| outcome.found.is_some()).count();
    let total: u64 = unplanted().map(|outcome| outcome.schedules).sum();
    let (all, found) = (planted().count(), planted().filter(|outcome| outcome.found.is_some()).count());
    let failures = if failed == 0 { String::new() } else { format!(", {failed} FAILED") };
    println!("loom: {} models, {} schedules{failures}, {found} of {all} planted found", models.len(), grouped(total));
    if failed == 0 && found == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one process and reads what it says.
fn run(job: Job, schedules: u64) -> Outcome {
    let schedules = if job.fault.is_some() { schedules.max(PLANTED_SCHEDULES_MIN) } else { schedules };
    let begun = Instant::now();
    let mut child = Command::new(std::env::current_exe().expect("the system knows where this program is"));
    child.args(["--run", job.model.name, "--schedules", &schedules.to_string()]);
    if let Some(fault) = job.fault {
        child.args(["--plant", fault.name]);
    }
    let output = child.output().expect("this program can be started");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let seconds = begun.elapsed().as_secs_f64();
    let number = |word: &str| word.parse().unwrap_or(0);
    match text.lines().last().unwrap_or_default().split_once(' ') {
        Some(("explored", rest)) => {
            let (count, reach) = rest.split_once(' ').unwrap_or((rest, ""));
            Outcome { job, schedules: number(count), found: None, reach: reach.to_owned(), seconds }
        }
        Some(("found", rest)) => {
            let (count, what) = rest.split_once(' ').unwrap_or((rest, ""));
            Outcome { job, schedules: number(count), found: Some(what.to_owned()), reach: String::new(), seconds }
        }
        Some(("endless", count)) => {
            let found = job.fault.is_none().then(|| "a thread turns round and round".to_owned());
            Outcome { job, schedules: number(count), found, reach: String::new(), seconds }
        }
        // Not what a planted fault may do, nor the engine.
        _ => {
            println!("{}: it ended by itself ({}): {errors}", job.model.name, output.status);
            std::process::exit(1);
        }
    }
}

impl Outcome {
    fn line(&self) -> String {
        let (schedules, seconds) = (grouped(self.schedules), self.seconds);
        let name = self.job.model.name;
        match (&self.job.fault, &self.found) {
            (None, None) => format!("{name}: {schedules} schedules, {}, {seconds:.1} s", self.reach),
            (None, Some(what)) => {
                format!("{name}: FAILED at schedule {schedules}: {what}; repeat: cargo xtask loom --only {name}")
            }
            (Some(fault), Some(what)) => {
                format!("{name}, planted `{}`: found at schedule {schedules}, {seconds:.1} s: {what}", fault.name)
            }
            (Some(fault), None) => {
                format!("{name}, planted `{}`: NOT FOUND in {schedules} schedules, {seconds:.1} s", fault.name)
            }
        }
    }
}

/// Explores one model in this process, and prints what came of it.
fn explore(model: &'static Model, plant: Option<&str>, schedules: u64) -> ExitCode {
    if let Some(name) = plant {
        let fault = model.faults.iter().find(|fault| fault.name == name);
        let planted = fault.ok_or_else(|| format!("{} has no fault `{name}`", model.name)).and_then(faults::plant);
        if let Err(reason) = planted {
            eprintln!("{reason}");
            return ExitCode::from(2);
        }
    }
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let owned = payload.downcast_ref::<String>().map(String::as_str);
        let message = owned.or(payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without words");
        if message.contains(EXPECTED) {
            return;
        }
        if message.contains(shadow::TOO_FEW) {
            eprintln!("{message}");
            std::process::exit(2);
        }
        if message.contains(ENDLESS) {
            println!("endless {}", EXPLORED.load(Ordering::Relaxed));
            std::process::exit(1);
        }
        let line = panic.location().map_or(0, std::panic::Location::line);
        let file = panic.location().map_or("", std::panic::Location::file);
        let file = file.rsplit_once("/src/").map_or(file, |(_, file)| file);
        let first = message.lines().next().unwrap_or_default();
        println!("found {} {first} ({file}:{line})", EXPLORED.load(Ordering::Relaxed));
        std::process::exit(1);
    }));
    let mut reach = Reach::default();
    for preemptions in PREEMPTIONS {
        let before = EXPLORED.load(Ordering::Relaxed);
        let left = schedules.saturating_sub(before);
        if left == 0 {
            break;
        }
        explore_bounded(model, preemptions, left);
        if EXPLORED.load(Ordering::Relaxed) - before == left {
            break;
        }
        match preemptions {
            Some(number) => reach.preemptions = number,
            None => reach.all = true,
        }
    }
    println!("explored {} {reach}", EXPLORED.load(Ordering::Relaxed));
    ExitCode::SUCCESS
}

/// Explores at most so many schedules with at most so many preemptions.
fn explore_bounded(model: &'static Model, preemptions: Option<usize>, schedules: u64) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = BRANCHES_MAX;
    builder.preemption_bound = preemptions;
    builder.max_permutations = Some(usize::try_from(schedules).unwrap_or(usize::MAX).saturating_add(1));
    // loom looks only at such times whether it has explored enough.
    builder.checkpoint_interval = 1;
    builder.check(|| {
        EXPLORED.fetch_add(1, Ordering::Relaxed);
        shadow::begin(model.atomics);
        (model.run)();
    });
}

/// How far an exploration came.
#[derive(Default)]
struct Reach {
    /// All schedules with at most so many preemptions were explored.
    preemptions: usize,
    /// All schedules there are were.
    all: bool,
}

impl fmt::Display for Reach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { all: true, .. } => out.write_str("complete"),
            Self { preemptions, .. } => write!(out, "complete up to {preemptions} preemptions"),
        }
    }
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = (0..digits.len().div_ceil(3))
        .rev()
        .map(|group| {
            let end = digits.len() - group * 3;
            &digits[end.saturating_sub(3)..end]
        })
        .collect();
    groups.join(",")
}

/// Schedules of each model, if the arguments name no number.
const SCHEDULES: u64 = 10_000;
/// Schedules in which a planted fault must be found, at least: fewer would miss some.
const PLANTED_SCHEDULES_MIN: u64 = 10_000;
/// Schedules begun in this process.
static EXPLORED: AtomicU64 = AtomicU64::new(0);
/// What a panic says that a model waits for.
const EXPECTED: &str = "a thread panicked amid a commit";
/// What loom says where a thread turns round and round: the engine never does, and of a planted fault it proves
/// nothing, because loom may hide for ever what others did.
const ENDLESS: &str = "exceeded maximum number of branches";
/// Bounds of preemptions, one after the other; the last has none.
const PREEMPTIONS: [Option<usize>; 7] = [Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), None];
/// Operations of one schedule: far more than a model needs, unless a thread turns round and round.
const BRANCHES_MAX: usize = 20_000;
