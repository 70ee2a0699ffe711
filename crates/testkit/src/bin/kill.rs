//! The kill test as a program: `kill --count N [--seed S] [--directory DIR] [--plant]`.

use std::io::Write as _;
use std::process::{Command, ExitCode};
use std::time::Instant;

use fulgurite::planted::{Fault, plant, set_giving_way};
use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::drawn_seed;
use fulgurite_testkit::kill::{Plan, Report, Writer, open_only, run, write};

const HELP: &str = "\
Kills a process that writes, at any moment, again and again, and compares what is left with what it had acknowledged.

Usage: kill [--count N] [--seed S] [--directory DIR] [--plant] [--no-plant]

  --count N        processes to kill (default 100)
  --seed S         seed of what is written and when it is killed (default: drawn)
  --directory DIR  where the files go (default: the temporary directory)
  --plant          plant a fault in the engine: commits are acknowledged before they are written; the run succeeds if it
                   is found
  --no-plant       do not plant the fault at the end of the run
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    // The program starts itself again, as the process that is to be killed.
    let role = arguments.text("--role");
    let count = arguments.number("--count", 100);
    let seed = arguments.number("--seed", drawn_seed());
    let directory = arguments.text("--directory").map_or_else(std::env::temp_dir, Into::into);
    let (planted, no_plant) = (arguments.flag("--plant"), arguments.flag("--no-plant"));
    let (drawn, threads) = (arguments.number("--drawn", 0), arguments.number("--threads", 0));
    arguments.finish();
    if let Some(role) = role {
        return be_killed(&role, &Writer { directory, seed, drawn, threads });
    }
    println!("kill: seed {seed}");
    let plan = Plan { count, seed, directory, keep: true, writer: sound_writer, opener, progress };
    if planted {
        return search(plan);
    }
    let start = Instant::now();
    let report = run(&plan);
    let seconds = start.elapsed().as_secs_f64();
    let ms = |share| report.percentile(share).as_secs_f64() * 1000.0;
    println!(
        "{} commits acknowledged, {} of them to survive; {} kills before the database was open, {} recoveries with runs\n\
         recovery p50 {:.1} ms, longest {:.1} ms; {seconds:.0} s",
        report.acknowledged,
        report.to_survive,
        report.early,
        report.with_runs,
        ms(50),
        ms(100)
    );
    if let Some(failure) = &report.failure {
        println!("{failure}\nrepeat, as far as threads repeat: cargo xtask kill --seed {seed}");
    }
    let proves = no_plant || search(plan) == ExitCode::SUCCESS;
    println!("kill: {report}");
    if proves && report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Looks for a planted fault.
fn search(plan: Plan) -> ExitCode {
    let report = run(&Plan { count: PLANTED_COUNT, keep: false, writer: wrong_writer, ..plan });
    let found = report.lost > 0;
    let text = report.failure.as_deref().unwrap_or("nothing was wrong");
    println!("planted acknowledged-unwritten: {text}");
    println!("kill: {} of 1 planted faults found", u8::from(found));
    if found { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn sound_writer(writer: &Writer) -> Command {
    child("write", writer)
}

fn wrong_writer(writer: &Writer) -> Command {
    child("write-wrongly", writer)
}

fn opener(writer: &Writer) -> Command {
    child("open", writer)
}

fn child(role: &str, writer: &Writer) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
    let numbers = [("--seed", writer.seed), ("--drawn", writer.drawn), ("--threads", writer.threads)];
    command.args(["--role", role, "--directory"]).arg(&writer.directory);
    for (name, number) in numbers {
        command.args([name, &number.to_string()]);
    }
    command
}

fn be_killed(role: &str, writer: &Writer) -> ExitCode {
    if role == "write-wrongly" {
        plant(Some(Fault::AcknowledgedUnwritten));
    }
    set_giving_way(writer.drawn as u32 % GIVING_WAY_MAX);
    let outcome = if role == "open" { open_only(writer) } else { Err(write(writer, say_open)) };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            println!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// Tells the parent that the database is open. If it does not listen any more, it is about to kill.
fn say_open() {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "open").and_then(|()| out.flush());
}

fn progress(report: &Report) {
    if report.kills.is_multiple_of(50) {
        eprintln!("{report}");
    }
}

/// The fault shows within far fewer kills.
const PLANTED_COUNT: u64 = 60;
/// Threads give way in fewer than so many of a thousand places where they must not be in each other's way.
const GIVING_WAY_MAX: u32 = 20;
