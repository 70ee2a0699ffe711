//! The proofs of the RDF store as a program: `quads power|damage [ARGUMENTS]`.

use std::process::ExitCode;
use std::time::Instant;

use fulgurite_rdf_testkit::{DamageReport, Damager, QuadSession};
use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::cuts::{run_cuts, run_planted};
use fulgurite_testkit::drawn_seed;

const HELP: &str = "\
Proofs of the RDF store: what power cuts leave of a store that is changed, and what damage to its tables leads to.

Usage: quads power [--images N] [--seed S] [--image ID] [--plant]
       quads damage [--stores N] [--seed S] [--number N]

power: records the disk under random transactions and loads. Each image that a power cut may leave must be sound, and must hold
the state after some commit that is not older than the last durable one.
  --images N  images to recover (default 4000), of several sessions
  --image ID  only this image, as a failure names it
  --plant     plant a fault in the engine, which must be found

damage: changes entries in a store's tables, then checks, queries and changes the store. The store may return errors, but if a
check calls it sound, it must hold its original content.
  --stores N  stores to damage (default 4000)
  --number N  only the damage of this number

Both:
  --seed S    seed of the sessions and of the damage (default: drawn)
";

/// Damages of one store.
const OF_ONE: u64 = 400;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let seed = arguments.number("--seed", drawn_seed());
    let sound = if arguments.flag("power") {
        let (images, image) = (arguments.number("--images", 4000), arguments.text("--image"));
        let plants = arguments.flag("--plant");
        arguments.finish();
        match plants {
            true => run_planted::<QuadSession>(seed, images),
            false => run_cuts::<QuadSession>(seed, images, image.as_deref()),
        }
    } else if arguments.flag("damage") {
        let (stores, number) = (arguments.number("--stores", 4000), arguments.text("--number"));
        arguments.finish();
        damage(seed, stores, number.as_deref())
    } else {
        eprintln!("name what to do: power or damage\n\n{HELP}");
        return ExitCode::from(2);
    };
    match sound {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("quads: {message}");
            ExitCode::from(2)
        }
    }
}

fn damage(seed: u64, stores: u64, number: Option<&str>) -> Result<bool, String> {
    let mut report = DamageReport::default();
    if let Some(number) = number {
        let number = number.parse().map_err(|_| format!("--number takes a number, not {number}"))?;
        Damager::new(seed)?.try_damage(number, &mut report);
        return Ok(print_damage(&report));
    }
    println!("quads damage: seed {seed}");
    let start = Instant::now();
    for store in 0.. {
        let damager = Damager::new(seed.wrapping_add(store))?;
        for number in 0..OF_ONE.min(stores - report.tried) {
            damager.try_damage(number, &mut report);
        }
        if report.tried >= stores || report.failures.len() > FAILURES_MAX {
            break;
        }
    }
    println!("{:.0} s", start.elapsed().as_secs_f64());
    Ok(print_damage(&report))
}

fn print_damage(report: &DamageReport) -> bool {
    report.failures.iter().take(FAILURES_MAX).for_each(|failure| println!("{failure}"));
    let DamageReport { tried, refused, told, harmless, failures } = report;
    println!(
        "quads damage: {tried} stores, {refused} refused, {told} found by the check, {harmless} harmless, {} harmed",
        failures.len()
    );
    failures.is_empty()
}

const FAILURES_MAX: usize = 20;
