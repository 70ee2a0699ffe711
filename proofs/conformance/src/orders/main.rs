//! The order of terms and the comparisons of values, beside Oxigraph's evaluation: `orders`.
//!
//! Reading order: [`terms`] (what is compared), [`engines`] (who compares), [`check`] (what must agree).

mod check;
mod engines;
mod terms;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::process::ExitCode;

use check::Report;
use engines::Engines;
use terms::Random;

const HELP: &str = "\
Sorts random terms with Fulgurite's RDF store, and compares them in pairs with the store and with Oxigraph's evaluation.

Usage: orders [--worlds N] [--seed S]

  --worlds N  lists of terms [default: 300]
  --seed S    the seed of the terms [default: drawn, and printed]

The order must not depend on the order of the input, DESC must reverse it, and no term may come before one that is less
for Oxigraph. Where Oxigraph has a result of =, !=, <, <=, > or >=, the store must have the same, but for two cases:
times with and without a zone by = and !=, and NaN beside itself by <= and >=, which must be false.
";

/// What the command line asks for.
struct Wanted {
    worlds: u64,
    seed: u64,
}

fn main() -> ExitCode {
    match arguments().map(|wanted| wanted.map(|wanted| prove(&wanted))) {
        Ok(None) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Some(Ok(true))) => ExitCode::SUCCESS,
        Ok(Some(Ok(false))) => ExitCode::FAILURE,
        Ok(Some(Err(reason))) => {
            eprintln!("orders: {reason}");
            ExitCode::FAILURE
        }
        Err(offence) => {
            eprintln!("orders: {offence}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Option<Wanted>, String> {
    let mut wanted = Wanted { worlds: 300, seed: RandomState::new().build_hasher().finish() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            let text = words.next().ok_or_else(|| format!("{word} takes a number"))?;
            text.parse().map_err(|_| format!("{word} takes a number, not `{text}`"))
        };
        match word.as_str() {
            "--help" => return Ok(None),
            "--worlds" => wanted.worlds = number()?,
            "--seed" => wanted.seed = number()?,
            _ => return Err(format!("unknown argument `{word}`")),
        }
    }
    Ok(Some(wanted))
}

/// Prints what was compared, and returns whether everything agrees.
fn prove(wanted: &Wanted) -> Result<bool, String> {
    let Wanted { worlds, seed } = *wanted;
    let engines = Engines::new()?;
    let mut report = Report::default();
    for world in 0..worlds {
        let mut random = Random::new(seed.wrapping_add(world));
        let terms = terms::list(&mut random);
        if let Some(difference) = check::world(&engines, &terms, &mut report)? {
            println!("orders: seed {seed}, world {world}: {difference}");
            println!("to repeat it: --worlds 1 --seed {}", seed.wrapping_add(world));
            report.differences += 1;
        }
    }
    println!(
        "orders: seed {seed}, {worlds} worlds: {} comparisons, {} of them decided by Oxigraph, {} differences",
        report.comparisons, report.decided, report.differences
    );
    let is_enough = report.decided * 10 > report.comparisons;
    if !is_enough {
        println!("orders: too few comparisons were decided, so this proves nothing");
    }
    Ok(is_enough && report.differences == 0)
}
