//! The isolation test as a program: `isolation --transactions N [--seed S] [--shape NAME] [--plant NAME|all]`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::drawn_seed;
use fulgurite_testkit::isolation::run::{Plan, Planted, Shape, run};

const HELP: &str = "\
Runs transactions from many threads on the real engine, records them, and looks for anomalies in what they did and saw.

Usage: isolation [--transactions N] [--seed S] [--shape NAME] [--world N] [--plant NAME|all] [--no-plant]

  --transactions N  transactions to commit (default 200000)
  --seed S          seed of the first world (default: drawn); each world takes the next one
  --shape NAME      only this shape; `list` shows them
  --world N         transactions in each world (default: as many as let every shape come)
  --plant NAME      plant this fault in the engine; the run succeeds if it is found; `all` plants one after the other
  --no-plant        do not plant faults at the end of the run
  --histories DIR   where the history of a failure goes (default: the temporary directory)
";

/// Beats as long as transactions end.
static PULSE: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let transactions = arguments.number("--transactions", 200_000);
    let seed = arguments.number("--seed", drawn_seed());
    let shape = arguments.text("--shape");
    let world = Some(arguments.number("--world", 0)).filter(|world| *world > 0);
    let plant = arguments.text("--plant");
    let no_plant = arguments.flag("--no-plant");
    let histories = arguments.text("--histories").map_or_else(std::env::temp_dir, Into::into);
    arguments.finish();
    watch_over(seed);
    if let Some(name) = plant {
        let faults: Vec<Planted> =
            Planted::ALL.into_iter().filter(|fault| name == "all" || fault.name == name).collect();
        if faults.is_empty() {
            return unknown(&name, &Planted::ALL.map(|fault| fault.name));
        }
        let found = search(&faults, seed);
        println!("isolation: {found} of {} planted found", faults.len());
        return if found == faults.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let shape = match shape.as_deref().map(|name| Shape::named(name).ok_or(name)).transpose() {
        Ok(shape) => shape,
        Err(name) => return unknown(name, &Shape::ALL.iter().map(|shape| shape.name).collect::<Vec<_>>()),
    };
    println!("isolation: seed {seed}, {} shapes", if shape.is_some() { 1 } else { Shape::ALL.len() });
    let progress = |text: &str| eprintln!("isolation: {text}");
    let start = Instant::now();
    let report = run(&Plan { transactions, seed, world, shape, histories, pulse: &PULSE, progress });
    let seconds = start.elapsed().as_secs_f64();
    println!("{report}\n{seconds:.0} s, {:.0} transactions a second", report.transactions() as f64 / seconds);
    if let Some(failure) = &report.failure {
        println!("{failure}");
    }
    let idle = report.idle();
    if !idle.is_empty() {
        println!("these prove nothing, as none or almost all of their commits were in conflict: {}", idle.join(", "));
    }
    let missing = report.missing();
    if !missing.is_empty() {
        println!("no commit was refused for these reasons: {}", missing.join(", "));
    }
    if report.lacks_runs() {
        println!("no segment ended with runs above trees");
    }
    let sound = report.failure.is_none() && idle.is_empty() && missing.is_empty() && !report.lacks_runs();
    // A run of everything also shows that it would find what it is for.
    let searched: &[Planted] = if no_plant || shape.is_some() || !sound { &[] } else { &Planted::ALL };
    let found = search(searched, seed);
    let planted = match searched.len() {
        0 => String::new(),
        faults => format!(", {found} of {faults} planted found"),
    };
    println!("isolation: {} transactions, {} anomalies{planted}", report.transactions(), report.anomalies());
    if sound && found == searched.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plants each of the faults, looks for it, and counts those that were found.
fn search(faults: &[Planted], seed: u64) -> usize {
    let mut found = 0;
    for fault in faults {
        let start = Instant::now();
        let (outcome, seconds) = (fault.search(seed, &PULSE), start.elapsed().as_secs_f64());
        match outcome {
            Ok((Some(text), transactions)) => {
                found += 1;
                let first = text.lines().next().unwrap_or_default();
                println!("planted {}: found after {transactions} transactions, {seconds:.1} s: {first}", fault.name);
            }
            Ok((None, transactions)) => println!("planted {}: not found in {transactions} transactions", fault.name),
            Err(text) => println!("planted {}: not looked for: {text}", fault.name),
        }
    }
    found
}

/// Ends the process when nothing goes on: nothing else can.
fn watch_over(seed: u64) {
    std::thread::spawn(move || {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = PULSE.load(Ordering::Relaxed);
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > HANG {
                println!("isolation: nothing has gone on for {HANG:?}; repeat: cargo xtask isolation --seed {seed}");
                std::process::exit(1);
            }
        }
    });
}

fn unknown(name: &str, known: &[&str]) -> ExitCode {
    eprintln!("`{name}` is none of: {}", known.join(" "));
    ExitCode::from(2)
}

/// Far beyond what any step takes.
const HANG: Duration = Duration::from_secs(120);
