//! Compares `bindings/c/include/fulgurite.h` with what cbindgen makes of `crates/c`. With `--write`, writes it.
//!
//! The header's declarations and `FULGURITE_ABI_VERSION` change together: `crates/c/abi.txt` has the version and a hash
//! of the declarations that it stands for.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// The files with functions and types of C, in the order of the header.
const SOURCES: [&str; 22] = [
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
    "events/held",
    "events/store",
    "events/queries",
    "events/appending",
    "events/streams",
    "events/reading",
    "events/following",
    "events/consumers",
];

/// The beginning of the header's line with the version of the interface.
const VERSION: &str = "#define FULGURITE_ABI_VERSION ";

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

/// The version of the interface, and a hash (FNV-1a) of the declarations without it and without comments.
fn interface(header: &str) -> (&str, String) {
    let (mut version, mut hash) = ("", 0xcbf2_9ce4_8422_2325_u64);
    for line in header.lines().map(str::trim) {
        if let Some(number) = line.strip_prefix(VERSION) {
            version = number;
        } else if !["//", "/*", "*"].iter().any(|beginning| line.starts_with(beginning)) {
            for byte in line.bytes().chain([b'\n']) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    (version, format!("{hash:016x}"))
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (place, record) = (root.join("bindings/c/include/fulgurite.h"), root.join("crates/c/abi.txt"));
    let header = made(&root.join("crates/c"))?;
    let (version, hash) = interface(&header);
    let recorded = std::fs::read_to_string(&record)?;
    let (recorded_version, recorded_hash) = recorded.trim().split_once(' ').unwrap_or_default();
    if hash != recorded_hash && version == recorded_version {
        eprintln!("the declarations of crates/c have changed, and FULGURITE_ABI_VERSION is still {version}");
        eprintln!("raise it in crates/c/src/databases.rs, then run: cargo run -p fulgurite-c-header -- --write");
        return Ok(ExitCode::FAILURE);
    }
    let now = format!("{version} {hash}\n");
    if std::env::args().any(|argument| argument == "--write") {
        std::fs::write(&place, header)?;
        std::fs::write(&record, now)?;
        return Ok(ExitCode::SUCCESS);
    }
    if recorded == now && std::fs::read_to_string(&place)? == header {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("bindings/c/include/fulgurite.h or crates/c/abi.txt is not that of crates/c");
    eprintln!("write them by: cargo run -p fulgurite-c-header -- --write");
    Ok(ExitCode::FAILURE)
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("the header cannot be made: {error}");
        ExitCode::FAILURE
    })
}
