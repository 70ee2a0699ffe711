//! The I/O error test as a program: `io_errors [--seed S] [--one-in N] [--workload NAME] [--trial TRIAL]`.

use std::process::ExitCode;

use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::drawn_seed;
use fulgurite_testkit::faults::{Report, Share, Trial, Workload, repeat, run_all};

const HELP: &str = "\
Makes every call of the disk fail in turn, once and for good, and checks that nothing is lost and nothing is wrong.

Usage: io_errors [--seed S] [--one-in N] [--workload NAME] [--trial TRIAL]

  --seed S         seed of what is written (default: drawn)
  --one-in N       make one run in so many, spread over all calls and ways to fail (default 1: all)
  --workload NAME  only this workload
  --trial TRIAL    only this way to fail, as a failure prints it
  --threads N      threads (default: one per processor)
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let seed = arguments.number("--seed", drawn_seed());
    let only = arguments.text("--workload");
    let trial = arguments.text("--trial").map(|text| text.parse::<Trial>());
    let one_in = arguments.number("--one-in", 1).max(1);
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let share = Share { one_in, threads: arguments.number("--threads", processors) };
    arguments.finish();
    let workloads: Vec<_> =
        Workload::ALL.iter().filter(|workload| only.as_ref().is_none_or(|name| name == workload.name)).collect();
    let trial = match trial.transpose() {
        Ok(trial) if !workloads.is_empty() => trial,
        outcome => {
            let names: Vec<&str> = Workload::ALL.iter().map(|workload| workload.name).collect();
            eprintln!("{}", outcome.err().unwrap_or_else(|| format!("the workloads are: {}", names.join(" "))));
            return ExitCode::from(2);
        }
    };
    println!("io errors: seed {seed}");
    let mut total = Report::default();
    for workload in workloads {
        let report = match trial {
            Some(trial) => repeat(workload, seed, trial),
            None => run_all(workload, seed, share),
        };
        println!("  {:<20} {:>5} runs, {:>5} end poisoned", workload.name, report.runs, report.poisoned);
        total += report;
    }
    for failure in &total.failures {
        println!("{failure}");
    }
    println!("io errors: {total}");
    if total.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
