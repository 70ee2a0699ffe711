//! The model test as a program: `model --operations N [--seed S] [--memory] [--plant]`.

use std::process::ExitCode;

use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::drawn_seed;
use fulgurite_testkit::model::{Coverage, Options, run};

const HELP: &str = "\
Runs random sequences over the whole API against a model, and prints what was covered.

Usage: model [--operations N] [--seed S] [--steps N] [--real] [--plant]

  --operations N  calls of the API to make at least (default 2000000)
  --seed S        the first seed (default: drawn); each world takes the next one
  --steps N       steps in one world (default 3000)
  --real          every world on the real disk, in the temporary directory (default: every fourth)
  --plant         plant an off-by-one in the engine's ranges; the run succeeds if it is found
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let operations = arguments.number("--operations", 2_000_000);
    let seed = arguments.number("--seed", drawn_seed());
    let steps = arguments.number("--steps", 3_000);
    let (real, plant) = (arguments.flag("--real"), arguments.flag("--plant"));
    arguments.finish();
    if plant {
        fulgurite::planted::plant(Some(fulgurite::planted::Fault::RangeOffByOne));
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut coverage = Coverage::default();
    let mut worlds = 0;
    while coverage.total() < operations {
        let on_disk = real || worlds % 4 == 3;
        let directory = on_disk.then(|| directory.path().to_path_buf());
        match run(&Options { seed: seed + worlds, steps, directory }) {
            Ok(report) => coverage.add(&report.coverage),
            Err(_) if plant => {
                println!("model: 1 of 1 planted faults found");
                return ExitCode::SUCCESS;
            }
            Err(difference) => {
                println!("model: seed {}: {difference}", seed + worlds);
                let real = if on_disk { " --real" } else { "" };
                println!("repeat: cargo xtask model --seed {} --steps {steps} --operations 1{real}", seed + worlds);
                return ExitCode::FAILURE;
            }
        }
        worlds += 1;
    }
    print!("{coverage}");
    let missing = coverage.missing();
    if plant || !missing.is_empty() {
        println!(
            "model: never called or not found: {}",
            if plant { "the planted fault".into() } else { missing.join(", ") }
        );
        return ExitCode::FAILURE;
    }
    println!("model: {} operations in {worlds} worlds from seed {seed}, 0 differences", coverage.total());
    ExitCode::SUCCESS
}
