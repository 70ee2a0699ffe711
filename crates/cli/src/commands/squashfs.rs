//! SquashFS images: compact copies of databases in one file, which Linux mounts.

use std::path::Path;
use std::process::Command;

use crate::commands::scratch::{Scratch, place, sync_directory_of};
use crate::failure::Failure;

/// How an image is compressed.
#[derive(Clone, Copy)]
pub struct Packing {
    /// The level of Zstandard.
    pub level: i32,
    /// The size of a block in KiB.
    pub block: u32,
    /// The number of threads; 0 is one for each processor.
    pub threads: usize,
}

/// Packs the files that `copy` writes: one at the path that it is called with, which has the name of `from`, and others
/// beside that. The image gets its name when it is complete. Returns the length of the image.
///
/// # Errors
/// If there is a file at `to`, or another process writes one; if the block is of a wrong size; if `mksquashfs` is
/// missing, or fails; those of `copy`.
pub fn write(
    from: &Path,
    to: &Path,
    packing: Packing,
    copy: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    require_power_of_two(packing.block)?;
    if to.exists() {
        let message = "a file is there already; choose another name, or move it away";
        return Err(Failure::Message(format!("{}: {message}", to.display())));
    }
    let name = from.file_name().ok_or_else(|| Failure::Message(format!("{}: not a file", from.display())))?;
    let scratch = Scratch::beside(to)?;
    // A relative path may begin with `-`, as options of `mksquashfs` do.
    let unfinished =
        std::path::absolute(scratch.path()).map_err(|error| Failure::file(to, "cannot be found", &error))?;
    let copies = unfinished.join("files");
    std::fs::create_dir(&copies).map_err(|error| Failure::file(to, "cannot be created", &error))?;
    copy(&copies.join(name))?;
    let packed = unfinished.join("image");
    pack(&copies, &packed, to, packing)?;
    // As all databases and images.
    #[cfg(unix)]
    std::fs::set_permissions(&packed, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .map_err(|error| Failure::file(&packed, "cannot be changed", &error))?;
    // `mksquashfs` does not sync. After a power cut, there is a complete image or none.
    let synced = std::fs::File::options().write(true).open(&packed).and_then(|file| file.sync_all());
    synced.map_err(|error| Failure::file(&packed, "cannot be synced", &error))?;
    place(&packed, to)?;
    sync_directory_of(to).inspect_err(|_| drop(std::fs::remove_file(to)))?;
    Ok(std::fs::metadata(to).map_or(0, |metadata| metadata.len()))
}

/// # Errors
/// If blocks of an image cannot have this size, in KiB.
pub fn require_power_of_two(block: u32) -> Result<(), Failure> {
    match block.is_power_of_two() {
        true => Ok(()),
        false => Err(Failure::Message(format!("--block {block}: not a power of two from 4 to 1024"))),
    }
}

/// Runs `mksquashfs`, for the image that gets the name `to`. It compresses on all processors, and knows every kernel's
/// form.
fn pack(directory: &Path, image: &Path, to: &Path, packing: Packing) -> Result<(), Failure> {
    let mut command = Command::new(PROGRAM);
    command.arg(directory).arg(image).args(["-comp", "zstd", "-Xcompression-level"]);
    command.arg(packing.level.to_string()).args(["-b", &format!("{}K", packing.block)]);
    command.args(["-noappend", "-all-root", "-no-xattrs", "-no-progress", "-quiet"]);
    if packing.threads > 0 {
        command.args(["-processors", &packing.threads.to_string()]);
    }
    let output = command.output().map_err(|error| {
        Failure::Message(format!(
            "{PROGRAM} cannot be run: {error}; install it (`apt install squashfs-tools`), or leave out --squashfs"
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // Its usage may follow.
    let said = said.trim().lines().next().unwrap_or_default();
    Err(Failure::Message(format!("{}: {PROGRAM} failed ({}): {said}", to.display(), output.status)))
}

const PROGRAM: &str = "mksquashfs";
