//! Opening regular files: without following a link, and on local file systems only.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Whether the path names the file that is open here, without following a link.
pub(super) fn is_named(file: &fs::File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens what must be a regular file, and no link. The caller chooses access and creation in `options`.
pub(super) fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<fs::File> {
    // NONBLOCK, so that opening a named pipe returns instead of waiting for its other end; regular files ignore it.
    let options = options.mode(0o600).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK));
    let file = options.open(path).map_err(|error| {
        if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            return io::Error::new(io::ErrorKind::InvalidInput, "is a symbolic link; name the file that it points to");
        }
        error
    })?;
    let found = file.metadata()?.file_type();
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    Ok(file)
}

/// Refuses file systems on which a lock or a map of one machine means nothing to another.
pub(super) fn refuse_network_file_system(file: &fs::File) -> io::Result<()> {
    let magic = rustix::fs::fstatfs(file)?.f_type as u64;
    // The field is signed on some platforms; its magic numbers have 32 bits.
    if NETWORK_FILE_SYSTEMS.contains(&(magic & 0xffff_ffff)) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "is on a network file system, whose locks and maps cannot be trusted; keep it on a local disk",
        ));
    }
    Ok(())
}

/// Flags as std takes them: it adds `O_CLOEXEC` itself.
pub(super) fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// NFS, SMB, CIFS, SMB 2, AFS and Ceph, from `linux/magic.h`.
const NETWORK_FILE_SYSTEMS: [u64; 6] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x5346_414f, 0x00c3_6400];
