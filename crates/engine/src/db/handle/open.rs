//! Opening a database: find its meta, read its tables, replay its log, and announce it to other processes.
//!
//! What opening finds, and what it does:
//!
//! | found | for writing | for reading |
//! |---|---|---|
//! | no file | created, if asked to | error |
//! | no file, but a log | error that names it | error |
//! | a clean file | – | – |
//! | a log, and no writer | replayed, checkpointed, removed or kept | replayed in memory |
//! | a writer, under this or another name | error with its pid | its newest checkpoint, pinned |
//! | an image | error | its meta; it has no log and no writer |

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::db::background::worker::Worker;
use crate::db::checkpoint::checkpointer::{Basis, Checkpointer};
use crate::db::handle::database::Database;
use crate::db::handle::inner::Inner;
use crate::db::handle::opened::read_tables;
use crate::db::handle::registry::{Key, open_once};
use crate::db::recovery::recover::{Recovered, recover, show};
use crate::db::storage::create::{canonical, create, lock_path, locked, refuse_orphaned_log, refuse_reserved};
use crate::db::storage::metas;
use crate::db::storage::presence::Presence;
use crate::error::{Error, Place, Result};
use crate::format::{ImageFault, Meta};
use crate::ids::Sequence;
use crate::io::{Access, Disk, File, ImageFile, WriterAttempt};
use crate::log::{LogEnd, Retention, first_readable};
use crate::metrics::Conflicts;
use crate::monitor::Watchers;
use crate::options::Options;
use crate::pager::Space;
use crate::planted::{Fault, planted};
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use crate::sync::{Arc, Condvar, Instant, LockRank, Mutex, sleep};
use crate::txn::commit::core::{Core, Hold, Logged, Writer};
use crate::txn::commit::journal::Journal;
use crate::txn::coordination::budget::Budget;
use crate::txn::coordination::group_sync::GroupSync;
use crate::txn::snapshot::history::History;
use crate::txn::snapshot::large::LargeStore;
use crate::txn::snapshot::published::Published;
use crate::txn::snapshot::state::State;

impl Options {
    /// Opens the database at `path`. If this process already has it open, the result shares that open database. If it
    /// has the path open for reading, and another file was put there since, the new file is opened.
    ///
    /// # Errors
    /// [`Error::DatabaseNotFound`], [`Error::DirectoryNotFound`], [`Error::LogWithoutDatabase`], [`Error::LogMissing`],
    /// [`Error::NotADatabase`], [`Error::Corrupt`], and errors of the disk. [`Error::IsAnImage`] if the file is an
    /// image and is not opened for reading only. [`Error::NotAnImage`] if it is none and [`Options::image`] is set.
    /// [`Error::Locked`] if another process has the database open, or this process under another name of the file.
    /// [`Error::AlreadyOpen`] if this process has it open with other options. [`Error::Invalid`] if it is to be created
    /// and its name ends in `-new`, `-lock`, `-log.spare`, `-log.N` or `-sort.N`; [`Error::FileExists`] if a file has
    /// the name with `-new` behind it, and no interrupted creation left it.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        self.validate()?;
        open(self, path.as_ref())
    }
}

/// Opens the database at `path`; see [`Options::open`].
pub fn open(mut options: Options, path: &Path) -> Result<Database> {
    crate::format::selected()?;
    options.read_only |= options.image || options.salvage;
    let path = canonical(&*options.disk, path)?;
    let db = Database { inner: open_when_unlocked(&options, &path)? };
    match options.image && !db.is_image() {
        true => Err(Error::NotAnImage { path: db.path().to_path_buf() }),
        false => Ok(db),
    }
}

/// The database at a canonical path. While it is locked, opening it is tried again, for as long as the options say.
/// Between attempts other threads can try too: one that does not wait is not held up by one that does.
fn open_when_unlocked(options: &Options, path: &Path) -> Result<Arc<Inner>> {
    let deadline = Instant::now().checked_add(options.wait_for_lock);
    let mut pause = LOCK_PAUSE_MIN;
    loop {
        let key = Key::new(options, path.to_path_buf());
        let opened = open_once(key, options.clone(), |options| match options.read_only {
            true => open_for_reading(options, path.to_path_buf()),
            false => open_for_writing(options, path.to_path_buf()),
        });
        let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        if !matches!(opened, Err(Error::Locked { .. })) || left.is_zero() {
            return opened;
        }
        sleep(pause.min(left));
        pause = (2 * pause).min(LOCK_PAUSE_MAX);
    }
}

fn open_for_writing(options: Options, path: PathBuf) -> Result<Inner> {
    let disk = Arc::clone(&options.disk);
    let exists = disk.exists(&path).map_err(|error| Error::io("look for", &path, error))?;
    if !exists {
        if !options.create {
            return Err(Error::DatabaseNotFound { path });
        }
        refuse_reserved(&path)?;
    }
    // Another process may have removed it; that is found out when the lock is ours.
    if exists && let Ok(file) = open_file(&*disk, &path, Access::Read) {
        refuse_foreign(&*file, &path)?;
    }
    let lock_path = lock_path(&path);
    let name = match disk.lock_writer(&lock_path).map_err(|error| Error::io("lock", &lock_path, error))? {
        WriterAttempt::Held(lock) => lock,
        WriterAttempt::Busy(holder) => return Err(locked(path, holder)),
    };
    let file = match open_or_create(&options, &path) {
        Ok(file) => file,
        Err(error) => {
            // The first error says more than that the lock file could not be removed.
            let _ = name.close();
            return Err(error);
        }
    };
    let lock = Presence::of_writer(Arc::clone(&file), name);
    let lock = Arc::new(lock.map_err(|error| Error::io("lock", &path, error))?);
    let outcome = open_locked(options, &path, &lock, file);
    if outcome.is_err() {
        let _ = lock.close();
    }
    outcome
}

/// The file, locked for its only writer. Requires: the lock of its name is held.
fn open_or_create(options: &Options, path: &Path) -> Result<Arc<dyn File>> {
    let disk = &*options.disk;
    // The other process may have created or removed it before the lock was ours.
    if !disk.exists(path).map_err(|error| Error::io("look for", path, error))? {
        if !options.create {
            return Err(Error::DatabaseNotFound { path: path.to_path_buf() });
        }
        refuse_orphaned_log(disk, path)?;
        create(disk, path, options)?;
    }
    let file = open_file(disk, path, Access::Write)?;
    if !planted(Fault::FileUnlocked)
        && let Some(holder) = file.locks().lock_writer().map_err(|error| Error::io("lock", path, error))?
    {
        return Err(locked(path.to_path_buf(), holder));
    }
    match file.is_named(path).map_err(|error| Error::io("look for", path, error))? {
        true => Ok(file),
        false => Err(Error::Moved { path: path.to_path_buf() }),
    }
}

fn open_locked(options: Options, path: &Path, lock: &Arc<Presence>, file: Arc<dyn File>) -> Result<Inner> {
    let disk = Arc::clone(&options.disk);
    // Before metas are looked for: the bytes of an image may look like one.
    if is_image(&*file, path)? {
        return Err(Error::IsAnImage { path: path.to_path_buf() });
    }
    let mut found = metas::read(&*file, path)?;
    if !found.meta.is_writable() {
        let text =
            format!("it has features {:#x} that only a newer version may write", found.meta.features.read_compatible);
        return Err(Error::UnsupportedFormat { path: path.to_path_buf(), found: text });
    }
    let opened = read_tables(&options, path, Arc::clone(&file), found.meta.clone(), Arc::clone(lock))?;
    let space = Space::open(
        Arc::clone(&opened.file),
        opened.entries.clone(),
        found.meta.page_count,
        found.meta.birth,
        options.max_size_bytes,
    )?;
    let space = Arc::new(Mutex::ranked(LockRank::Space, space));
    // The lock is ours, so whatever sort left its runs behind is dead.
    crate::sort::remove_leftovers(&*disk, path)?;
    let Recovered { state, mut end, replayed } = recover(&options, path, &found, &opened.state, &space)?;
    let restores_slot = must_restore_slot(&options, &found);
    let retention = retain(&options, path, &mut found.meta, &mut end)?;
    let journal =
        Journal::new(Arc::clone(&disk), path, file, found.meta.uuid, end, options.map, Arc::clone(&retention));
    let writer = Writer {
        durability: options.durability,
        isolation: options.isolation,
        log: Mutex::ranked(LockRank::Log, Logged::new(journal, state.floor)),
        exclusive_ended: Condvar::default(),
        retention,
        // What was replayed is merged and synced before anybody sees it.
        group: GroupSync::new(state.floor),
        history: Mutex::ranked(LockRank::History, History::since(&state.epoch)),
        next_table: AtomicU32::new(u32::try_from(state.tables.len()).expect("the numbers of tables are checked")),
        large: LargeStore::new(Arc::clone(&space), Arc::clone(&opened.file)),
        relief: std::sync::OnceLock::new(),
        budget: Budget::new(options.delta_bytes),
        write_set_bytes: usize::try_from(options.write_set_bytes_or_default()).unwrap_or(usize::MAX),
        spilled_bytes: AtomicU64::new(0),
        poisoned: AtomicBool::new(false),
        moved: AtomicBool::new(false),
        log_begun: AtomicBool::new(false),
        conflicts: Mutex::ranked(LockRank::Conflicts, Conflicts::default()),
    };
    let core = new_core(path, Published::new(state), Some(writer));
    let meta = found.meta.clone();
    let basis = Basis { meta: found.meta, stored: opened.stored, catalog: opened.catalog };
    let mut checkpointer =
        Checkpointer::new(Arc::clone(&core), space, opened.file, opened.pins, Arc::downgrade(lock), basis);
    if restores_slot {
        checkpointer.restore_slot()?;
    }
    checkpointer.reclaim()?;
    if let Some((rotation, replayed)) = replayed {
        // No replayed commit is shown before it is durable: the log may be in the page cache only.
        checkpointer.run_replay(rotation, replayed)?;
    }
    start(core, options, checkpointer, meta)
}

/// Lets a database be used that is open for writing.
fn start(core: Arc<Core>, options: Options, checkpointer: Checkpointer, meta: Meta) -> Result<Inner> {
    let (watchers, meta_number) = (checkpointer.watchers.clone(), Arc::clone(&checkpointer.meta_number));
    let checkpointer = Arc::new(Mutex::ranked(LockRank::Checkpointer, checkpointer));
    let worker = Worker::start(&core, &checkpointer, &options)?;
    Ok(Inner {
        core,
        options,
        checkpointer: Some(checkpointer),
        worker: Some(worker),
        read: None,
        meta,
        meta_number,
        is_image: false,
        closing: Mutex::ranked(LockRank::Closing, None),
        watchers,
        closers: Watchers::default(),
        registered: None,
    })
}

/// Whether the newest meta must be in both slots before any page is used again: the other one holds none, or may hold
/// one that has its log still, and would pass for the newest. It has if that is kept, or if the newest is of a merge
/// of runs or a load, whose second slot was not written any more.
fn must_restore_slot(options: &Options, found: &metas::NewestMeta) -> bool {
    let log_may_be_older = options.keep_log_bytes > 0 || found.meta.features.log_is_kept() || found.shares_log;
    found.damaged_slot.is_some() || (log_may_be_older && !found.is_doubled)
}

/// Which segments stay that recovery does not need; others go now, for the disk may be full. If the log was not kept
/// so far, it has no notes of loads: its segments are removed before a meta says that the log is kept. The segments
/// that stay are made durable. The next meta says whether the log is kept.
fn retain(options: &Options, path: &Path, meta: &mut Meta, end: &mut LogEnd) -> Result<Arc<Retention>> {
    let disk = &*options.disk;
    let was_kept = meta.features.log_is_kept();
    meta.features.set_log_kept(options.keep_log_bytes > 0);
    if options.keep_log_bytes == 0 {
        let retention = Retention::none();
        end.trim(disk, path, meta.log_first_segment, &retention);
        return Ok(retention);
    }
    let floor = if was_kept { Sequence(0) } else { meta.sequence };
    if !was_kept {
        end.forget_before(disk, path, meta.log_first_segment)?;
    }
    end.sync_segments(disk, path, meta.log_first_segment)?;
    let first = first_readable(disk, path, &end.segments, end.next_segment)?;
    let retention = Retention::new(options.keep_log_bytes, floor, first);
    end.trim(disk, path, meta.log_first_segment, &retention);
    Ok(retention)
}

fn open_for_reading(options: Options, path: PathBuf) -> Result<Inner> {
    let disk = Arc::clone(&options.disk);
    let file = open_file(&*disk, &path, Access::Read)?;
    if let Some(image) = open_image(&file, &path)? {
        return show_image(options, &path, image);
    }
    refuse_foreign(&*file, &path)?;
    let presence = Presence::of_reader(Arc::clone(&file));
    let presence = Arc::new(presence.map_err(|error| Error::io("announce a reader of", &path, error))?);
    let writer_lives = || presence.writer_lives().map_err(|error| Error::io("look for a writer of", &path, error));
    let (meta, state) = loop {
        let found = pin_newest(&*file, &path, &presence)?;
        let read = |meta: &Meta| read_tables(&options, &path, Arc::clone(&file), meta.clone(), Arc::clone(&presence));
        if writer_lives()? {
            match read(&found.meta) {
                Ok(opened) => break (found.meta, opened.state),
                // The writer may have published another one, and cut off the end of the file, which this one names.
                Err(_) if metas::read(&*file, &path)?.meta.number != found.meta.number => continue,
                Err(error) => return Err(error),
            }
        }
        let shown = read(&found.meta).and_then(|opened| show(&disk, &path, &found, &opened.state));
        // A writer that has begun meanwhile takes the log away: what was found, or missed, of it means nothing then.
        if !writer_lives()? && metas::read(&*file, &path)?.meta.number == found.meta.number {
            break (found.meta, shown?);
        }
    };
    Ok(show_only(options, &path, file, meta, state, false))
}

/// Shows what an image holds, which is all there is: no log belongs to it, and nobody writes to it.
fn show_image(options: Options, path: &Path, image: ImageFile) -> Result<Inner> {
    let file: Arc<dyn File> = Arc::new(image);
    let presence = Presence::of_reader(Arc::clone(&file));
    let presence = Arc::new(presence.map_err(|error| Error::io("open", path, error))?);
    let found = metas::read(&*file, path)?;
    let opened = read_tables(&options, path, Arc::clone(&file), found.meta.clone(), presence)?;
    Ok(show_only(options, path, file, found.meta, opened.state, true))
}

fn show_only(options: Options, path: &Path, file: Arc<dyn File>, meta: Meta, state: State, is_image: bool) -> Inner {
    Inner {
        read: Some(file),
        core: new_core(path, Published::new(state), None),
        options,
        checkpointer: None,
        worker: None,
        meta_number: Arc::new(AtomicU64::new(meta.number)),
        meta,
        is_image,
        closing: Mutex::ranked(LockRank::Closing, None),
        watchers: Watchers::default(),
        closers: Watchers::default(),
        registered: None,
    }
}

/// The image in a file, if it is one.
fn open_image(file: &Arc<dyn File>, path: &Path) -> Result<Option<ImageFile>> {
    let opened = ImageFile::open(file).map_err(|error| Error::io("read", path, error))?;
    opened.transpose().map_err(|fault| match fault {
        ImageFault::Damaged(what) => Error::corrupt(path, Place::ImageHeader, what),
        ImageFault::Unsupported(found) => Error::UnsupportedFormat { path: path.to_path_buf(), found },
    })
}

fn is_image(file: &dyn File, path: &Path) -> Result<bool> {
    ImageFile::is_in(file).map_err(|error| Error::io("read", path, error))
}

/// Refuses a file of another kind before a lock is taken: a lock file of this name may be another program's, as that of
/// LMDB is.
fn refuse_foreign(file: &dyn File, path: &Path) -> Result<()> {
    match is_image(file, path)? {
        true => Ok(()),
        false => match metas::read(file, path) {
            Err(error @ Error::NotADatabase { .. }) => Err(error),
            // Other damage is reported when no writer changes the file.
            _ => Ok(()),
        },
    }
}

/// Reads the newest meta and pins its checkpoint, so that a writer keeps its pages.
fn pin_newest(file: &dyn File, path: &Path, presence: &Presence) -> Result<metas::NewestMeta> {
    let mut found = metas::read(file, path)?;
    loop {
        presence.pin(found.meta.birth).map_err(|error| Error::io("announce a reader of", path, error))?;
        // A writer looks at pins after it publishes and before it reuses: if the meta is still the newest, it saw ours.
        let again = metas::read(file, path)?;
        if again.meta.number == found.meta.number {
            return Ok(again);
        }
        found = again;
    }
}

fn new_core(path: &Path, published: Published<Hold>, writer: Option<Writer>) -> Arc<Core> {
    let (path, turns) = (path.to_path_buf(), Arc::default());
    let (exclusive, closed) = (AtomicBool::new(false), AtomicBool::new(false));
    let stamp = published.state().stamp;
    Arc::new(Core { path, stamp, published, turns, exclusive, writer, closed })
}

fn open_file(disk: &dyn Disk, path: &Path, access: Access) -> Result<Arc<dyn File>> {
    disk.open(path, access).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::DatabaseNotFound { path: path.to_path_buf() },
        _ => Error::io("open", path, error),
    })
}

/// While a database is locked, the lock is tried again after so long, at first and at last.
const LOCK_PAUSE_MIN: Duration = Duration::from_millis(1);

const LOCK_PAUSE_MAX: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Birth, SegmentNumber};
    use crate::io::MemoryDisk;

    /// Killed between its two slots, a merge of runs left the meta before with its log, to pass for the newest some
    /// day.
    #[test]
    fn a_meta_that_would_find_its_log_is_replaced_before_its_pages_are_used_again() {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let options = || Database::options().background(false).disk(Arc::clone(&disk));
        options().create(true).open("a.ful").unwrap().close().unwrap();
        let path = disk.canonical(Path::new("a.ful")).unwrap();
        let file = disk.open(&path, Access::Write).unwrap();
        let read = || metas::read(&*file, &path).unwrap();
        assert!(!must_restore_slot(&options(), &read()), "closing leaves both alike");
        let newest = read().meta;
        let newer = Meta { number: newest.number + 1, birth: Birth(newest.birth.0 + 1), ..newest.clone() };
        metas::write(&*file, &path, &newer).unwrap();
        assert!(must_restore_slot(&options(), &read()));
        drop(options().open("a.ful").unwrap());
        assert!(read().is_doubled);
        let rotated = Meta { number: newest.number + 4, log_first_segment: SegmentNumber(77), ..newer };
        metas::write(&*file, &path, &rotated).unwrap();
        assert!(!must_restore_slot(&options(), &read()), "it does not find its log");
    }
}
