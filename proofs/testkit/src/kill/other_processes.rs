//! Other processes that use a writer's database: readers of another user, second writers under another name, children
//! made by `fork`, and copies that were made without the log.

#![allow(unsafe_code)] // `fork`.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use fulgurite::{Database, Error};

use super::state::State;
use super::writer::Writer;
use crate::random::Random;

/// Opens and reads the database forever, as a process that may not write it: each snapshot must show a state of the
/// writer, and keep showing it. `looked` is called after each look.
///
/// Returns only if something went wrong: what, in words.
pub fn look_on(writer: &Writer, mut looked: impl FnMut()) -> String {
    let mut random = Random::for_part(writer.drawn, &[5]);
    loop {
        match look_once(writer, LOOKS_PAUSE * (1 << random.below(LOOKS_DOUBLINGS))) {
            Ok(()) => looked(),
            Err(text) => return text,
        }
    }
}

/// One look, which compares what the snapshot shows with what it shows after `pause`.
fn look_once(writer: &Writer, pause: Duration) -> Result<(), String> {
    let db = match Database::options().read_only(true).open(writer.path()) {
        Ok(db) => db,
        // The writer is dead or has not started; no one else may read its log.
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(Error::DatabaseNotFound { .. }) => return Ok(()),
        Err(error) => return Err(format!("a reader cannot open the database: {error}")),
    };
    let state = match State::attach(&db, writer.seed, writer.threads) {
        Ok(state) => state,
        // The first checkpoint has them.
        Err(Error::TableNotFound { .. }) => return Ok(()),
        Err(error) => return Err(format!("a reader finds no tables: {error}")),
    };
    let txn = db.read().map_err(|error| format!("a reader cannot read: {error}"))?;
    let found = state.verify(&txn).map_err(|unlike| format!("a reader of another process: {unlike}"))?;
    std::thread::sleep(pause);
    let again = state.verify(&txn).map_err(|unlike| format!("a reader of another process, later: {unlike}"))?;
    if again == found { Ok(()) } else { Err(format!("a reader of another process saw {found:?}, and then {again:?}")) }
}

/// Opens the database for writing by another name of its file, while its writer lives. That must be refused.
///
/// # Errors
/// What was wrong, in words.
pub fn open_second_writer(writer: &Writer) -> Result<(), String> {
    match Database::open(writer.other_path()) {
        Err(Error::Locked { .. }) => Ok(()),
        Err(error) => Err(format!("a second writer is refused for a wrong reason: {error}")),
        Ok(_) => Err("a second writer is not refused".into()),
    }
}

/// What a copy of the data file that was made without its log shows: the numbers of the last commits, or nothing if
/// it is refused, as it must be when commits are missing.
///
/// # Errors
/// What is wrong, in words.
pub fn read_alone(writer: &Writer) -> Result<Option<Vec<u64>>, String> {
    let copy = writer.other_path();
    fs::copy(writer.path(), &copy).map_err(|error| format!("the file cannot be copied: {error}"))?;
    let numbers = match Database::options().read_only(true).open(&copy) {
        Err(Error::LogMissing { .. }) => Ok(None),
        Err(error) => Err(format!("a file without its log is refused for a wrong reason: {error}")),
        Ok(db) => match State::attach(&db, writer.seed, writer.threads) {
            Err(Error::TableNotFound { .. }) => Ok(Some(vec![0; writer.threads as usize])),
            Err(error) => Err(format!("a file without its log: {error}")),
            Ok(state) => {
                let txn = db.read().map_err(|error| error.to_string())?;
                state.verify(&txn).map(Some).map_err(|unlike| format!("a file without its log: {unlike}"))
            }
        },
    };
    fs::remove_file(&copy).map_err(|error| format!("the copy cannot be removed: {error}"))?;
    numbers
}

/// Makes a child by `fork` that uses the inherited database: it must be refused everything, and harm nothing.
///
/// # Errors
/// What was wrong, in words.
pub fn fork_once(db: &Database) -> Result<(), String> {
    let inherited = db.clone();
    // SAFETY: the child runs on this thread alone. It uses the allocator, which the C library keeps usable after a
    // fork, and the engine, which is what is tested.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: a child that waits for a lock of a thread that it does not have is ended by the signal.
        unsafe { libc::alarm(CHILD_SECONDS) };
        let is_refused = matches!(inherited.read(), Err(Error::Forked))
            && matches!(inherited.write(), Err(Error::Forked))
            && matches!(inherited.checkpoint(), Err(Error::Forked))
            && matches!(inherited.close(), Err(Error::Forked));
        // SAFETY: it ends the process at once, with no destructor or exit handler of the parent's.
        unsafe { libc::_exit(i32::from(!is_refused)) }
    }
    let mut status = 0;
    // SAFETY: it waits for the child that was made above.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    if status == 0 {
        Ok(())
    } else {
        Err(format!("a child made by fork is not refused what it inherits (status {status})"))
    }
}

/// Lets all users read the database.
///
/// # Errors
/// The system's.
pub fn publish(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(if path.is_dir() { 0o755 } else { 0o644 }))
}

/// The shortest time that a reader keeps its snapshot, for the writer to reuse what it reads.
const LOOKS_PAUSE: Duration = Duration::from_millis(2);
/// The time is doubled less often than this: on a slow disk the writer takes longer to reuse pages.
const LOOKS_DOUBLINGS: u64 = 5;
const CHILD_SECONDS: u32 = 10;
