//! The model test as a program: `model --operations N [--seed S] [--steps N] [--real] [--plant]`.

use std::path::Path;
use std::process::ExitCode;

use fulgurite::planted::{Fault, plant};
use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::model::{Coverage, Options, Report, run};
use fulgurite_testkit::{drawn_seed, panics};

const HELP: &str = "\
Runs random sequences over the whole API against a model, and prints what was covered.

Usage: model [--operations N] [--seed S] [--steps N] [--real] [--plant]

  --operations N  calls of the API to make at least (default 2000000)
  --seed S        the first seed (default: drawn); each world takes the next one
  --steps N       steps in one world (default 3000)
  --real          every world on the real disk, in the temporary directory (default: every fourth)
  --plant         plant one fault after the other in the engine; the run succeeds if all are found, each in N operations
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let operations = arguments.number("--operations", 2_000_000);
    let seed = arguments.number("--seed", drawn_seed());
    let steps = arguments.number("--steps", 3_000);
    let (real, planted) = (arguments.flag("--real"), arguments.flag("--plant"));
    arguments.finish();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let worlds = Worlds { operations, seed, steps, real, directory: directory.path() };
    if planted {
        return worlds.search();
    }
    let mut coverage = Coverage::default();
    let played = worlds.play(&mut coverage);
    if let Some(Offence { seed, on_disk, text }) = played.offence {
        println!("model: seed {seed}: {text}");
        let real = if on_disk { " --real" } else { "" };
        println!("repeat: cargo xtask model --seed {seed} --steps {steps} --operations 1{real}");
        return ExitCode::FAILURE;
    }
    print!("{coverage}");
    let missing = coverage.missing();
    if !missing.is_empty() {
        println!("model: never called or not met: {}", missing.join(", "));
        return ExitCode::FAILURE;
    }
    println!("model: {} operations in {} worlds from seed {seed}, 0 differences", coverage.total(), played.worlds);
    ExitCode::SUCCESS
}

/// What to run.
struct Worlds<'d> {
    operations: u64,
    seed: u64,
    steps: u64,
    real: bool,
    directory: &'d Path,
}

/// How it went.
struct Played {
    worlds: u64,
    offence: Option<Offence>,
}

/// What is wrong, and in which world.
struct Offence {
    seed: u64,
    on_disk: bool,
    text: String,
}

impl Worlds<'_> {
    /// World after world, until there are enough operations or something is wrong.
    fn play(&self, coverage: &mut Coverage) -> Played {
        let mut worlds = 0;
        while coverage.total() < self.operations {
            let (seed, on_disk) = (self.seed + worlds, self.real || worlds % 4 == 3);
            worlds += 1;
            let directory = on_disk.then(|| self.directory.to_path_buf());
            let options = Options { seed, steps: self.steps, directory };
            match panics::catch(|| run(&options)).unwrap_or_else(|panic| Err(format!("it panics: {panic}"))) {
                Ok(Report { coverage: covered }) => coverage.add(&covered),
                Err(text) => return Played { worlds, offence: Some(Offence { seed, on_disk, text }) },
            }
        }
        Played { worlds, offence: None }
    }

    /// Plants each of the faults and looks for it.
    fn search(&self) -> ExitCode {
        let mut found = 0;
        for (number, fault) in (0..).zip(Fault::OF_MODEL) {
            plant(Some(fault));
            // A directory of its own: a world that is wrong leaves its files.
            let directory = self.directory.join(format!("planted-{number}"));
            std::fs::create_dir(&directory).expect("a directory in a temporary directory");
            let Played { worlds, offence } = Worlds { directory: &directory, ..*self }.play(&mut Coverage::default());
            plant(None);
            found += usize::from(offence.is_some());
            let text = offence.map_or("not found".into(), |offence| format!("found: {}", offence.text));
            println!("planted {fault:?}: {text} ({worlds} worlds)");
        }
        println!("model: {found} of {} planted faults found", Fault::OF_MODEL.len());
        if found == Fault::OF_MODEL.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
