//! The proof of databases of facts as a program: `facts [ARGUMENTS]`.

use std::process::ExitCode;

use fulgurite_facts_testkit::FactSession;
use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::cuts::{run_cuts, run_planted};
use fulgurite_testkit::drawn_seed;

const HELP: &str = "\
Proof of databases of facts: what power cuts leave of a database that is written, completed, backed up and stacked on.

Usage: facts [--images N] [--seed S] [--image ID] [--plant]

Records the disk under random batches, checkpoints, reopenings, a completion, a backup, a stacked database and an image. Each
disk that a power cut may leave must open with the facts after some batch that is not older than the last durable one, with units
that own the right ones, derived ones too; and it must take another batch and be completed, unless it is complete. A backup or an
image that opens must be whole, and so must the batch of the stacked database, if it is there.

  --images N  images to recover (default 4000), of several sessions
  --image ID  only this image, as a failure names it
  --plant     plant a fault in the engine, which must be found
  --seed S    seed of the sessions (default: drawn)
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let seed = arguments.number("--seed", drawn_seed());
    let (images, image) = (arguments.number("--images", 4000), arguments.text("--image"));
    let plants = arguments.flag("--plant");
    arguments.finish();
    let result = match plants {
        true => run_planted::<FactSession>(seed, images),
        false => run_cuts::<FactSession>(seed, images, image.as_deref()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("facts: {message}");
            ExitCode::from(2)
        }
    }
}
