//! The power-cut test as a program: `crash --images N [--seed S] [--workload NAME] [--image ID] [--plant NAME|all]`.

use std::process::ExitCode;
use std::time::Instant;

use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::crash::{Plan, Planted, Report, Workload, repeat, run};
use fulgurite_testkit::drawn_seed;

const HELP: &str = "\
Cuts the power at every point of many workloads, recovers what may be left, and compares it with what was acknowledged.

Usage: crash [--images N] [--seed S] [--workload NAME] [--image ID] [--plant NAME|all] [--no-plant]

  --images N       distinct images to verify (default 20000)
  --seed S         seed of the first round (default: drawn)
  --workload NAME  only this workload; `list` shows them
  --image ID       only this image of the workload, as a failure prints it
  --plant NAME     plant this fault in the engine; the run succeeds if it is found; `all` plants one after the other
  --no-plant       do not plant faults at the end of the run
  --threads N      threads (default: one per processor)
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let images = arguments.number("--images", 20_000);
    let seed = arguments.number("--seed", drawn_seed());
    let workload = arguments.text("--workload");
    let image = arguments.text("--image");
    let plant = arguments.text("--plant");
    let no_plant = arguments.flag("--no-plant");
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let threads = arguments.number("--threads", processors) as usize;
    arguments.finish();
    if let Some(name) = plant {
        let faults: Vec<Planted> =
            Planted::ALL.into_iter().filter(|fault| name == "all" || fault.name == name).collect();
        return if faults.is_empty() {
            unknown(&name, &Planted::ALL.map(|fault| fault.name))
        } else {
            search(&faults, seed)
        };
    }
    let named = workload.as_deref().map(|name| Workload::named(name).ok_or(name)).transpose();
    let workload = match named {
        Ok(workload) => workload,
        Err(name) => return unknown(name, &Workload::ALL.iter().map(|workload| workload.name).collect::<Vec<_>>()),
    };
    match (image, workload) {
        (None, workload) => {
            println!("crash: seed {seed}, {} workloads, {threads} threads", Workload::ALL.len());
            let plan = Plan { images, seed, workload: workload.map(|workload| workload.name), threads };
            let report = timed(|| run(&plan));
            // A run of everything also shows that it would find what it is for.
            let proves = no_plant || workload.is_some() || search(&Planted::ALL, seed) == ExitCode::SUCCESS;
            let outcome = conclude(&report);
            if proves { outcome } else { ExitCode::FAILURE }
        }
        (Some(image), Some(workload)) => match repeat(workload, &image) {
            Ok(report) => conclude(&report),
            Err(message) => usage(&message),
        },
        (Some(_), None) => usage("--image needs --workload"),
    }
}

/// Plants each of the faults and looks for it.
fn search(faults: &[Planted], seed: u64) -> ExitCode {
    let mut found = 0;
    for fault in faults {
        let (failure, images) = fault.search(seed, PLANTED_IMAGES_MAX);
        match failure {
            Some(failure) => {
                found += 1;
                println!("planted {}: found after {images} images: {}", fault.name, first_line(&failure.text));
            }
            None => println!("planted {}: not found in {images} images", fault.name),
        }
    }
    println!("crash: {found} of {} planted faults found", faults.len());
    if found == faults.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn conclude(report: &Report) -> ExitCode {
    for failure in &report.failures {
        println!("{failure}");
    }
    println!("crash: {report}");
    if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn timed(run: impl FnOnce() -> Report) -> Report {
    let start = Instant::now();
    let report = run();
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds:.0} s, {:.0} images a second", (report.images + report.nested) as f64 / seconds);
    report
}

fn unknown(name: &str, known: &[&str]) -> ExitCode {
    usage(&format!("`{name}` is none of: {}", known.join(" ")))
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Each fault shows in far fewer.
const PLANTED_IMAGES_MAX: u64 = 2_000;
