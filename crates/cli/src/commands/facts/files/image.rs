//! `facts image`: compressed images of a database with its incremental databases, or one SquashFS image of all of them.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use fulgurite::{ImageOptions, Monitor};

use super::copy::copy_compact;
use super::stack::{Opened, copy_all, length_of};
use crate::arguments::facts_files::Image;
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Writes images. If one fails, nothing is left.
pub fn run(arguments: &Image) -> Result<(), Failure> {
    if !arguments.block.is_power_of_two() {
        let message = format!("--block {}: not a power of two from 4 to 1024", arguments.block);
        return Err(Failure::Message(message));
    }
    let bytes = match arguments.squashfs {
        true => write_squashfs(arguments)?,
        false => {
            copy_all(&arguments.from, &arguments.to, &mut |source, target| write_image(source, target, arguments))?
        }
    };
    let _ = writeln!(std::io::stderr(), "{}: {}", arguments.to.display(), size(bytes));
    Ok(())
}

fn write_image(source: &Opened, target: &Path, arguments: &Image) -> Result<u64, Failure> {
    let Opened::Engine { database, txn } = source else {
        let message = format!(
            "{}: images of LMDB databases are not supported; use --squashfs, or `fulgurite facts backup`",
            arguments.from.display()
        );
        return Err(Failure::Message(message));
    };
    let options = ImageOptions::new().level(arguments.level).threads(arguments.threads);
    let options = options.block_bytes(arguments.block << 10);
    let monitor = Monitor::new();
    let write = || database.write_snapshot_image(txn, target, &options, &monitor);
    Progress::new("compressing").follow(&monitor, write)?;
    Ok(length_of(target))
}

/// Packs compact copies of all files. The image gets its name when it is complete.
fn write_squashfs(arguments: &Image) -> Result<u64, Failure> {
    let to = &arguments.to;
    if to.exists() {
        return Err(Failure::Message(format!("{}: exists; choose another file", to.display())));
    }
    let name = arguments.from.file_name();
    let name = name.ok_or_else(|| Failure::Message(format!("{}: not a file", arguments.from.display())))?;
    let scratch = Scratch::beside(to)?;
    let copies = scratch.directory.join("files");
    create_directory(&copies)?;
    copy_all(&arguments.from, &copies.join(name), &mut |source, target| copy_compact(source, target, "copying"))?;
    let packed = scratch.directory.join("image");
    pack(&copies, &packed, arguments)?;
    // As all databases and images.
    #[cfg(unix)]
    std::fs::set_permissions(&packed, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .map_err(|error| Failure::file(&packed, "cannot be changed", &error))?;
    // Unlike a rename, a link replaces nothing. Some file systems have no links.
    match std::fs::hard_link(&packed, to) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !to.exists() => std::fs::rename(&packed, to),
        linked => linked,
    }
    .map_err(|error| Failure::file(to, "cannot be written", &error))?;
    Ok(length_of(to))
}

/// Runs `mksquashfs`. It compresses on all processors, and knows every kernel's form.
fn pack(directory: &Path, image: &Path, arguments: &Image) -> Result<(), Failure> {
    let mut command = Command::new(PROGRAM);
    command.arg(directory).arg(image).args(["-comp", "zstd", "-Xcompression-level"]);
    command.arg(arguments.level.to_string()).args(["-b", &format!("{}K", arguments.block)]);
    command.args(["-noappend", "-all-root", "-no-xattrs", "-no-progress", "-quiet"]);
    if arguments.threads > 0 {
        command.args(["-processors", &arguments.threads.to_string()]);
    }
    let output = command.output().map_err(|error| {
        Failure::Message(format!(
            "{PROGRAM} cannot be run: {error}; install it (`apt install squashfs-tools`), or leave out --squashfs"
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::Message(format!("{}: {PROGRAM} failed ({}): {said}", arguments.to.display(), output.status)))
}

/// A directory for unfinished files, which is removed when it is dropped.
struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    /// A new one beside a file, with a name that no other file has.
    fn beside(path: &Path) -> Result<Self, Failure> {
        for number in 0_u64.. {
            let mut name = path.as_os_str().to_owned();
            name.push(format!("-unfinished.{}.{number}", std::process::id()));
            let directory = PathBuf::from(name);
            match create_private(&directory) {
                Ok(()) => return Ok(Self { directory }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::file(&directory, "cannot be created", &error)),
            }
        }
        Err(Failure::Message(format!("{}: no name is free for unfinished files", path.display())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Creates a directory that only its owner can read: `mksquashfs` creates files that all can read.
fn create_private(path: &Path) -> std::io::Result<()> {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "it has no mode"))]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn create_directory(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir(path).map_err(|error| Failure::file(path, "cannot be created", &error))
}

const PROGRAM: &str = "mksquashfs";
