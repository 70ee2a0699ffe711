//! The I/O error test as a program: `io_errors [--seed S] [--workload NAME] [--trial TRIAL]`.

use std::process::ExitCode;

use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::drawn_seed;
use fulgurite_testkit::faults::{Report, Trial, Workload, repeat, run_all};

const HELP: &str = "\
Makes every call of the disk fail in turn, once and for good, and checks that nothing is lost and nothing is wrong.

Usage: io_errors [--seed S] [--workload NAME] [--trial TRIAL]

  --seed S         seed of what is written (default: drawn)
  --workload NAME  only this workload
  --trial TRIAL    only this way to fail, as a failure prints it
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let seed = arguments.number("--seed", drawn_seed());
    let only = arguments.text("--workload");
    let trial = arguments.text("--trial").map(|text| text.parse::<Trial>());
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
            None => run_all(workload, seed),
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
