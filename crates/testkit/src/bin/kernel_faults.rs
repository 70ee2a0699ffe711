//! The kernel fault test as a program: `kernel_faults [--runs N] [--seed S] [--only KIND]`.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("kernel-faults: SKIPPED: it needs the loop devices of Linux");
    ExitCode::from(77)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::process::{Command, ExitCode};
    use std::time::Instant;

    use fulgurite::Durability;
    use fulgurite::planted::{Fault, plant};
    use fulgurite_testkit::arguments::Arguments;
    use fulgurite_testkit::drawn_seed;
    use fulgurite_testkit::kernel::{Ending, Kind, Plan, Writer, run, unavailable, write};

    const HELP: &str = "\
Has a file system's medium fail beneath a process that writes: full, cut short, unreadable; and the file system itself full.
Compares what is left, after the medium is mended, with what the process was told. Needs root, loop devices, and the tools
mount, losetup, mkfs.ext4 and e2fsck; ends with exit code 77 where they are missing. If one fails later, or a kind of fault
strikes in none of 4 runs or more, nothing is proved, and it ends with exit code 1.

Usage: kernel_faults [--runs N] [--seed S] [--first N] [--only KIND] [--plant] [--no-plant] [--verbose]

  --runs N      runs, each on a file system of its own (default 40)
  --seed S      seed of what is written, and of how and when it fails (default: drawn)
  --first N     number of the first run (default 0)
  --only KIND   only this: medium-full, medium-ends, unreadable, files-full, memory-full
  --plant       plant a fault in the engine: a failed sync is ignored; the run succeeds if that is found
  --no-plant    do not plant the fault at the end of the run
  --verbose     tell what each run did
";

    pub fn main() -> ExitCode {
        let all: Vec<String> = std::env::args().skip(1).collect();
        let mut arguments = Arguments::from_env(HELP);
        if let Some(role) = arguments.text("--role") {
            return be_struck(&role, arguments);
        }
        let runs = arguments.number("--runs", 40);
        let (seed, first) = (arguments.number("--seed", drawn_seed()), arguments.number("--first", 0));
        let only = arguments.text("--only");
        let (planted, no_plant) = (arguments.flag("--plant"), arguments.flag("--no-plant"));
        let (verbose, inside) = (arguments.flag("--verbose"), arguments.flag("--inside"));
        arguments.finish();
        let kind = only.as_ref().and_then(|name| Kind::ALL.into_iter().find(|kind| kind.name() == name));
        if only.is_some() && kind.is_none() {
            eprintln!("the kinds are: {}", Kind::ALL.map(Kind::name).join(" "));
            return ExitCode::from(2);
        }
        if !inside {
            return go_inside(&all);
        }
        if let Some(why) = unavailable() {
            return skipped(&why);
        }
        println!("kernel-faults: seed {seed}");
        let progress = if verbose { |told: &str| println!("{told}") } else { |_: &str| {} };
        let directory = std::env::temp_dir();
        let plan =
            Plan { runs, first, only: kind, seed, directory, command: sound_writer, stop_early: false, progress };
        if planted {
            return search(plan);
        }
        let start = Instant::now();
        let report = run(&plan);
        println!(
            "a call failed in {} runs; {} ended poisoned, {} by a bus error; {} acknowledgements had to hold; {:.0} s",
            report.struck,
            report.faults.poisoned,
            report.bus_errors,
            report.to_survive,
            start.elapsed().as_secs_f64()
        );
        println!("struck as they should: {}", report.strikes());
        report.faults.failures.iter().chain(&report.tools).for_each(|failure| println!("{failure}"));
        report.untried().iter().for_each(|text| println!("proves nothing: {text}"));
        let proves = no_plant || search(plan) == ExitCode::SUCCESS;
        println!("kernel-faults: {report}; tools failed in {} runs", report.tools.len());
        if proves && report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Starts the program again in a mount namespace of its own: what it mounts goes when it ends, however it does.
    fn go_inside(arguments: &[String]) -> ExitCode {
        let unshare = || {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private"]);
            command
        };
        match unshare().arg("true").output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => return skipped(String::from_utf8_lossy(&output.stderr).trim()),
            Err(error) => return skipped(&format!("unshare: {error}")),
        }
        let program = std::env::current_exe().expect("a running program has a path");
        let status = unshare().arg(program).args(arguments).arg("--inside").status();
        let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
        ExitCode::from(code.unwrap_or(1))
    }

    fn skipped(why: &str) -> ExitCode {
        println!("kernel-faults: SKIPPED: {why}");
        ExitCode::from(SKIPPED)
    }

    /// Looks for a planted fault. Only what judging finds is found: a tool that fails, or a writer that hangs, is not.
    fn search(plan: Plan) -> ExitCode {
        let only = Some(Kind::MediumFull);
        let report = run(&Plan { runs: PLANTED_RUNS, only, command: wrong_writer, stop_early: true, ..plan });
        let found = report.judged.is_some();
        let other = report.tools.first().or(report.faults.failures.first());
        let text = report.judged.as_ref().or(other).map_or("nothing was wrong", |text| text);
        println!("planted failed-sync-ignored: {text}");
        println!("kernel-faults: {} of 1 planted faults found", u8::from(found));
        if found { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn sound_writer(writer: &Writer) -> Command {
        child("write", writer)
    }

    fn wrong_writer(writer: &Writer) -> Command {
        child("write-wrongly", writer)
    }

    fn child(role: &str, writer: &Writer) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
        command.args(["--role", role, "--directory"]).arg(&writer.directory);
        command.arg("--acknowledgements").arg(&writer.acknowledgements);
        command.args(["--seed", &writer.seed.to_string(), "--drawn", &writer.drawn.to_string()]);
        let began: Vec<String> = writer.began.iter().map(Ending::text).collect();
        command.args(["--began", &began.join(",")]);
        command.args(writer.map.then_some("--map"));
        command.args((writer.survives == Durability::Log).then_some("--log-survives"));
        command
    }

    /// The process whose disk fails.
    fn be_struck(role: &str, mut arguments: Arguments) -> ExitCode {
        let (seed, drawn) = (arguments.number("--seed", 0), arguments.number("--drawn", 0));
        let mut text = |name| arguments.text(name).unwrap_or_default();
        let (directory, acknowledgements, began) = (text("--directory"), text("--acknowledgements"), text("--began"));
        let began = began.split(',').filter_map(Ending::parse).collect();
        let (map, log_survives) = (arguments.flag("--map"), arguments.flag("--log-survives"));
        arguments.finish();
        if role == "write-wrongly" {
            plant(Some(Fault::FailedSyncIgnored));
        }
        let survives = if log_survives { Durability::Log } else { Durability::Disk };
        let (directory, acknowledgements) = (directory.into(), acknowledgements.into());
        let writer = Writer { directory, acknowledgements, seed, drawn, map, survives, began };
        match write(&writer) {
            Ok(()) => ExitCode::SUCCESS,
            Err(text) => {
                println!("wrong: {text}");
                ExitCode::FAILURE
            }
        }
    }

    /// As test runners know it: what could not run is not what failed.
    const SKIPPED: u8 = 77;
    /// The fault shows within far fewer.
    const PLANTED_RUNS: u64 = 30;
}
