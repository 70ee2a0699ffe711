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

/// Where the library is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Where the others are, unless they are elsewhere.
    pub prefix: PathBuf,
    /// The libraries. `pkgconfig` is in it.
    pub libdir: PathBuf,
    /// The header.
    pub includedir: PathBuf,
    /// A directory that stands for the root of the file system, as packagers want. Empty for the root itself.
    pub destdir: PathBuf,
}

impl Places {
    /// The usual places below a prefix.
    pub fn below(prefix: PathBuf) -> Self {
        Self { libdir: prefix.join("lib"), includedir: prefix.join("include"), prefix, destdir: PathBuf::new() }
    }

    /// Where a file of a place is written.
    fn staged(&self, place: &Path) -> PathBuf {
        if self.destdir.as_os_str().is_empty() {
            return place.to_owned();
        }
        self.destdir.join(place.strip_prefix("/").unwrap_or(place))
    }

    /// The pkg-config file. Directories below the prefix are relative to it, so that the prefix can be replaced.
    fn pkg_config(&self, template: &str, version: &str) -> String {
        let relative = |place: &Path| match place.strip_prefix(&self.prefix) {
            Ok(inside) => format!("${{prefix}}/{}", inside.display()),
            Err(_) => place.display().to_string(),
        };
        template
            .replace("@PREFIX@", &self.prefix.to_string_lossy())
            .replace("@LIBDIR@", &relative(&self.libdir))
            .replace("@INCLUDEDIR@", &relative(&self.includedir))
            .replace("@VERSION@", version)
            .replace("@LIBS_PRIVATE@", LIBS_PRIVATE)
    }
}

/// The libraries of the system that the static library needs: what `rustc --print native-static-libs` says.
const LIBS_PRIVATE: &str = if cfg!(target_os = "macos") { "-lm" } else { "-lpthread -ldl -lm -lrt -lutil -lgcc_s" };

/// Builds the library and installs it for the tests, and returns the prefix.
///
/// # Errors
/// If it cannot be built or installed.
pub fn install(root: &Path, profile: &str) -> Result<PathBuf, Failure> {
    let prefix = directory(root, "c")?;
    install_at(root, profile, &Places::below(prefix.clone()))?;
    Ok(prefix)
}

/// Builds the library and installs it: the header, the static and the shared library, and the pkg-config file.
///
/// # Errors
/// If it cannot be built or installed.
pub fn install_at(root: &Path, profile: &str, places: &Places) -> Result<(), Failure> {
    let packages = if profile == PROFILE_OF_TESTS { CHECKED } else { &["--package", "fulgurite-c"] };
    cargo(root, &[&["build", "--profile", profile, "--lib"], packages].concat())?;
    let built = results(root, profile);
    let (include, lib) = (places.staged(&places.includedir), places.staged(&places.libdir));
    let pkgconfig = lib.join("pkgconfig");
    for place in [&include, &pkgconfig] {
        fs::create_dir_all(place).map_err(|error| failed(place, error))?;
    }
    let header = root.join("bindings/c/include/fulgurite.h");
    copy(&header, &include.join("fulgurite.h"))?;
    copy(&built.join("libfulgurite_c.a"), &lib.join("libfulgurite.a"))?;
    let header = fs::read_to_string(&header).map_err(|error| failed(&header, error))?;
    let (named, plain) = names(abi_version(&header)?);
    copy(&built.join(format!("libfulgurite_c{}", std::env::consts::DLL_SUFFIX)), &lib.join(&named))?;
    link(&named, &lib.join(plain))?;
    let template = root.join("bindings/c/fulgurite.pc.in");
    let text = fs::read_to_string(&template).map_err(|error| failed(&template, error))?;
    replace(&pkgconfig.join("fulgurite.pc"), places.pkg_config(&text, &version(root)?).as_bytes())
}

/// The version of the interface, which is in the name of the shared library (`crates/c/build.rs`).
fn abi_version(header: &str) -> Result<&str, Failure> {
    let version = header.lines().find_map(|line| line.strip_prefix("#define FULGURITE_ABI_VERSION "));
    version.ok_or_else(|| Failure::Failed("fulgurite.h has no FULGURITE_ABI_VERSION".into()))
}

/// The name by which programs load the shared library, and the one by which they are linked with it.
fn names(abi_version: &str) -> (String, &'static str) {
    if cfg!(target_os = "macos") {
        (format!("libfulgurite.{abi_version}.dylib"), "libfulgurite.dylib")
    } else {
        (format!("libfulgurite.so.{abi_version}"), "libfulgurite.so")
    }
}

/// Makes a name for a file beside it.
#[cfg(unix)]
fn link(file: &str, name: &Path) -> Result<(), Failure> {
    let fresh = fresh(name);
    // An interrupted installation may have left it.
    let _ = fs::remove_file(&fresh);
    let made = std::os::unix::fs::symlink(file, &fresh).and_then(|()| fs::rename(&fresh, name));
    made.map_err(|error| failed(name, error))
}

/// Makes a name for a file beside it.
#[cfg(not(unix))]
fn link(file: &str, name: &Path) -> Result<(), Failure> {
    copy(&name.with_file_name(file), name)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let bytes = fs::read(from).map_err(|error| failed(from, error))?;
    replace(to, &bytes)
}

/// Writes a file. A program may run with the file that is there, and another step may write the same one: it is
/// replaced at once.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let fresh = fresh(path);
    fs::write(&fresh, bytes).and_then(|()| fs::rename(&fresh, path)).map_err(|error| failed(path, error))
}

/// A name beside a path that no other process uses.
fn fresh(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{}", std::process::id()));
    path.with_file_name(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packager_chooses_the_places_and_their_root() {
        let template = "prefix=@PREFIX@\nlibdir=@LIBDIR@\nincludedir=@INCLUDEDIR@\nVersion: @VERSION@\n";
        let usual = Places::below("/usr".into());
        assert_eq!(
            usual.pkg_config(template, "0.1.0"),
            "prefix=/usr\nlibdir=${prefix}/lib\nincludedir=${prefix}/include\nVersion: 0.1.0\n"
        );
        assert_eq!(usual.staged(&usual.libdir), Path::new("/usr/lib"));
        let split = Places { libdir: "/lib64".into(), destdir: "/tmp/image".into(), ..usual };
        assert!(split.pkg_config(template, "0.1.0").contains("\nlibdir=/lib64\n"));
        assert_eq!(split.staged(&split.libdir), Path::new("/tmp/image/lib64"));
    }

    #[test]
    fn the_shared_library_has_the_version_of_the_interface_in_its_name() {
        let version = abi_version("/* */\n#define FULGURITE_ABI_VERSION 12\n").unwrap();
        assert!(names(version).0.contains(".12"));
        assert!(abi_version("").is_err());
    }
}
