//! The hostile-file test as a program: `hostile --files N [--seed S] [--file NUMBER]`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::drawn_seed;
use fulgurite_testkit::hostile::{CountingAllocator, Report, Tester, Watch};

const HELP: &str = "\
Mutates sound databases and uses them in every way: errors are fine, wrong answers and harm are not.

Usage: hostile [--files N] [--seed S] [--file NUMBER] [--threads N]

  --files N      files to try (default 20000)
  --seed S       seed of the databases and the mutations (default: drawn)
  --file NUMBER  only this file, telling what is done
  --threads N    threads (default: one per processor)
";

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let files = arguments.number("--files", 20_000);
    let seed = arguments.number("--seed", drawn_seed());
    let only = arguments.text("--file").map(|number| number.parse::<u64>());
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let threads = arguments.number("--threads", processors);
    arguments.finish();
    let tester = match Tester::new(seed) {
        Ok(tester) => tester,
        Err(message) => {
            println!("hostile: {message}");
            return ExitCode::FAILURE;
        }
    };
    println!("hostile: seed {seed}\n{}", tester.describe().trim_end());
    let watch = Arc::new(Watch::default());
    watch_over(Arc::clone(&watch), seed);
    let report = match only {
        Some(Ok(number)) => tester.try_file(number, &watch, true),
        Some(Err(_)) => {
            eprintln!("--file takes a number");
            return ExitCode::from(2);
        }
        None => run(&tester, files, threads, &watch),
    };
    conclude(&report, only.is_none() && files >= COVERED_FILES_MIN)
}

fn run(tester: &Tester, files: u64, threads: u64, watch: &Watch) -> Report {
    let (next, total) = (AtomicU64::new(0), Mutex::new(Report::default()));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut report = Report::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= files {
                        break;
                    }
                    report.add(tester.try_file(number, watch, false));
                }
                total.lock().expect("no thread panics while it holds this lock").add(report);
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds:.0} s, {:.0} files a second", files as f64 / seconds);
    total.into_inner().expect("no thread panics while it holds this lock")
}

/// Ends the process when a file hangs: nothing else can.
fn watch_over(watch: Arc<Watch>, seed: u64) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            if let Some(file) = watch.hanging().first() {
                println!("a file hangs; repeat: cargo xtask hostile --seed {seed} --file {file}");
                std::process::exit(1);
            }
        }
    });
}

fn conclude(report: &Report, must_cover: bool) -> ExitCode {
    let Report { files, sealed, opened, silent, mutations, reachable, most_bytes: (bytes, file), .. } = report;
    println!("{sealed} of {files} sealed, {opened} opened, {silent} showed no damage");
    println!("the most memory: {} KiB, for file {file}", bytes >> 10);
    println!("{mutations} mutations, {} % of reachable bytes", 100 * reachable / mutations.max(&1));
    if let Some((name, count)) = report.hits.iter().min_by_key(|(_, count)| **count) {
        println!("the fewest mutations: {count} of {name}");
    }
    for failure in &report.failures {
        println!("{failure}");
    }
    let missing = report.missing();
    let covered = !must_cover || (missing.is_empty() && 100 * reachable >= 60 * mutations);
    if !covered {
        println!("never hit: {}", missing.join(", "));
    }
    println!("hostile: {report}");
    if report.is_sound() && covered { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// From so many files on, every field must have been hit.
const COVERED_FILES_MIN: u64 = 10_000;
