//! The command that installs the C library, for users and packagers.

use std::path::PathBuf;

use crate::bindings::library::{Places, install_at};
use crate::command::{Command, Failure};
use crate::workspace;

/// `cargo xtask install-c`
pub const INSTALL_C: Command = Command {
    name: "install-c",
    summary: "build and install the C library",
    help: "\
Usage: cargo xtask install-c --prefix DIR [--libdir DIR] [--includedir DIR] [--destdir DIR] [--profile PROFILE]

Builds the C library and installs its header, the static and the shared library, and a pkg-config file. It runs no
tests: `cargo xtask bindings c` does.

  include/fulgurite.h
  lib/libfulgurite.a
  lib/libfulgurite.so.N    N is the version of the interface, FULGURITE_ABI_VERSION: programs that were linked with
                           another one do not load the library; on macOS, libfulgurite.N.dylib
  lib/libfulgurite.so      a link to it
  lib/pkgconfig/fulgurite.pc

Options:
  --prefix DIR        where all of this is installed, such as /usr/local; absolute
  --libdir DIR        where the libraries are installed, such as /usr/lib/x86_64-linux-gnu [default: lib in the prefix]
  --includedir DIR    where the header is installed [default: include in the prefix]
  --destdir DIR       a directory below which all paths are written; no installed file names it
  --profile PROFILE   the profile of cargo [default: release]

Example: cargo xtask install-c --prefix /usr --libdir /usr/lib64 --destdir image",
    run: install_c,
};

fn install_c(arguments: &[String]) -> Result<(), Failure> {
    let (places, profile) = parse(arguments)?;
    if cfg!(windows) {
        return Err(Failure::Unavailable("it installs on Unix".into()));
    }
    install_at(&workspace::root()?, &profile, &places)?;
    println!("installed for the prefix {}", places.prefix.display());
    Ok(())
}

/// Where the library is installed, and the profile.
fn parse(arguments: &[String]) -> Result<(Places, String), Failure> {
    let (mut prefix, mut libdir, mut includedir, mut destdir) = (None, None, None, None);
    let mut profile = "release".to_owned();
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        let (name, given) = argument.split_once('=').map_or((argument, None), |(name, given)| (name, Some(given)));
        let place = match name {
            "--prefix" => Some(&mut prefix),
            "--libdir" => Some(&mut libdir),
            "--includedir" => Some(&mut includedir),
            "--destdir" => Some(&mut destdir),
            "--profile" => None,
            other => return Err(Failure::Usage(format!("`{other}` is no option"))),
        };
        let given = given.or_else(|| arguments.next()).filter(|given| !given.is_empty());
        let given = given.ok_or_else(|| Failure::Usage(format!("{name} needs a value")))?;
        match place {
            Some(place) => *place = Some(PathBuf::from(given)),
            None => given.clone_into(&mut profile),
        }
    }
    let prefix =
        prefix.ok_or_else(|| Failure::Usage("--prefix is missing; name a directory, such as /usr/local".into()))?;
    let usual = Places::below(prefix);
    let places = Places {
        libdir: libdir.unwrap_or(usual.libdir),
        includedir: includedir.unwrap_or(usual.includedir),
        destdir: destdir.unwrap_or(usual.destdir),
        prefix: usual.prefix,
    };
    if ![&places.prefix, &places.libdir, &places.includedir].iter().all(|place| place.is_absolute()) {
        return Err(Failure::Usage("--prefix, --libdir and --includedir are absolute paths".into()));
    }
    Ok((places, profile))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn places_and_a_profile_are_parsed_and_others_refused() {
        let parse = |text: &str| parse(&text.split_whitespace().map(String::from).collect::<Vec<_>>());
        let (places, profile) = parse("--prefix /usr --libdir=/usr/lib64 --destdir image").unwrap();
        assert_eq!((places.includedir.as_path(), profile.as_str()), (Path::new("/usr/include"), "release"));
        assert_eq!((places.libdir.as_path(), places.destdir.as_path()), (Path::new("/usr/lib64"), Path::new("image")));
        for wrong in ["", "--prefix", "--prefix usr", "--prefix=", "--prefix /usr --profile", "/usr"] {
            assert!(matches!(parse(wrong), Err(Failure::Usage(_))), "{wrong}");
        }
    }
}
