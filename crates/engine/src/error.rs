//! The error type of the engine: what failed, where, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::ids::{ExtentId, PageNumber, SegmentNumber, Sequence};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The damaged part of a database's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The meta slot, or both if there is no number.
    Meta(Option<u8>),
    /// A page of the data file.
    Page(PageNumber),
    /// An entry of the extent table.
    Extent(ExtentId),
    /// A byte of a log segment.
    Log(SegmentNumber, u64),
    /// The header of an image.
    ImageHeader,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Meta(None) => formatter.write_str("both meta slots"),
            Self::Meta(Some(slot)) => write!(formatter, "meta slot {slot}"),
            Self::Page(page) => write!(formatter, "{page}"),
            Self::Extent(extent) => write!(formatter, "extent {}", extent.0),
            Self::Log(segment, offset) => write!(formatter, "log segment {} at byte {offset}", segment.0),
            Self::ImageHeader => formatter.write_str("the header of the image"),
        }
    }
}

/// The change of another transaction that caused a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConflictReason {
    /// It changed a key that this transaction read.
    Read,
    /// It changed a key within a range that this transaction read.
    Range,
    /// It changed a key that this transaction wrote. Only with isolation `Snapshot`.
    Write,
    /// It created, dropped or renamed tables.
    Tables,
    /// A bulk load, or a spilled transaction ([`Options::write_set_bytes`](crate::Options::write_set_bytes)), changed a
    /// table that this transaction read, or with isolation `Snapshot` wrote.
    BulkLoad,
}

impl fmt::Display for ConflictReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Read => "a key that this one read",
            Self::Range => "a key within a range that this one read",
            Self::Write => "a key that this one wrote",
            Self::Tables => "the tables there are",
            Self::BulkLoad => "the table, by a bulk load or a large transaction",
        })
    }
}

/// All errors of the engine. The text says what to do; the fields are for programs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    Io {
        /// The operation, such as `write`.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The disk or the user's disk quota is full, or only the disk reserve is left. Nothing was lost; reads continue.
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The database would exceed `Options::max_size_bytes`. Nothing was lost; reads continue.
    QuotaExceeded {
        /// The database.
        path: PathBuf,
        /// The quota.
        limit_bytes: u64,
        /// The size that the write needs.
        needed_bytes: u64,
    },
    /// No database exists at this path.
    DatabaseNotFound {
        /// The path that was given.
        path: PathBuf,
    },
    /// The directory of the path does not exist, so the database can be neither opened nor created.
    DirectoryNotFound {
        /// The path that was given, or what the link at that path leads to.
        path: PathBuf,
    },
    /// A database cannot be created here, because the log of another database exists at this path, whose file is
    /// missing. The log may contain the only copy of commits.
    LogWithoutDatabase {
        /// The path that was given.
        path: PathBuf,
        /// The segments of the log, oldest first.
        segments: Vec<PathBuf>,
    },
    /// A file already exists at the path of the backup. It was not changed.
    FileExists {
        /// The path that was given.
        path: PathBuf,
    },
    /// The file is not a Fulgurite database.
    NotADatabase {
        /// The path that was given.
        path: PathBuf,
        /// Whether the file is an image of SquashFS, which may have a database in it.
        is_squashfs: bool,
    },
    /// The file is an image, which can only be read. Open it with [`Options::read_only`](crate::Options::read_only) or
    /// [`Database::open_image`](crate::Database::open_image), or restore it with
    /// [`Database::backup_to`](crate::Database::backup_to) and open the copy.
    IsAnImage {
        /// The image.
        path: PathBuf,
    },
    /// The file is a database, but not an image.
    NotAnImage {
        /// The path that was given.
        path: PathBuf,
    },
    /// The file was written by a newer version of Fulgurite, in a format that this version cannot read (or, if opened
    /// for writing, cannot write).
    UnsupportedFormat {
        /// The database.
        path: PathBuf,
        /// The features that the file requires.
        found: String,
    },
    /// A file is damaged: its bytes are not those that were written.
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// The damaged part.
        place: Place,
        /// What is wrong with it.
        offence: String,
    },
    /// The database is already open for writing: in another process, or in this process under another name of the file,
    /// or by a transaction or handle of a closed database.
    Locked {
        /// The database.
        path: PathBuf,
        /// The id of the other process, if known.
        pid: Option<u32>,
        /// Whether it is this process.
        is_here: bool,
    },
    /// The database file, or a segment of its log, was renamed, replaced or removed while the database was open for
    /// writing. Nothing more is written; the commits are in the moved files.
    Moved {
        /// The path that no longer names the file.
        path: PathBuf,
    },
    /// The database was opened by the parent process before a fork.
    Forked,
    /// A segment of the log that the database needs is missing.
    LogMissing {
        /// The database.
        path: PathBuf,
        /// The missing segment.
        segment: PathBuf,
    },
    /// This process already has the database open, with other options.
    AlreadyOpen {
        /// The database.
        path: PathBuf,
    },
    /// A write to a database that is open read-only.
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// An earlier sync failed, so the state on the disk is unknown. Reopen the database to continue.
    Poisoned {
        /// The database.
        path: PathBuf,
    },
    /// The outcome of this commit or bulk load is unknown: the sync that it waited for failed, or a write of the log or
    /// the meta failed halfway. New transactions see only commits that are certainly durable. Reopening the database
    /// shows whether it survived.
    Indeterminate {
        /// The database.
        path: PathBuf,
        /// The sequence of the commit. For a bulk load, the newest commit before it.
        sequence: Sequence,
        /// The error of the disk for the commit that ran the sync; [`Error::Poisoned`] for the other commits of its
        /// group.
        source: Box<Error>,
    },
    /// Another transaction has committed a conflicting change since this one began. Nothing was changed; run the
    /// transaction again. [`crate::Database::update`] does so automatically.
    Conflict {
        /// The table. Empty if the conflict is about the list of tables.
        table: String,
        /// The key, or the first changed key of a range. Empty if the conflict is about the whole table.
        key: Vec<u8>,
        /// What changed.
        reason: ConflictReason,
    },
    /// Too much was committed since this transaction began, so it can no longer be checked for conflicts. Run it again,
    /// or use [`crate::Database::begin_exclusive`] for long jobs.
    TransactionTooOld,
    /// The log no longer contains the changes after the given commit. Start again from a snapshot.
    ChangesGone {
        /// The database.
        path: PathBuf,
        /// The commit after which changes were requested.
        after: Sequence,
        /// The oldest commit that can still be read.
        oldest: Sequence,
    },
    /// A [`Monitor`](crate::Monitor) stopped the operation, or [`Database::discard`](crate::Database::discard) did.
    /// Stopping loses nothing: commits that are not merged into the file stay in the log. Discarding leaves what was
    /// written there. A stopped backup leaves no file.
    Stopped {
        /// The database, or the backup.
        path: PathBuf,
    },
    /// The database was closed by another handle.
    Closed {
        /// The database.
        path: PathBuf,
    },
    /// No table has this name.
    TableNotFound {
        /// The name that was given.
        name: String,
    },
    /// A table with this name already exists.
    TableExists {
        /// The name that was given.
        name: String,
    },
    /// The table has other types, another kind or other options than the program expects.
    TableMismatch {
        /// The table.
        name: String,
        /// What the catalog records.
        stored: String,
        /// What the program expects.
        requested: String,
    },
    /// A key is longer than the limit.
    KeyTooLong {
        /// Its length.
        length_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// A value is longer than the limit.
    ValueTooLong {
        /// Its length.
        length_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// A merge failed. Nothing was changed.
    Unmergeable {
        /// The table.
        table: String,
        /// The key.
        key: Vec<u8>,
        /// The reason: [`Error::Decode`] if the stored value is not a number of the table's type,
        /// [`Error::ValueTooLong`] if the result is too long, [`Error::Overflow`] if a sum is out of range,
        /// [`Error::MergeFunction`] if the merge function fails.
        source: Box<Error>,
    },
    /// A merge function of the program returned an error, or panicked.
    MergeFunction {
        /// The name of the function.
        function: String,
        /// The error that it returned, or the text of the panic.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The table uses a merge function that the program has not registered.
    MergeFunctionMissing {
        /// The table.
        table: String,
        /// The name of the function.
        function: String,
    },
    /// A sum is out of the range of the table's numbers, and the operator is
    /// [`MergeOperator::AddChecked`](crate::MergeOperator::AddChecked).
    Overflow,
    /// The keys of a sorted load are not in strictly ascending order.
    OutOfOrder {
        /// Position in the input, from 0.
        index: u64,
    },
    /// A stored key or value is not a valid encoding of the table's type.
    Decode {
        /// Why it is not valid.
        message: String,
    },
    /// The input of a bulk load failed. Nothing was loaded.
    Input {
        /// The error of the input.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An argument or option is not valid.
    Invalid {
        /// Which argument or option, and what is allowed.
        message: String,
    },
}

impl Error {
    /// Wraps a system error: a full disk or quota becomes [`Error::DiskFull`], all else [`Error::Io`].
    pub fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::DiskFull { path: path.to_path_buf(), source }
            }
            _ => Self::Io { operation, path: path.to_path_buf(), source },
        }
    }

    /// Wraps the system's answer to a sync that was to make commits durable. Even if the answer is that the disk is
    /// full, it is not
    /// [`Error::DiskFull`]: what was written may be lost.
    pub(crate) fn failed_sync(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_path_buf(), source }
    }

    /// A damaged place of a file.
    pub fn corrupt(path: &Path, place: Place, offence: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_path_buf(), place, offence: offence.into() }
    }

    /// A conflict with another transaction.
    pub(crate) fn conflict(table: &str, key: &[u8], reason: ConflictReason) -> Self {
        Self::Conflict { table: table.to_owned(), key: key.to_vec(), reason }
    }

    /// Whether the transaction may succeed if it is run again. True for conflicts; nothing was changed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::TransactionTooOld)
    }

    /// Whether the files are damaged or unreadable, so that another attempt cannot succeed.
    pub fn is_corruption(&self) -> bool {
        matches!(self, Self::Corrupt { .. } | Self::NotADatabase { .. } | Self::LogMissing { .. })
    }
}

impl Error {
    /// The errors of what is too long or too great.
    fn fmt_limit(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong { length_bytes, limit_bytes } => {
                write!(out, "a key of {length_bytes} bytes is over the limit of {limit_bytes}; shorten it")
            }
            Self::ValueTooLong { length_bytes, limit_bytes } => {
                write!(out, "a value of {length_bytes} bytes is over the limit of {limit_bytes}; split it")
            }
            _ => out.write_str("the sum is beyond what the table's numbers can hold"),
        }
    }

    /// The errors of commits beside others, and of what commits left.
    fn fmt_commit(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisoned { path } => {
                write!(out, "{}: an earlier sync failed, so its writes are in doubt; close and reopen it", path.display())
            }
            Self::Indeterminate { path, sequence, source } => write!(
                out,
                "{}: it is not known whether commit {}, or a bulk load after it, will survive ({source}); close and reopen the \
                 database, then check",
                path.display(),
                sequence.0
            ),
            Self::Conflict { table, key, reason } => {
                write!(out, "another transaction has changed {reason}")?;
                if !table.is_empty() {
                    write!(out, " in table `{table}`")?;
                }
                if !key.is_empty() {
                    write!(out, " (key {})", ShownKey(key))?;
                }
                out.write_str("; begin again")
            }
            Self::Unmergeable { table, key, source } => {
                let key = ShownKey(key);
                let remedy = "merge another operand, put a new value, or delete the key";
                write!(out, "the merge into key {key} of table `{table}` failed: {source}; {remedy}")
            }
            Self::MergeFunction { function, source } => write!(out, "the merge function `{function}` failed: {source}"),
            Self::MergeFunctionMissing { table, function } => write!(
                out,
                "table `{table}` merges by the function `{function}`, which is not registered; register it when you \
                 open the database, or put whole values"
            ),
            Self::ChangesGone { path, after, oldest } => write!(
                out,
                "{}: the log no longer has the changes after commit {}, the oldest commit that it keeps is {}; copy the \
                 current data (by a transaction that reads durable commits, or `fulgurite export`), continue after its \
                 commit, and keep more log when you write (keep_log, keepLog or --keep-log)",
                path.display(),
                after.0,
                oldest.0
            ),
            Self::Closed { path } => write!(out, "{}: the database was closed; open it again", path.display()),
            _ => out.write_str(
                "the transaction is too old: so much was committed since it began that it cannot be checked for conflicts; run it \
                 again, if need be in an exclusive transaction",
            ),
        }
    }
}

impl Error {
    /// The errors of who else uses the files, or moved them.
    fn fmt_use(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path, is_here: true, .. } => write!(
                out,
                "{}: this process already has the database open for writing; use the database that is open, or end the \
                 transactions that a closed handle left open",
                path.display()
            ),
            Self::Locked { path, pid, .. } => {
                write!(out, "{}: another process has this database open for writing", path.display())?;
                pid.map_or(Ok(()), |pid| write!(out, " (pid {pid})"))?;
                out.write_str("; close it, wait for it, or open read-only")
            }
            Self::Moved { path } => write!(
                out,
                "{}: was moved, replaced or removed while the database was open, so nothing more is written; close the database, put \
                 its file and all `-log.*` files back under one name, and open it again",
                path.display()
            ),
            Self::LogMissing { path, segment } => write!(
                out,
                "{}: the log segment {} is missing, so commits would be lost; most often the file was moved or copied without its \
                 log: put all its `-log.*` files beside it under its name, or restore a backup",
                path.display(),
                segment.file_name().unwrap_or(segment.as_os_str()).display()
            ),
            _ => out.write_str(
                "the parent process opened the database before a fork; open it again in this process, and do not use the \
                 inherited handle",
            ),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { operation, path, source } => fmt_io(out, operation, path, source),
            Self::DiskFull { path, source } => fmt_disk_full(out, path, source),
            Self::QuotaExceeded { path, limit_bytes, needed_bytes } => write!(
                out,
                "{}: {needed_bytes} bytes would pass the quota of {limit_bytes}; reopen with a larger maximum size, nothing was lost",
                path.display()
            ),
            Self::DatabaseNotFound { path } => {
                let remedy = "check the path, or open it with the option that creates it";
                write!(out, "{}: no such database; {remedy}", path.display())
            }
            Self::DirectoryNotFound { path } => fmt_no_directory(out, path),
            Self::LogWithoutDatabase { path, segments } => fmt_orphaned_log(out, path, segments),
            Self::FileExists { path } => {
                write!(out, "{}: a file is there already; choose another name, or move it away", path.display())
            }
            Self::NotADatabase { path, is_squashfs } => fmt_not_a_database(out, path, *is_squashfs),
            Self::IsAnImage { path } => fmt_is_an_image(out, path),
            Self::NotAnImage { path } => fmt_not_an_image(out, path),
            Self::UnsupportedFormat { path, found } => fmt_newer(out, path, found),
            Self::Corrupt { path, place, offence } => {
                write!(out, "{}: {place} is damaged: {offence}; {}", path.display(), remedy_of_damage(offence))
            }
            Self::Locked { .. } | Self::Moved { .. } | Self::Forked | Self::LogMissing { .. } => self.fmt_use(out),
            Self::AlreadyOpen { path } => write!(
                out,
                "{}: this process has it open with other options; use the database that is open, or the same options",
                path.display()
            ),
            Self::ReadOnly { path } => {
                write!(out, "{}: open read-only; open it for writing to change it", path.display())
            }
            Self::Poisoned { .. }
            | Self::Indeterminate { .. }
            | Self::Conflict { .. }
            | Self::TransactionTooOld
            | Self::Unmergeable { .. }
            | Self::MergeFunction { .. }
            | Self::MergeFunctionMissing { .. }
            | Self::ChangesGone { .. }
            | Self::Closed { .. } => self.fmt_commit(out),
            Self::Stopped { path } => write!(
                out,
                "{}: stopped before it was complete, losing nothing; run a stopped backup, image or compaction again",
                path.display()
            ),
            Self::TableNotFound { name } => {
                write!(out, "no table `{name}`; create it first, or list the tables there are")
            }
            Self::TableExists { name } => write!(out, "a table `{name}` exists already; open it instead"),
            Self::TableMismatch { name, stored, requested } => {
                write!(out, "table `{name}` is stored as {stored}, not as {requested}; open it as it is stored")
            }
            Self::KeyTooLong { .. } | Self::ValueTooLong { .. } | Self::Overflow => self.fmt_limit(out),
            Self::OutOfOrder { index } => write!(
                out,
                "entry {index} of a sorted load is not above the one before it; sort the input, or use the unsorted load"
            ),
            Self::Decode { message } => write!(out, "stored bytes do not fit the table's type: {message}"),
            Self::Input { source } => write!(out, "nothing was loaded: {source}"),
            Self::Invalid { message } => write!(out, "{message}"),
        }
    }
}

fn remedy_of_damage(offence: &str) -> &'static str {
    match offence {
        FOREIGN_LOG => "move it to the directory of its own database",
        offence if offence.ends_with(CUT_OFF) => {
            "restore a backup; without one, `--skip-damaged` of `fulgurite export`, `rdf dump` or `events read` reads the intact entries"
        }
        offence if offence.ends_with(NOTHING_LEFT) => "restore a backup: the file cannot be salvaged",
        // Neither a check nor a salvage can read anything of such an image.
        offence if offence.ends_with(TRUNCATED) => "restore a backup: an image that was cut off cannot be opened",
        _ => "restore a backup, `fulgurite check` lists all damage",
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } | Self::DiskFull { source, .. } => Some(source),
            Self::Input { source } | Self::MergeFunction { source, .. } => Some(&**source),
            Self::Indeterminate { source, .. } | Self::Unmergeable { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

/// A key in a message: of a longer one the first bytes.
struct ShownKey<'k>(&'k [u8]);

impl fmt::Display for ShownKey<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(KEY_BYTES_SHOWN)];
        let more = if shown.len() < self.0.len() { "…" } else { "" };
        write!(out, "\"{}{more}\"", shown.escape_ascii())
    }
}

fn fmt_io(out: &mut fmt::Formatter<'_>, operation: &str, path: &Path, source: &io::Error) -> fmt::Result {
    if path.as_os_str().is_empty() {
        return write!(out, "the path is empty: {operation} failed: {source}; name a file");
    }
    write!(out, "{}: {operation} failed: {source}", path.display())?;
    remedy_of(operation, source.kind()).map_or(Ok(()), |remedy| write!(out, "; {remedy}"))
}

/// What the user can do about an error of the operating system.
fn remedy_of(operation: &str, kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind::{IsADirectory, NotADirectory, PermissionDenied, ReadOnlyFilesystem};

    match kind {
        // The lock is the first file that a writer creates.
        PermissionDenied | ReadOnlyFilesystem if operation == "lock" => {
            Some("the directory must be writable, for the lock and the log; or open read-only")
        }
        PermissionDenied | ReadOnlyFilesystem if operation == "create" => Some("choose a directory that is writable"),
        PermissionDenied => Some("check the permissions of the file and of its directory"),
        IsADirectory => Some("name the file of a database"),
        NotADirectory => Some("a part of the path is a file: check the path"),
        _ => None,
    }
}

fn fmt_disk_full(out: &mut fmt::Formatter<'_>, path: &Path, source: &std::io::Error) -> fmt::Result {
    let remedy =
        "free space on the disk, or raise the disk quota or the file size limit, and try again; nothing was lost";
    write!(out, "{}: no space to grow ({source}); {remedy}", path.display())
}

fn fmt_not_a_database(out: &mut fmt::Formatter<'_>, path: &Path, is_squashfs: bool) -> fmt::Result {
    let path = path.display();
    match is_squashfs {
        true => write!(
            out,
            "{path}: a SquashFS image; mount it (`mount -t squashfs -o loop,ro IMAGE DIRECTORY`), and open the \
             database in it"
        ),
        false => write!(out, "{path}: not a Fulgurite database; check the path"),
    }
}

fn fmt_is_an_image(out: &mut fmt::Formatter<'_>, path: &Path) -> fmt::Result {
    let remedy = "open it read-only, or restore it to a new file and change that";
    write!(out, "{}: is an image, which can only be read; {remedy}", path.display())
}

fn fmt_newer(out: &mut fmt::Formatter<'_>, path: &Path, found: &str) -> fmt::Result {
    write!(out, "{}: written by a newer Fulgurite ({found}); upgrade this one", path.display())
}

fn fmt_not_an_image(out: &mut fmt::Formatter<'_>, path: &Path) -> fmt::Result {
    write!(out, "{}: is a database, but not an image; open it as a database", path.display())
}

fn fmt_no_directory(out: &mut fmt::Formatter<'_>, path: &Path) -> fmt::Result {
    let directory = path.parent().unwrap_or(Path::new("")).display();
    write!(out, "{}: there is no directory {directory}; check the path, or create the directory first", path.display())
}

fn fmt_orphaned_log(out: &mut fmt::Formatter<'_>, path: &Path, segments: &[PathBuf]) -> fmt::Result {
    write!(out, "{}: not created, because there is a log of a database that no longer exists:", path.display())?;
    let names = segments.iter().map(|segment| segment.file_name().unwrap_or(segment.as_os_str()).display());
    names.take(SEGMENTS_NAMED).try_for_each(|name| write!(out, " {name}"))?;
    let others = segments.len().saturating_sub(SEGMENTS_NAMED);
    if others > 0 {
        write!(out, " and {others} more")?;
    }
    out.write_str(
        "; it may hold commits that are nowhere else: put its database back beside it, or, if that was deleted, delete the log too",
    )
}

/// The offence of a log segment that belongs to another database.
pub(crate) const FOREIGN_LOG: &str = "it is the log of another database";
/// The end of what is wrong with a file that is shorter than it was.
pub(crate) const CUT_OFF: &str = "it was cut off";
/// The end of what is wrong with a file that is shorter than it was, and cannot be salvaged.
pub(crate) const NOTHING_LEFT: &str = "it was cut off, and no table can be found";
/// The end of what is wrong with an image that is shorter than it was.
const TRUNCATED: &str = "it was truncated";

const KEY_BYTES_SHOWN: usize = 64;
/// Of a log so many segments are named.
const SEGMENTS_NAMED: usize = 3;
