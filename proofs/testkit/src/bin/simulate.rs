//! The simulation as a program: `simulate --seeds N --operations N [--seed S] [--plant]`.

use std::process::ExitCode;

use fulgurite::planted::{Fault, plant};
use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::simulate::{Plan, Tally, simulate};
use fulgurite_testkit::{drawn_seed, panics};

const HELP: &str = "\
Runs the engine with its work in the background interleaved with everything else, step by step, as seeds decide: disks that are
full, calls that fail, power cuts and deaths of the process among it. All answers are compared with a model.

Usage: simulate [--seeds N] [--operations N] [--seed S] [--plant]

  --seeds N       simulations, each with the next seed (default 2)
  --operations N  calls of the database in each (default 50000)
  --seed S        the first seed (default: drawn)
  --plant         plant one fault after the other in the engine; the run succeeds if each is found, in N operations of a few seeds
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let seeds = arguments.number("--seeds", 2);
    let operations = arguments.number("--operations", 50_000);
    let seed = arguments.number("--seed", drawn_seed());
    let planted = arguments.flag("--plant");
    arguments.finish();
    println!("simulate: {seeds} seeds from {seed}, {operations} operations each");
    if planted {
        return search(seed, operations);
    }
    let mut tally = Tally::default();
    for seed in seed..seed + seeds {
        match run(seed, operations) {
            Ok(one) => tally += &one,
            Err(wrong) => {
                println!("simulate: seed {seed}: {wrong}");
                println!("{}", repeat(seed, operations));
                return ExitCode::FAILURE;
            }
        }
    }
    print!("{tally}");
    let total = seeds * operations;
    let missing = tally.missing(total);
    if !missing.is_empty() {
        println!("simulate: too seldom done or met: {}", missing.join(", "));
        return ExitCode::FAILURE;
    }
    println!("simulate: {seeds} seeds, {total} operations, {} handovers, 0 wrong", tally.of("handovers"));
    ExitCode::SUCCESS
}

fn run(seed: u64, operations: u64) -> Result<Tally, String> {
    let stuck = move |how: &str| {
        println!("simulate: seed {seed}: {how}");
        println!("{}", repeat(seed, operations));
        // The other threads can neither go on nor end.
        std::process::exit(1);
    };
    let plan = Plan { seed, operations };
    panics::catch(|| simulate(&plan, Box::new(stuck))).unwrap_or_else(|panic| Err(format!("it panics: {panic}")))
}

fn repeat(seed: u64, operations: u64) -> String {
    format!("repeat: cargo xtask simulate --seeds 1 --seed {seed} --operations {operations}")
}

/// Plants each of the faults and looks for it.
fn search(seed: u64, operations: u64) -> ExitCode {
    let mut found = 0;
    for fault in Fault::OF_SIMULATION {
        plant(Some(fault));
        let wrong =
            (seed..seed + SEEDS_FOR_A_FAULT).find_map(|seed| run(seed, operations).err().map(|wrong| (seed, wrong)));
        plant(None);
        found += usize::from(wrong.is_some());
        let text = wrong.map_or("not found".into(), |(seed, wrong)| format!("found with seed {seed}: {wrong}"));
        println!("planted {fault:?}: {text}");
    }
    println!("simulate: {found} of {} planted faults found", Fault::OF_SIMULATION.len());
    if found == Fault::OF_SIMULATION.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A fault must show with one of so many seeds.
const SEEDS_FOR_A_FAULT: u64 = 12;
