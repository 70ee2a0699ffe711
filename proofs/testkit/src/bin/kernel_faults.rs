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
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Command, ExitCode, Stdio};
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};

    use fulgurite::Durability;
    use fulgurite::planted::{Fault, plant};
    use fulgurite_testkit::arguments::Arguments;
    use fulgurite_testkit::drawn_seed;
    use fulgurite_testkit::kernel::{Ending, Kind, Plan, Writer, run, unavailable, write};

    const HELP: &str = "\
Makes the medium of a file system fail under a process that writes (full, cut short, unreadable), or fills the file
system itself. Then it repairs the medium, and compares the database with the commits that were acknowledged.

Needs root, loop devices, and the tools mount, losetup, mkfs.ext4 and e2fsck. The exit code is 77 if they are missing,
or if the kernel itself fails. It is 1 if the engine is wrong, and if nothing is proved: a tool fails, a kind of fault
never strikes in 4 runs or more, or a process hangs in the kernel in more than one run for 8 others.

Usage: kernel_faults [--runs N] [--seed S] [--first N] [--only KIND] [--plant] [--no-plant] [--verbose]

  --runs N      runs, each on a file system of its own (default 40)
  --seed S      seed of what is written, and of how and when it fails (default: drawn)
  --first N     number of the first run (default 0)
  --only KIND   only this: medium-full, medium-ends, unreadable, files-full, memory-full
  --plant       plant a fault in the engine: a failed sync is ignored; the run succeeds if that is found
  --no-plant    do not plant the fault at the end of the run
  --verbose     print what each run did
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
        if report.hung > 0 {
            println!("not counted: in {} runs a process hung in the kernel until the medium was repaired", report.hung);
        }
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
        let (bug_before, mut patience) = (newest_bug(), PATIENCE);
        let mut inside = unshare();
        // A process that hangs in the kernel must not keep the output of the caller open.
        inside
            .arg(program)
            .args(arguments)
            .arg("--inside")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut inside = match inside.spawn() {
            Ok(inside) => inside,
            Err(error) => return skipped(&format!("unshare: {error}")),
        };
        let told = [
            inside.stdout.take().map(|out| pass_on(out, std::io::stdout())),
            inside.stderr.take().map(|out| pass_on(out, std::io::stderr())),
        ];
        loop {
            let ended = inside.try_wait().expect("the child is ours");
            let bug = newest_bug().filter(|bug| Some(bug) != bug_before.as_ref());
            if let Some(status) = ended {
                if let Some(bug) = bug {
                    // A process that hangs in the kernel may still have the pipes.
                    return cut_short(&bug);
                }
                told.into_iter().flatten().for_each(|thread| drop(thread.join()));
                return ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
            }
            match bug {
                Some(bug) if patience.is_zero() => {
                    // It does not end if it hangs in the kernel; nobody waits for it.
                    let _ = inside.kill();
                    return cut_short(&bug);
                }
                Some(_) => patience = patience.saturating_sub(LOOK_INTERVAL),
                None => {}
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Forwards the output, line by line.
    fn pass_on(from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> JoinHandle<()> {
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                // Nobody may be there to read it.
                let _ = writeln!(to, "{line}");
            }
        })
    }

    /// The last report of the kernel about a fault of its own, if there is one.
    fn newest_bug() -> Option<String> {
        let output = Command::new("dmesg").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().rfind(|line| line.contains("kernel BUG at")).map(str::to_owned)
    }

    /// A kernel that has failed proves nothing about those who run on it.
    fn cut_short(bug: &str) -> ExitCode {
        println!("kernel-faults: SKIPPED: the kernel itself failed, and what it was doing hangs: {}", bug.trim());
        ExitCode::from(SKIPPED)
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

    /// Between two looks at what the kernel says.
    const LOOK_INTERVAL: Duration = Duration::from_secs(1);
    /// How long a run may go on when the kernel has failed.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// As test runners know it: what could not run is not what failed.
    const SKIPPED: u8 = 77;
    /// The fault shows within far fewer.
    const PLANTED_RUNS: u64 = 30;
}
