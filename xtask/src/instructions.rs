//! `cargo xtask instructions`: the instructions that operations take, counted under valgrind, against the table that is
//! committed.

use std::path::Path;

use crate::command::{Command, Failure};
use crate::{launch, tools, workspace};

/// `cargo xtask instructions`
pub const INSTRUCTIONS: Command = Command {
    name: "instructions",
    summary: "count the instructions of gets, puts, scans and queries, and compare them with a table",
    help: "\
Usage: cargo xtask instructions [--accept]

Runs operations under valgrind with every page search that valgrind supports (it has no AVX-512), and compares their
instruction counts with proofs/instructions/instructions.txt. Fails if a count is missing there or is more than 3 %
higher, and prints which counts can be lowered. As root, it installs a missing valgrind by apt-get.

Options:
  --accept   write the counts of this run into the table, instead of comparing",
    run: |arguments| match arguments {
        [] => check(&workspace::root()?),
        [accept] if accept == "--accept" => count(&workspace::root()?, &["--accept"]),
        _ => Err(Failure::Usage("only --accept is understood".into())),
    },
};

/// Counts, and compares with the table.
pub fn check(root: &Path) -> Result<(), Failure> {
    count(root, &[])
}

fn count(root: &Path, options: &[&str]) -> Result<(), Failure> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Failure::Unavailable("the table of counts is for Linux on x86-64".into()));
    }
    tools::ensure_valgrind(root).map_err(Failure::Unavailable)?;
    let table = root.join(TABLE);
    let table = table.to_string_lossy();
    // The engine as users build it. Of the store of quads that takes minutes, so it is counted as the tests have built
    // it.
    let engine = [
        &["run", "--release", "--package", PACKAGE, "--no-default-features", "--", "engine"],
        &["--table", &*table][..],
        options,
    ]
    .concat();
    let quads = [&["quads", "--table", &*table], options].concat();
    launch::cargo(root, &engine).and(launch::run_of_tests(root, PACKAGE, &quads))
}

const PACKAGE: &str = "fulgurite-instructions";
const TABLE: &str = "proofs/instructions/instructions.txt";
