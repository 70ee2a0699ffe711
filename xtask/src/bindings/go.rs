//! The Go binding, over the static C library.

use std::path::Path;

use crate::bindings::c::ensure;
use crate::bindings::guide;
use crate::bindings::library::{empty_directory, failed, install};
use crate::command::Failure;
use crate::launch::wait;
use crate::{tools, workspace};

/// Tests the binding.
///
/// # Errors
/// [`Failure::Unavailable`] if there is no Go or C compiler; otherwise what has failed.
pub fn check(root: &Path, profile: &str) -> Result<(), Failure> {
    if cfg!(windows) {
        return Err(Failure::Unavailable("it is tested on Unix".into()));
    }
    let asked = tools::quiet(workspace::child(root, "go", &["version"]));
    asked.map_err(|reason| Failure::Unavailable(format!("{reason}; install Go 1.24 or later (https://go.dev/dl)")))?;
    ensure(root, "cc", "gcc")?;
    let prefix = install(root, profile)?;
    let go = |directory: &Path, arguments: &[&str]| {
        let mut command = workspace::child(root, "go", arguments);
        command.current_dir(directory);
        command.env("CGO_ENABLED", "1").env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
        command.env("CGO_CFLAGS", format!("-I{}", prefix.join("include").display()));
        command.env("CGO_LDFLAGS", format!("-L{}", prefix.join("lib").display()));
        wait(command)
    };
    let module = root.join("bindings/go");
    format_check(root, &module)?;
    go(&module, &["vet", "./..."])?;
    // The library may be another one than that of the last run, which go does not see.
    go(&module, &["test", "-race", "-count=1", "./..."])?;
    let place = empty_directory(root, "go-guide")?;
    let code = guide::program(root, "docs/guide/go.md", "go")?;
    let module_file = format!(
        "module guide\n\ngo 1.24\n\nrequire github.com/fulgurite/fulgurite/bindings/go v0.0.0\n\n\
         replace github.com/fulgurite/fulgurite/bindings/go => {}\n",
        module.display()
    );
    for (name, text) in [("main.go", code), ("go.mod", module_file)] {
        std::fs::write(place.join(name), text).map_err(|error| failed(&place, error))?;
    }
    go(&place, &["run", "."])
}

fn format_check(root: &Path, module: &Path) -> Result<(), Failure> {
    let place = module.to_string_lossy();
    match tools::quiet(workspace::child(root, "gofmt", &["-l", &place])) {
        Ok(files) if files.trim().is_empty() => Ok(()),
        Ok(files) => Err(Failure::Failed(format!("gofmt would change:\n{files}"))),
        Err(reason) => Err(Failure::Unavailable(reason)),
    }
}
