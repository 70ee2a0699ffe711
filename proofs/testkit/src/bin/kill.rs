//! The kill test as a program: `kill --count N [--seed S] [--directory DIR] [--plant]`.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("kill: SKIPPED: it needs processes and users as Linux has them");
    ExitCode::from(77)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::Write as _;
    use std::process::{Command, ExitCode};
    use std::time::Instant;

    use fulgurite::planted::{Fault, plant, set_giving_way};
    use fulgurite_testkit::arguments::Arguments;
    use fulgurite_testkit::drawn_seed;
    use fulgurite_testkit::kill::{Plan, Report, Writer, look_on, open_only, open_second_writer, run, write};

    const HELP: &str = "\
Kills a process that writes, at any moment, again and again, and compares what is left with what it had acknowledged.

Usage: kill [--count N] [--seed S] [--directory DIR] [--plant] [--no-plant]

  --count N        processes to kill (default 100)
  --seed S         seed of what is written and when it is killed (default: drawn)
  --directory DIR  where the files go (default: the temporary directory)
  --plant          plant faults in the engine, one after the other, such as commits that are acknowledged before they are
                   written; the run succeeds if each is found
  --no-plant       do not plant faults at the end of the run
";

    pub fn main() -> ExitCode {
        let mut arguments = Arguments::from_env(HELP);
        // The program starts itself again, as the process that is to be killed.
        let role = arguments.text("--role");
        let count = arguments.number("--count", 100);
        let seed = arguments.number("--seed", drawn_seed());
        let directory = arguments.text("--directory").map_or_else(std::env::temp_dir, Into::into);
        let fault = arguments.number("--fault", 0);
        let (planted, no_plant) = (arguments.flag("--plant"), arguments.flag("--no-plant"));
        let (drawn, threads) = (arguments.number("--drawn", 0), arguments.number("--threads", 0));
        arguments.finish();
        if let Some(role) = role {
            return be_killed(&role, fault, &Writer { directory, seed, drawn, threads, fault: 0 });
        }
        println!("kill: seed {seed}");
        let plan = Plan { count, seed, directory, keep: true, fault: 0, writer, opener, onlooker, intruder, progress };
        if planted {
            return search(plan);
        }
        let start = Instant::now();
        let report = run(&plan);
        let seconds = start.elapsed().as_secs_f64();
        let ms = |share| report.percentile(share).as_secs_f64() * 1000.0;
        println!(
            "{} commits acknowledged, {} of them to survive; {} kills before the database was open, {} recoveries with runs\n\
             {} looks of other processes, {} second writers refused, {} files renamed, {} of {} copies without a log refused\n\
             recovery p50 {:.1} ms, longest {:.1} ms; {seconds:.0} s",
            report.acknowledged,
            report.to_survive,
            report.early,
            report.with_runs,
            report.looks,
            report.intruders,
            report.renames,
            report.copies[0],
            report.copies[1],
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

    /// Looks for the planted faults. One fault shows in several ways, and times decide which one is first: a run that
    /// ends with another one is repeated with another seed.
    fn search(plan: Plan) -> ExitCode {
        let mut found = 0;
        for (number, (name, _, said)) in (1..).zip(PLANTED) {
            for attempt in 0..ATTEMPTS {
                let seed = plan.seed.wrapping_add(attempt);
                let report = run(&Plan { seed, count: PLANTED_COUNT, keep: false, fault: number, ..plan.clone() });
                let text = report.failure.as_deref().unwrap_or("nothing was wrong");
                println!("planted {name}: {text}");
                if text.contains(said) {
                    found += 1;
                    break;
                }
            }
        }
        println!("kill: {found} of {} planted faults found", PLANTED.len());
        if found == PLANTED.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn writer(writer: &Writer) -> Command {
        child("write", writer)
    }

    fn opener(writer: &Writer) -> Command {
        child("open", writer)
    }

    fn onlooker(writer: &Writer) -> Command {
        child("look", writer)
    }

    fn intruder(writer: &Writer) -> Command {
        child("open_second_writer", writer)
    }

    fn child(role: &str, writer: &Writer) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
        let numbers = [
            ("--seed", writer.seed),
            ("--drawn", writer.drawn),
            ("--threads", writer.threads),
            ("--fault", writer.fault),
        ];
        command.args(["--role", role, "--directory"]).arg(&writer.directory);
        for (name, number) in numbers {
            command.args([name, &number.to_string()]);
        }
        command
    }

    /// What a child does. `fault` is the position among [`PLANTED`], from 1, of a fault to plant; 0 for none.
    fn be_killed(role: &str, fault: u64, writer: &Writer) -> ExitCode {
        plant(fault.checked_sub(1).and_then(|index| PLANTED.get(index as usize)).map(|(_, fault, _)| *fault));
        set_giving_way(writer.drawn as u32 % GIVING_WAY_MAX);
        let outcome = match role {
            "open" => open_only(writer),
            "look" => Err(look_on(writer, say_looked)),
            "open_second_writer" => open_second_writer(writer),
            _ => Err(write(writer, say_open)),
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(text) => {
                println!("{text}");
                ExitCode::FAILURE
            }
        }
    }

    /// Reports a look to the parent, by an empty line.
    fn say_looked() {
        let mut out = std::io::stdout();
        let _ = writeln!(out).and_then(|()| out.flush());
    }

    /// Reports to the parent that the database is open. A parent that no longer listens is about to kill.
    fn say_open() {
        let mut out = std::io::stdout();
        let _ = writeln!(out, "open").and_then(|()| out.flush());
    }

    fn progress(report: &Report) {
        if report.kills.is_multiple_of(50) {
            eprintln!("{report}");
        }
    }

    /// Runs for each planted fault, at most.
    const ATTEMPTS: u64 = 6;

    /// What is planted, and what is said when it is found.
    const PLANTED: [(&str, Fault, &str); 6] = [
        ("acknowledged-unwritten", Fault::AcknowledgedUnwritten, "acknowledged commits are lost"),
        ("moved-files-unnoticed", Fault::MovedFilesUnnoticed, "went on after its file was renamed"),
        ("log-unannounced", Fault::LogUnannounced, "is taken for whole"),
        ("file-unlocked", Fault::FileUnlocked, "a second writer"),
        ("reader-unannounced", Fault::ReaderUnannounced, "a reader of another process"),
        ("fork-unnoticed", Fault::ForkUnnoticed, "a child made by fork"),
    ];
    /// Each shows within far fewer kills.
    const PLANTED_COUNT: u64 = 100;
    /// Threads give way in fewer than so many of a thousand places where they must not be in each other's way.
    const GIVING_WAY_MAX: u32 = 20;
}
