//! Writes the golden databases as a program: `golden --out DIRECTORY`.

use std::path::Path;
use std::process::ExitCode;

use fulgurite_testkit::arguments::Arguments;
use fulgurite_testkit::golden;

const HELP: &str = "\
Writes the golden databases, compressed, and what they hold as NDJSON. Files that are there are not replaced: those of
crates/engine/tests/golden/ stay as the version wrote them that the directory names.

Usage: golden --out DIRECTORY

  --out DIRECTORY  where they go; it must exist
";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_env(HELP);
    let out = arguments.text("--out");
    arguments.finish();
    let Some(out) = out else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    let all = match golden::all() {
        Ok(all) => all,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for golden in all {
        if let Err(error) = golden.write_to(Path::new(&out)) {
            eprintln!("{out}: {}: {error}", golden.name);
            return ExitCode::FAILURE;
        }
        let bytes: usize = golden.files.values().map(Vec::len).sum();
        println!(
            "{}: {} files, {bytes} bytes, {} lines",
            golden.name,
            golden.files.len(),
            golden.lines.lines().count()
        );
    }
    ExitCode::SUCCESS
}
