//! The input of the index: what rust-analyzer writes of the crate `keys` now, or what it wrote of it once.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flate2::bufread::MultiGzDecoder;

use crate::error::Result;

/// A file of SCIP.
pub struct Indexed {
    /// The file.
    pub scip: PathBuf,
    /// The directory of the sources that it is about.
    pub sources: PathBuf,
    /// For the report: where it comes from.
    pub told: String,
    /// The directory that has both.
    pub scratch: Scratch,
}

/// A directory that is removed when it is dropped.
pub struct Scratch(PathBuf);

/// Runs rust-analyzer, or unpacks the sample: if that is wanted, or there is no rust-analyzer, or it fails or takes too
/// long.
pub fn scip(sample: &Path, beside: &Path, uses_sample: bool) -> Result<Indexed> {
    let scratch = Scratch::beside(beside)?;
    let (scip, sources) = (scratch.0.join("keys.scip"), scratch.0.join("sources"));
    let why = match uses_sample {
        true => "chosen by --code-sample".to_owned(),
        false => match repository(sample).ok_or_else(|| "the repository is not there".to_owned()) {
            Err(why) => why,
            Ok(repository) => match run_indexer(&repository, &sources, &scip) {
                Ok(()) => {
                    let told = "rust-analyzer, run on the crate keys of this repository".to_owned();
                    return Ok(Indexed { scip, sources, told, scratch });
                }
                Err(error) => error.to_string(),
            },
        },
    };
    // The sample is of other sources than those that may have been copied.
    let _ = std::fs::remove_dir_all(&sources);
    let packed = File::open(sample).map_err(|error| format!("{}: cannot be read: {error}", sample.display()))?;
    let mut unpacked = File::create(&scip).map_err(|error| format!("{}: {error}", scip.display()))?;
    io::copy(&mut MultiGzDecoder::new(BufReader::new(packed)), &mut unpacked)
        .map_err(|error| format!("{}: cannot be unpacked: {error}", sample.display()))?;
    Ok(Indexed { scip, sources, told: format!("the index of crate keys in data/code ({why})"), scratch })
}

/// The repository that the data is part of.
fn repository(sample: &Path) -> Option<PathBuf> {
    let root = sample.ancestors().nth(3)?.to_owned();
    let root = if root.as_os_str().is_empty() { PathBuf::from(".") } else { root };
    root.join(CRATE).join("Cargo.toml").is_file().then_some(root)
}

/// Indexes a workspace of the crate alone: the whole repository would take minutes.
fn run_indexer(repository: &Path, sources: &Path, scip: &Path) -> Result<()> {
    let mut asked = Command::new(INDEXER);
    asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !asked.status().is_ok_and(|status| status.success()) {
        return Err("there is no rust-analyzer: rustup component add rust-analyzer".into());
    }
    copy_workspace(repository, sources)?;
    let mut command = Command::new(INDEXER);
    command.args(["scip", ".", "--output"]).arg(std::path::absolute(scip)?).current_dir(sources);
    // It runs cargo, which would wait for another one that builds in the same directory.
    command.env("CARGO_TARGET_DIR", std::path::absolute(sources.join("target"))?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let (begun, mut child) = (Instant::now(), command.spawn()?);
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(()) } else { Err(format!("rust-analyzer failed: {status}").into()) };
        }
        if begun.elapsed() > TIME_MAX {
            kill_group(&mut child)?;
            return Err(format!("rust-analyzer took more than {} seconds", TIME_MAX.as_secs()).into());
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Ends a program and those that it runs, such as cargo, which would write into the directory that is removed.
fn kill_group(child: &mut Child) -> Result<()> {
    #[cfg(unix)]
    Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status()?;
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Copies the crate, with a manifest of the workspace that has no other member.
fn copy_workspace(repository: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    let manifest = std::fs::read_to_string(repository.join("Cargo.toml"))?;
    let lines = manifest.lines().filter(|line| !line.starts_with("default-members"));
    let lines =
        lines.map(|line| if line.starts_with("members") { format!("members = [\"{CRATE}\"]") } else { line.into() });
    std::fs::write(to.join("Cargo.toml"), lines.collect::<Vec<_>>().join("\n"))?;
    std::fs::copy(repository.join("Cargo.lock"), to.join("Cargo.lock"))?;
    copy_directory(&repository.join(CRATE), &to.join(CRATE))
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

impl Scratch {
    fn beside(path: &Path) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push("-sources");
        // One that is there already may be the user's, and stays.
        for number in 0_u64.. {
            let mut numbered = name.clone();
            numbered.push(format!(".{}.{number}", std::process::id()));
            let scratch = PathBuf::from(numbered);
            match std::fs::create_dir(&scratch) {
                Ok(()) => return Ok(Self(scratch)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{}: cannot be created: {error}", scratch.display()).into()),
            }
        }
        Err("no name is free for the sources".into())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const INDEXER: &str = "rust-analyzer";
/// The crate that is indexed, below the root of the repository.
const CRATE: &str = "crates/keys";
const TIME_MAX: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_are_there_stay() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("demo-code.ful");
        let first = Scratch::beside(&path).expect("a directory");
        std::fs::write(first.0.join("kept"), "").expect("a file");
        drop(Scratch::beside(&path).expect("another directory"));
        assert!(first.0.join("kept").is_file());
        drop(first);
        assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }
}
