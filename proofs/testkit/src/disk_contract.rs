//! What every `Disk` must do: one check that runs over all implementations.

use std::io::{self, ErrorKind};
use std::path::Path;

use fulgurite::io::{Access, Disk, File, LockHolder, WriterAttempt, WriterLock};

/// Goes through the contract of `Disk`, `File` and the locks, in a directory that exists and is empty. Embedders who
/// write a disk of their own can hold it against this.
///
/// # Errors
/// Those of the disk, where it had no reason for one.
///
/// # Panics
/// If the disk breaks its contract.
pub fn check_disk_contract(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    check_names(disk, directory)?;
    check_bytes(disk, directory)?;
    check_lengths(disk, directory)?;
    check_preparing(disk, directory)?;
    check_open_files_outlive_names(disk, directory)?;
    check_writer_lock(disk, directory)?;
    check_file_locks(disk, directory)?;
    check_pins(disk, directory)?;
    check_own_names(disk, directory)?;
    assert!(disk.list(directory)?.is_empty(), "a clean close removes the lock file");
    Ok(())
}

fn check_names(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let (a, b, c) = (directory.join("a"), directory.join("b"), directory.join("c"));
    assert_eq!(kind(disk.open(&a, Access::Read)), ErrorKind::NotFound);
    assert_eq!(kind(disk.open(&a, Access::Write)), ErrorKind::NotFound);
    assert_eq!(kind(disk.remove(&a)), ErrorKind::NotFound);
    assert_eq!(kind(disk.rename(&a, &b)), ErrorKind::NotFound);
    assert!(!disk.exists(&a)?);
    disk.open(&b, Access::CreateNew)?.write_at(0, b"b")?;
    disk.open(&a, Access::CreateNew)?.write_at(0, b"a")?;
    assert_eq!(kind(disk.open(&a, Access::CreateNew)), ErrorKind::AlreadyExists);
    assert_eq!(disk.list(directory)?, [a.clone(), b.clone()]);
    disk.rename(&a, &b)?;
    disk.rename(&b, &c)?;
    disk.sync_directory(directory)?;
    assert_eq!(disk.list(directory)?, std::slice::from_ref(&c));
    assert!(disk.exists(&c)? && !disk.exists(&b)?);
    assert_eq!(contents(&*disk.open(&c, Access::Read)?)?, b"a");
    assert_eq!(disk.canonical(&c)?, disk.canonical(&directory.join("./c"))?);
    assert_eq!(disk.canonical(&a)?.file_name(), a.file_name(), "of a file that does not exist, too");
    let without_name = kind(disk.canonical(&directory.join("..")));
    assert!(matches!(without_name, ErrorKind::InvalidInput | ErrorKind::IsADirectory), "{without_name}");
    disk.remove(&c)
}

fn check_bytes(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let path = directory.join("bytes");
    let file = disk.open(&path, Access::CreateNew)?;
    file.write_at(0, b"")?;
    assert_eq!(file.len()?, 0);
    file.write_at(100_000, b"end")?;
    file.write_at(0, b"start")?;
    let bytes = contents(&*file)?;
    assert_eq!(bytes.len(), 100_003);
    assert_eq!((&bytes[..5], &bytes[100_000..]), (&b"start"[..], &b"end"[..]));
    assert!(bytes[5..100_000].iter().all(|byte| *byte == 0), "a gap reads as zeros");
    assert_eq!(kind(file.read_at(100_001, &mut [0; 3])), ErrorKind::UnexpectedEof);
    assert_eq!(kind(file.read_at(200_000, &mut [0; 1])), ErrorKind::UnexpectedEof);
    let reader = disk.open(&path, Access::Read)?;
    assert!(reader.write_at(0, b"x").is_err() && reader.set_len(0).is_err() && reader.allocate(0, 200_000).is_err());
    file.write_at(2, b"ATE")?;
    let mut bytes = [0; 5];
    reader.read_at(0, &mut bytes)?;
    assert_eq!(&bytes, b"stATE", "other handles see a write at once");
    file.write_durably(1, b"POW")?;
    file.write_durably(100_003, b" and more")?;
    file.write_durably(7, b"")?;
    let bytes = contents(&*reader)?;
    assert_eq!((&bytes[..5], &bytes[100_000..]), (&b"sPOWE"[..], &b"end and more"[..]));
    assert!(reader.write_durably(0, b"x").is_err());
    reader.sync_data()?;
    file.sync_data()?;
    file.sync_all()?;
    disk.remove(&path)
}

fn check_lengths(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let path = directory.join("lengths");
    let file = disk.open(&path, Access::CreateNew)?;
    file.write_at(0, &[1; 70_000])?;
    file.set_len(66_000)?;
    file.set_len(140_000)?;
    let bytes = contents(&*file)?;
    assert!(bytes[..66_000].iter().all(|byte| *byte == 1), "what is not cut stays");
    assert!(bytes[66_000..].iter().all(|byte| *byte == 0), "what was cut off does not come back");
    file.allocate(10, 50_000)?;
    assert_eq!(contents(&*file)?, bytes, "allocating changes no bytes and cuts nothing");
    file.allocate(130_000, 20_000)?;
    assert_eq!(file.len()?, 150_000);
    assert!(contents(&*file)?[140_000..].iter().all(|byte| *byte == 0));
    file.allocate(0, 0)?;
    file.set_len(0)?;
    assert_eq!(contents(&*file)?, b"");
    assert!(file.set_len(u64::MAX).is_err() && file.allocate(u64::MAX, 2).is_err());
    assert!(file.write_at(u64::MAX, b"xx").is_err());
    disk.remove(&path)
}

fn check_preparing(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let path = directory.join("prepared");
    let file = disk.open(&path, Access::CreateNew)?;
    let reader = disk.open(&path, Access::Read)?;
    file.write_at(0, b"start")?;
    file.prepare(100_000)?;
    file.prepare(50_000)?;
    // A disk that can do nothing leaves the file as it is.
    assert!([5, 100_000].contains(&file.len()?), "preparing less cuts nothing");
    file.write_at(5, b" and more")?;
    file.write_at(99_998, b"past")?;
    let bytes = contents(&*reader)?;
    assert_eq!((&bytes[..14], &bytes[99_998..]), (&b"start and more"[..], &b"past"[..]), "others see it at once");
    assert!(bytes[14..99_998].iter().all(|byte| *byte == 0));
    file.sync_data()?;
    file.write_at(4096, b"after the sync")?;
    file.write_durably(90_000, b"among what is prepared")?;
    assert_eq!(&contents(&*reader)?[90_000..90_022], b"among what is prepared");
    file.set_len(4100)?;
    file.write_at(4098, b"after the cut")?;
    assert_eq!(&contents(&*reader)?[4094..], b"\0\0afafter the cut");
    // A handle for reading can do nothing, and need not call that an error.
    let length = file.len()?;
    let _ = reader.prepare(200_000);
    assert_eq!(file.len()?, length);
    disk.remove(&path)
}

fn check_open_files_outlive_names(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let (path, other) = (directory.join("first"), directory.join("second"));
    let first = disk.open(&path, Access::CreateNew)?;
    first.write_at(0, b"first")?;
    disk.remove(&path)?;
    let second = disk.open(&path, Access::CreateNew)?;
    second.write_at(0, b"second")?;
    let third = disk.open(&other, Access::CreateNew)?;
    disk.rename(&other, &path)?;
    first.write_at(5, b"!")?;
    assert_eq!(contents(&*first)?, b"first!");
    assert_eq!(contents(&*second)?, b"second");
    third.write_at(0, b"third")?;
    assert_eq!(contents(&*disk.open(&path, Access::Read)?)?, b"third");
    disk.remove(&path)
}

fn check_writer_lock(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let path = directory.join("lock");
    let lock = writer(disk, &path)?.expect("nobody has the lock");
    match disk.lock_writer(&path)? {
        WriterAttempt::Busy(holder) => assert_eq!(holder, LockHolder::ThisProcess),
        WriterAttempt::Held(_) => panic!("two writers at once"),
    }
    assert!(writer(disk, &directory.join("another"))?.is_some_and(|lock| lock.close().is_ok()));
    drop(lock);
    let lock = writer(disk, &path)?.expect("the lock was dropped");
    assert!(writer(disk, &path)?.is_none());
    lock.close()?;
    writer(disk, &path)?.expect("the lock was closed").close()
}

/// Locks belong to the file, whatever its name is, and to the handle that took them.
fn check_file_locks(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let (path, moved) = (directory.join("locked"), directory.join("moved"));
    let file = disk.open(&path, Access::CreateNew)?;
    assert!(file.locks().lock_writer()?.is_none() && file.locks().writer()?.is_none(), "nobody else is the writer");
    let other = disk.open(&path, Access::Write)?;
    disk.rename(&path, &moved)?;
    for second in [other, disk.open(&moved, Access::Write)?] {
        assert_eq!(second.locks().lock_writer()?, Some(LockHolder::ThisProcess), "two writers at once");
        assert_eq!(second.locks().writer()?, Some(LockHolder::ThisProcess));
        // It has nothing to give up.
        second.locks().unlock_writer()?;
        drop(second);
        assert!(
            disk.open(&moved, Access::Read)?.locks().writer()?.is_some(),
            "another handle was closed, not the writer's"
        );
    }
    let another = disk.open(&path, Access::CreateNew)?;
    assert!(another.locks().lock_writer()?.is_none(), "it is another file of that name");
    file.locks().unlock_writer()?;
    let next = disk.open(&moved, Access::Write)?;
    assert!(next.locks().lock_writer()?.is_none(), "the lock was given up");
    drop(next);
    assert!(file.locks().lock_writer()?.is_none(), "its holder was dropped");
    disk.remove(&path)?;
    disk.remove(&moved)
}

fn check_pins(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let path = directory.join("pinned");
    let file = disk.open(&path, Access::CreateNew)?;
    let oldest = || file.locks().oldest_pinned();
    let (first, second) = (disk.open(&path, Access::Read)?, disk.open(&path, Access::Read)?);
    assert_eq!(oldest()?, None, "a reader without a pin pins nothing");
    first.locks().pin(9)?;
    assert_eq!(oldest()?, Some(9));
    second.locks().pin(4)?;
    assert_eq!(oldest()?, Some(4));
    second.locks().pin(9)?;
    second.locks().pin(9)?;
    assert_eq!(oldest()?, Some(9));
    first.locks().unpin()?;
    assert_eq!(oldest()?, Some(9), "the other reader pins it too");
    second.locks().pin((1 << 62) - 1)?;
    assert_eq!(oldest()?, Some((1 << 62) - 1));
    disk.remove(&path)?;
    assert_eq!(oldest()?, Some((1 << 62) - 1), "a pin is the file's, not its name's");
    second.locks().unpin()?;
    second.locks().unpin()?;
    assert_eq!(oldest()?, None);
    first.locks().pin(1)?;
    assert!(file.locks().lock_writer()?.is_none(), "readers do not keep a writer out");
    assert_eq!(second.locks().oldest_pinned()?, Some(1));
    assert_eq!(first.locks().oldest_pinned()?, None, "a holder's own pin is no other's");
    drop(first);
    assert_eq!(oldest()?, None);
    Ok(())
}

fn check_own_names(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let (path, other) = (directory.join("named"), directory.join("renamed"));
    let file = disk.open(&path, Access::CreateNew)?;
    assert!(file.is_named(&path)? && !file.is_named(&other)?);
    disk.rename(&path, &other)?;
    assert!(!file.is_named(&path)? && file.is_named(&other)?);
    disk.open(&path, Access::CreateNew)?;
    assert!(!file.is_named(&path)?, "another file has the name");
    disk.rename(&path, &other)?;
    assert!(!file.is_named(&other)?, "it was replaced");
    disk.remove(&other)?;
    assert!(!file.is_named(&other)?);
    Ok(())
}

fn writer(disk: &dyn Disk, path: &Path) -> io::Result<Option<Box<dyn WriterLock>>> {
    Ok(match disk.lock_writer(path)? {
        WriterAttempt::Held(lock) => Some(lock),
        WriterAttempt::Busy(_) => None,
    })
}

fn contents(file: &dyn File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

fn kind<T>(result: io::Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("the call should have failed"),
        Err(error) => error.kind(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::{CrashDisk, FaultDisk};
    use fulgurite::io::{MemoryDisk, RealDisk};

    #[test]
    fn every_disk_keeps_the_contract() -> io::Result<()> {
        let inside = Path::new("/some/where");
        check_disk_contract(&MemoryDisk::new(), inside)?;
        check_disk_contract(&MemoryDisk::new(), Path::new(""))?;
        check_disk_contract(&CrashDisk::new(), inside)?;
        check_disk_contract(&FaultDisk::new(Arc::new(MemoryDisk::new())), inside)?;
        let directory = tempfile::tempdir()?;
        check_disk_contract(&RealDisk, directory.path())?;
        check_disk_contract(&FaultDisk::new(Arc::new(RealDisk)), directory.path())
    }
}
