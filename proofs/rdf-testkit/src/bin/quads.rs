//! The proofs of the quad store as a program: `quads power|damage [ARGUMENTS]`.

use std::process::ExitCode;
use std::time::Instant;

use fulgurite_rdf_testkit::{DamageReport, Damager, PowerReport, cut_power, find_planted, repeat};
use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::drawn_seed;

const HELP: &str = "\
Proofs of the quad store: what power cuts leave of a store that is changed, and what damage to its tables leads to.

Usage: quads power [--images N] [--seed S] [--image ID] [--plant]
       quads damage [--stores N] [--seed S] [--number N]

power: random transactions and loads on a disk that records them; each image that a power cut may leave has to be sound and hold
what some commit left, none older than the last that is known to be durable.
  --images N  images to recover (default 4000), of several sessions
  --image ID  only this image, as a failure names it
  --plant     plant a fault in the engine, which must be found

damage: entries of a store's tables are changed, and the store is checked, queried and changed. It may fail with errors; it may not
do harm, and what a check calls sound must hold what it held.
  --stores N  stores to damage (default 4000)
  --number N  only the damage of this number

Both:
  --seed S    seed of the sessions and of the damage (default: drawn)
";

/// Images of one session, and damages of one store.
const OF_ONE: u64 = 400;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let seed = arguments.number("--seed", drawn_seed());
    let sound = if arguments.flag("power") {
        let (images, image) = (arguments.number("--images", 4000), arguments.text("--image"));
        let plants = arguments.flag("--plant");
        arguments.finish();
        if plants { find(seed, images) } else { power(seed, images, image.as_deref()) }
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

fn power(seed: u64, images: u64, image: Option<&str>) -> Result<bool, String> {
    if let Some(image) = image {
        return Ok(tell_power(&repeat(image)?));
    }
    println!("quads power: seed {seed}");
    let (mut total, start) = (PowerReport::default(), Instant::now());
    for session in 0.. {
        let report = cut_power(seed.wrapping_add(session), OF_ONE.min(images - total.images), false)?;
        total.images += report.images;
        total.rolled_back += report.rolled_back;
        total.failures.extend(report.failures);
        if total.images >= images || total.failures.len() > FAILURES_MAX {
            break;
        }
    }
    println!("{:.0} s", start.elapsed().as_secs_f64());
    Ok(tell_power(&total))
}

fn find(seed: u64, images: u64) -> Result<bool, String> {
    println!("quads power: seed {seed}, pages are not synced before the meta that refers to them");
    let report = find_planted(seed, images)?;
    match report.failures.first() {
        Some(failure) => println!("quads power: found after {} images: {}", report.images, failure.offence),
        None => println!("quads power: NOT found in {} images", report.images),
    }
    Ok(!report.failures.is_empty())
}

fn tell_power(report: &PowerReport) -> bool {
    report.failures.iter().take(FAILURES_MAX).for_each(|failure| println!("{failure}"));
    let PowerReport { images, rolled_back, failures } = report;
    println!(
        "quads power: {images} images recovered, {rolled_back} of them without the last commit, {} wrong",
        failures.len()
    );
    failures.is_empty()
}

fn damage(seed: u64, stores: u64, number: Option<&str>) -> Result<bool, String> {
    let mut report = DamageReport::default();
    if let Some(number) = number {
        let number = number.parse().map_err(|_| format!("--number takes a number, not {number}"))?;
        Damager::new(seed)?.try_damage(number, &mut report);
        return Ok(tell_damage(&report));
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
    Ok(tell_damage(&report))
}

fn tell_damage(report: &DamageReport) -> bool {
    report.failures.iter().take(FAILURES_MAX).for_each(|failure| println!("{failure}"));
    let DamageReport { tried, refused, told, harmless, failures } = report;
    println!(
        "quads damage: {tried} stores, {refused} refused, {told} told by the check, {harmless} harmless, {} harmed",
        failures.len()
    );
    failures.is_empty()
}

const FAILURES_MAX: usize = 20;
