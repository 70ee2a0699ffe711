//! The soak as a program: `soak --minutes N [--seed S]`.

use std::process::ExitCode;
use std::time::Duration;

use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::drawn_seed;
use fulgurite_testkit::soak::{Plan, Plateau, Report, Sample, run};

const HELP: &str = "\
Writes and reads for a long time at a part of the peak rate, checks every answer, and watches memory, disk and descriptors.

Usage: soak [--minutes N | --seconds N] [--seed S] [--writers N] [--readers N] [--keys N] [--percent N]

  --minutes N  how long (default 1)
  --seconds N  the same, shorter
  --seed S     seed of keys and order (default: drawn); the threads' order is not decided by it
  --writers N  threads that write (default 2)
  --readers N  threads that read and check (default 2)
  --keys N     keys in each of two tables (default 200000)
  --percent N  steady load, of the peak that is measured first (default 80)
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let minutes = arguments.number("--minutes", 1);
    let plan = Plan {
        length: Duration::from_secs(arguments.number("--seconds", minutes * 60)),
        seed: arguments.number("--seed", drawn_seed()),
        writers: arguments.number("--writers", 2).max(1),
        readers: arguments.number("--readers", 2),
        keys: arguments.number("--keys", 200_000).max(1000),
        percent: arguments.number("--percent", 80).clamp(1, 100),
    };
    arguments.finish();
    println!("soak: seed {}, {} s", plan.seed, plan.length.as_secs());
    let directory = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => {
            println!("soak: no temporary directory: {error}");
            return ExitCode::FAILURE;
        }
    };
    match run(plan, directory.path(), &|line| println!("{line}")) {
        Ok(report) => conclude(&plan, &report),
        Err(error) => {
            println!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

fn conclude(plan: &Plan, report: &Report) -> ExitCode {
    let Report { transactions, reads, most_runs, wrong, samples } = report;
    wrong.iter().for_each(|offence| println!("wrong: {offence}"));
    println!("{transactions} transactions, {reads} reads checked, at most {most_runs} runs seen above the trees");
    let mut steady = true;
    let mut judge = |what: &str, unit: u64, slack: u64, number: fn(&Sample) -> u64| {
        let Some(plateau) = Plateau::of(samples, number) else {
            println!("{what}: too few samples");
            steady = false;
            return;
        };
        let holds = plateau.holds(GROWTH_SHARE, slack);
        steady &= holds;
        let (middle, end) = (plateau.middle / unit, plateau.end / unit);
        let verdict = if holds { "a plateau" } else { "GROWS" };
        println!("{what}: at most {middle} in the second third, {end} in the last: {verdict}");
    };
    judge("RssAnon, MiB", 1 << 20, 16 << 20, |sample| sample.memory_bytes);
    judge("files, MiB", 1 << 20, 32 << 20, |sample| sample.disk_bytes);
    judge("descriptors", 1, 2, |sample| sample.descriptors);
    let seconds = plan.length.as_secs();
    // The load falls everywhere into tables many times a delta.
    let stacked = *most_runs > 0 || seconds < STACKED_SECONDS;
    if !stacked {
        println!("no runs were seen");
    }
    let sound = wrong.is_empty() && steady && stacked && *transactions > 0;
    println!(
        "soak: {seconds} s, {transactions} transactions, {} wrong, {}",
        wrong.len(),
        if steady { "memory, files and descriptors on a plateau" } else { "NOT on a plateau" }
    );
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// In so long a time runs are seen.
const STACKED_SECONDS: u64 = 60;
/// The last third may be higher by this part.
const GROWTH_SHARE: u64 = 7;
