//! Compares `bindings/c/include/fulgurite.h` with what cbindgen makes of `crates/c`. With `--write`, writes it.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// The files with functions and types of C, in the order of the header.
const SOURCES: [&str; 14] = [
    "code",
    "arguments",
    "handles",
    "merge_functions",
    "options",
    "databases",
    "tables",
    "transactions",
    "reads",
    "writes",
    "cursors",
    "bulk",
    "changes",
    "maintenance",
];

fn made(library: &Path) -> Result<String, Box<dyn Error>> {
    let mut builder = cbindgen::Builder::new();
    for source in SOURCES {
        builder = builder.with_src(library.join("src").join(source).with_extension("rs"));
    }
    let bindings = builder.with_config(cbindgen::Config::from_file(library.join("cbindgen.toml"))?).generate()?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    Ok(String::from_utf8(header)?)
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let place = root.join("bindings/c/include/fulgurite.h");
    let header = made(&root.join("crates/c"))?;
    if std::env::args().any(|argument| argument == "--write") {
        std::fs::write(&place, header)?;
        return Ok(ExitCode::SUCCESS);
    }
    if std::fs::read_to_string(&place)? == header {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("bindings/c/include/fulgurite.h is not that of crates/c");
    eprintln!("write it by: cargo run -p fulgurite-c-header -- --write");
    Ok(ExitCode::FAILURE)
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("the header cannot be made: {error}");
        ExitCode::FAILURE
    })
}
