//! `cargo xtask page`: the editor YASGUI for the page of `rdf serve`, from npm, and tries of the pages in a real
//! browser.
//!
//! Nothing of it is committed: the package is fetched in the version, and with the checksum, of
//! `crates/server/yasgui.txt` into target/yasgui, where `crates/server/build.rs` takes it from.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::command::{Command, Failure};
use crate::launch::wait;
use crate::tools::{install_package, quiet};
use crate::workspace;

/// `cargo xtask page`
pub const PAGE: Command = Command {
    name: "page",
    summary: "fetch the editor of the page of `rdf serve`, and try the pages in a browser",
    help: "\
Usage: cargo xtask page [--browser] [--own]

Fetches the SPARQL editor YASGUI from npm into target/yasgui. crates/server/yasgui.txt has the version and checksum.
Builds with the feature `yasgui` embed it: cargo build --release --package fulgurite-cli --features yasgui

Options:
  --browser   build `fulgurite`, and test its pages in Chromium: a query, its rows, an error, an update, and that no
              request leaves the server. Needs Node.js and Chromium. As root, it installs a missing Chromium by
              apt-get. CHROMIUM=PATH names another program
  --own       fetch nothing, and test only the plain page

It is not part of CI: browsers are large.",
    run: page,
};

fn page(arguments: &[String]) -> Result<(), Failure> {
    let known = ["--browser", "--own"];
    if let Some(unknown) = arguments.iter().find(|argument| !known.contains(&argument.as_str())) {
        return Err(Failure::Usage(format!("no option `{unknown}`")));
    }
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let root = workspace::root()?;
    if !has("--own") {
        let place = ensure_yasgui(&root).map_err(Failure::Failed)?;
        eprintln!("YASGUI is in {}", place.display());
    }
    if has("--browser") { try_in_browser(&root, has("--own")) } else { Ok(()) }
}

/// Makes sure that the package is below target/, whole, and returns where.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
fn ensure_yasgui(root: &Path) -> Result<PathBuf, String> {
    const HELP: &str = "install Node.js with npm, which needs the registry of npm or a mirror of it";
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let pin = root.join("crates").join("server").join(PIN);
    let wanted = std::fs::read_to_string(&pin).map_err(|error| failed(&pin, error))?;
    let (package, checksum) =
        parse_pin(&wanted).ok_or_else(|| format!("{}: no package and checksum", pin.display()))?;
    let place = root.join("target").join("yasgui");
    if std::fs::read_to_string(place.join(PIN)).is_ok_and(|found| found == wanted) {
        return Ok(place);
    }
    eprintln!("fetching {package} into target/yasgui");
    if place.exists() {
        std::fs::remove_dir_all(&place).map_err(|error| failed(&place, error))?;
    }
    std::fs::create_dir_all(&place).map_err(|error| failed(&place, error))?;
    let directory = place.to_string_lossy();
    let pack = ["pack", package, "--json", "--silent", "--ignore-scripts", "--pack-destination", &directory];
    let report = quiet(workspace::child(root, NPM, &pack)).map_err(|reason| format!("{reason}; {HELP}"))?;
    let archive = field(&report, "filename").ok_or("npm did not report what it fetched")?;
    let archive = place.join(archive.rsplit('/').next().unwrap_or(archive)).to_string_lossy().into_owned();
    // The files themselves, not the report of npm.
    let found = quiet(workspace::child(root, "node", &["--eval", CHECKSUM, &archive]))?;
    if found.trim() != checksum {
        std::fs::remove_dir_all(&place).map_err(|error| failed(&place, error))?;
        return Err(format!(
            "{package} has the checksum {}, not {checksum}: it is not the reviewed package; do not use it",
            found.trim()
        ));
    }
    let inside = ["package/build/yasgui.min.js", "package/build/yasgui.min.css"];
    let unpack = [&["-xzf", &archive, "-C", &directory, "--strip-components=2"][..], &inside].concat();
    quiet(workspace::child(root, "tar", &unpack))?;
    std::fs::remove_file(&archive).map_err(|error| failed(Path::new(&archive), error))?;
    // Last: what is not whole is fetched again.
    std::fs::write(place.join(PIN), &wanted).map_err(|error| failed(&place, error))?;
    Ok(place)
}

/// Package with version, and checksum.
fn parse_pin(text: &str) -> Option<(&str, &str)> {
    let (package, checksum) = text.trim().split_once(' ')?;
    (package.contains('@') && checksum.starts_with("sha512-")).then_some((package, checksum))
}

/// A text of an object in JSON, without escapes.
fn field<'t>(json: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = json.split_once(&format!("\"{name}\""))?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split_once('"').map(|(value, _)| value)
}

fn try_in_browser(root: &Path, own_alone: bool) -> Result<(), Failure> {
    let chromium = ensure_chromium(root).map_err(Failure::Failed)?;
    let program = build(root, own_alone)?;
    let scratch = root.join("target").join("page");
    let script = root.join("xtask").join("page").join("tries.mjs");
    let (script, scratch) = (script.to_string_lossy(), scratch.to_string_lossy());
    let pages: &[&str] = if own_alone { &["own=/"] } else { &["yasgui=/", "own=/plain"] };
    wait(workspace::child(root, "node", &[&[&*script, &*program, &*chromium, &*scratch], pages].concat()))
}

/// Builds the command line with the profile of the tests, and returns where it is.
fn build(root: &Path, own_alone: bool) -> Result<String, Failure> {
    let mut arguments = vec!["build", "--locked", "--profile", "test", "--bin", "fulgurite"];
    if !own_alone {
        arguments.extend(["--features", "fulgurite-cli/yasgui"]);
    }
    arguments.push("--message-format=json-render-diagnostics");
    let mut command = workspace::child(root, "cargo", &arguments);
    let shown = workspace::shown(&command);
    eprintln!("$ {shown}");
    let failed = |error: std::io::Error| Failure::Failed(format!("`{shown}`: {error}"));
    let output = command.stderr(Stdio::inherit()).output().map_err(failed)?;
    if !output.status.success() {
        return Err(Failure::Failed(format!("`{shown}` failed, see above")));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let program =
        messages.lines().rev().find_map(|line| field(line, "executable")).map(|path| path.replace("\\\\", "\\"));
    program.ok_or_else(|| Failure::Failed(format!("`{shown}` did not report where the program is")))
}

/// Makes sure that there is a Chromium, and returns its program.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
fn ensure_chromium(root: &Path) -> Result<String, String> {
    if let Ok(named) = std::env::var("CHROMIUM") {
        return version_of(root, &named).map(|()| named);
    }
    let find = || CHROMIUMS.iter().find(|name| version_of(root, name).is_ok()).map(|name| (*name).to_owned());
    if let Some(found) = find() {
        return Ok(found);
    }
    let help = "install Chromium (on Debian, `apt-get install chromium`), or name it by CHROMIUM=PATH";
    install_package(root, "chromium").map_err(|reason| format!("{reason}; {help}"))?;
    find().ok_or_else(|| format!("the package chromium contains no program that runs; {help}"))
}

fn version_of(root: &Path, program: &str) -> Result<(), String> {
    quiet(workspace::child(root, program, &["--version"])).map(drop)
}

/// The file that says which package is meant, here and beside what was fetched.
const PIN: &str = "yasgui.txt";
const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
/// Prints the checksum of a file as npm writes it.
const CHECKSUM: &str = "const { createHash } = require('crypto'); \
     console.log('sha512-' + createHash('sha512').update(require('fs').readFileSync(process.argv[1])).digest('base64'))";
const CHROMIUMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_pinned_by_version_and_checksum() {
        let root = workspace::root().expect("cargo runs this test");
        let text = std::fs::read_to_string(root.join("crates/server").join(PIN)).expect("it is committed");
        let (package, checksum) = parse_pin(&text).expect("both are there");
        let (_, version) = package.rsplit_once('@').expect("a version");
        assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{version} is one version");
        assert_eq!(checksum.len(), "sha512-".len() + 88);
        assert_eq!(parse_pin("@zazuko/yasgui@4 md5-abc"), None);
    }

    #[test]
    fn texts_are_found_in_what_programs_report() {
        let report = r#"[{ "id": "a@1", "filename" : "a-1.tgz" }]"#;
        assert_eq!(field(report, "filename"), Some("a-1.tgz"));
        assert_eq!(field(report, "executable"), None);
        assert_eq!(field(r#"{"executable":null}"#, "executable"), None);
    }

    #[test]
    fn unknown_options_are_refused() {
        assert!(matches!(page(&["--browsers".into()]), Err(Failure::Usage(_))));
    }
}
