//! The C library: building it, and where it is installed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;
use crate::launch::cargo;
use crate::workspace::{CHECKED, PROFILE_OF_TESTS, results, target};

/// A directory for results of the bindings, which is created.
///
/// # Errors
/// If it cannot be created.
pub fn directory(root: &Path, name: &str) -> Result<PathBuf, Failure> {
    let place = target(root).join("bindings").join(name);
    fs::create_dir_all(&place).map_err(|error| failed(&place, error))?;
    Ok(place)
}

/// An empty directory for the files of tests.
///
/// # Errors
/// If it cannot be emptied or created.
pub fn empty_directory(root: &Path, name: &str) -> Result<PathBuf, Failure> {
    let place = directory(root, name)?;
    fs::remove_dir_all(&place).map_err(|error| failed(&place, error))?;
    directory(root, name)
}

/// A failure at a path.
pub fn failed(path: &Path, error: std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// Builds the library and installs it, and returns the prefix: `include`, `lib` and `lib/pkgconfig` are in it.
///
/// # Errors
/// If it cannot be built or installed.
pub fn install(root: &Path, profile: &str) -> Result<PathBuf, Failure> {
    let packages = if profile == PROFILE_OF_TESTS { CHECKED } else { &["--package", "fulgurite-c"] };
    cargo(root, &[&["build", "--profile", profile, "--lib"], packages].concat())?;
    let prefix = directory(root, "c")?;
    let built = results(root, profile);
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    let pkgconfig = lib.join("pkgconfig");
    for place in [&include, &pkgconfig] {
        fs::create_dir_all(place).map_err(|error| failed(place, error))?;
    }
    let header = root.join("bindings/c/include/fulgurite.h");
    copy(&header, &include.join("fulgurite.h"))?;
    copy(&built.join("libfulgurite_c.a"), &lib.join("libfulgurite.a"))?;
    let shared = if cfg!(target_os = "macos") {
        ["libfulgurite.1.dylib", "libfulgurite.dylib"]
    } else {
        ["libfulgurite.so.1", "libfulgurite.so"]
    };
    let suffix = std::env::consts::DLL_SUFFIX;
    for name in shared {
        copy(&built.join(format!("libfulgurite_c{suffix}")), &lib.join(name))?;
    }
    let template = root.join("bindings/c/fulgurite.pc.in");
    let text = fs::read_to_string(&template).map_err(|error| failed(&template, error))?;
    let text = text.replace("@PREFIX@", &prefix.to_string_lossy()).replace("@VERSION@", &version(root)?);
    let place = pkgconfig.join("fulgurite.pc");
    replace(&place, text.as_bytes())?;
    Ok(prefix)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let bytes = fs::read(from).map_err(|error| failed(from, error))?;
    replace(to, &bytes)
}

/// Writes a file. A program may run with the file that is there, and another step may write the same one: it is
/// replaced at once.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{}", std::process::id()));
    let fresh = path.with_file_name(name);
    fs::write(&fresh, bytes).and_then(|()| fs::rename(&fresh, path)).map_err(|error| failed(path, error))
}

/// The version of the workspace.
fn version(root: &Path) -> Result<String, Failure> {
    let path = root.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
    let line = text.lines().find(|line| line.starts_with("version = "));
    line.and_then(|line| line.split('"').nth(1))
        .map(String::from)
        .ok_or_else(|| Failure::Failed(format!("{}: no version", path.display())))
}
