//! The one thing that is built rather than measured: the command line as it is released.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// Builds the release binary of the command line next to this program, and says where it is.
pub fn build() -> Result<PathBuf> {
    let what = || "building the command line".to_owned();
    let program = std::env::current_exe().map_err(|error| Error::io("find", Path::new("this program"), error))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let status = Command::new(&cargo)
        .args(["build", "--quiet", "--release", "--package", "fulgurite-cli", "--manifest-path"])
        .arg(&manifest)
        .status()
        .map_err(|error| Error::io("start", Path::new(&cargo), error))?;
    if !status.success() {
        return Err(Error::Child { what: what(), outcome: status.to_string() });
    }
    let binary = program.with_file_name("fulgurite");
    match binary.exists() {
        true => Ok(binary),
        false => Err(Error::Child { what: what(), outcome: format!("{} does not exist", binary.display()) }),
    }
}
