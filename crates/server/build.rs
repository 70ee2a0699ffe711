//! With the feature `yasgui`: puts the editor that `cargo xtask page` has fetched where `page` embeds it from. It is
//! looked for in the directory that `FULGURITE_YASGUI` names, or else in `target/yasgui` of the workspace, with a copy
//! of `yasgui.txt` beside it that says which it is.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Package, version and checksum.
const WANTED: &str = include_str!("yasgui.txt");
const FILES: [&str; 2] = ["yasgui.min.js", "yasgui.min.css"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=yasgui.txt");
    println!("cargo::rerun-if-env-changed=FULGURITE_YASGUI");
    if env::var_os("CARGO_FEATURE_YASGUI").is_none() {
        return;
    }
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let usual = || package.join("..").join("..").join("target").join("yasgui");
    let fetched = env::var_os("FULGURITE_YASGUI").map_or_else(usual, PathBuf::from);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    if let Err(reason) = copy(&fetched, &out) {
        let mend = "run `cargo xtask page`, which fetches it from npm, or build without the feature `yasgui`";
        println!("cargo::error=the editor YASGUI is not there: {reason}; {mend}");
    }
}

fn copy(fetched: &Path, out: &Path) -> Result<(), String> {
    let place = |name: &str| {
        let path = fetched.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        path
    };
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let version = place("yasgui.txt");
    let found = fs::read_to_string(&version).map_err(|error| failed(&version, error))?;
    if found != WANTED {
        return Err(format!("{} has {}, and this needs {}", fetched.display(), found.trim(), WANTED.trim()));
    }
    for name in FILES {
        let path = place(name);
        fs::copy(&path, out.join(name)).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
