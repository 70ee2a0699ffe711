//! Codes and messages of errors.
#![allow(unsafe_code)] // Functions of C.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fulgurite::Error;
use fulgurite_handles::kind;

/// What a function returns. The numbers never change.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names)] // The prefix of every constant in C.
pub enum fulgurite_code {
    /// The call succeeded.
    FULGURITE_OK = 0,
    /// The key has no value, there is no such entry, or no such table after this one. There is no message.
    FULGURITE_NOT_FOUND = -1,
    /// The key has a value already. There is no message.
    FULGURITE_KEY_EXISTS = -2,
    /// The object of the handle is closed, or the handle was never valid.
    FULGURITE_CLOSED = -3,
    /// An argument is not valid.
    FULGURITE_INVALID = -4,
    /// Another transaction has changed what this one used. Begin it again.
    FULGURITE_CONFLICT = -5,
    /// Too much was committed since the transaction began. Begin it again.
    FULGURITE_TRANSACTION_TOO_OLD = -6,
    /// A wait has ended without success.
    FULGURITE_TIMEOUT = -7,
    /// A system call failed.
    FULGURITE_IO = -8,
    /// The disk or the user's disk quota is full.
    FULGURITE_DISK_FULL = -9,
    /// The database would exceed its largest size.
    FULGURITE_QUOTA_EXCEEDED = -10,
    /// There is no database at this path.
    FULGURITE_DATABASE_NOT_FOUND = -11,
    /// The directory of the path does not exist.
    FULGURITE_DIRECTORY_NOT_FOUND = -12,
    /// The log of a missing database is at this path.
    FULGURITE_LOG_WITHOUT_DATABASE = -13,
    /// There is a file at the path of the backup or image.
    FULGURITE_FILE_EXISTS = -14,
    /// The file is not a database, or not an image.
    FULGURITE_NOT_A_DATABASE = -15,
    /// A newer version has written the file.
    FULGURITE_UNSUPPORTED_FORMAT = -16,
    /// The file is damaged.
    FULGURITE_CORRUPT = -17,
    /// Another process, or this one under another name, has the database open for writing. Or a
    /// closed handle of this process still has an open transaction.
    FULGURITE_LOCKED = -18,
    /// A file of the database was moved while it was open.
    FULGURITE_MOVED = -19,
    /// A parent process opened the database. Open it again in this process.
    FULGURITE_FORKED = -20,
    /// A segment of the log is missing.
    FULGURITE_LOG_MISSING = -21,
    /// This process has the database open with other options.
    FULGURITE_ALREADY_OPEN = -22,
    /// The database or transaction is read-only.
    FULGURITE_READ_ONLY = -23,
    /// An earlier sync failed. Open the database again.
    FULGURITE_POISONED = -24,
    /// It is unknown whether the commit survives. Open the database again.
    FULGURITE_INDETERMINATE = -25,
    /// The operation was stopped.
    FULGURITE_STOPPED = -26,
    /// No table has this name.
    FULGURITE_TABLE_NOT_FOUND = -27,
    /// A table has this name already.
    FULGURITE_TABLE_EXISTS = -28,
    /// The table has other options.
    FULGURITE_TABLE_MISMATCH = -29,
    /// The key is too long.
    FULGURITE_KEY_TOO_LONG = -30,
    /// The value is too long.
    FULGURITE_VALUE_TOO_LONG = -31,
    /// A merge failed, such as by an error of its function or a sum out of range.
    FULGURITE_UNMERGEABLE = -32,
    /// The keys of a sorted load do not ascend.
    FULGURITE_OUT_OF_ORDER = -33,
    /// The callback that returns entries has failed.
    FULGURITE_INPUT = -34,
    /// A bug in Fulgurite.
    FULGURITE_INTERNAL = -35,
    /// Another error; the message has the reason.
    FULGURITE_OTHER = -36,
    /// The log begins after the commit that a change feed was to continue after.
    FULGURITE_CHANGES_GONE = -37,
    /// A sum is out of range. Merges report this as FULGURITE_UNMERGEABLE.
    FULGURITE_OVERFLOW = -38,
    /// The merge function of the table was not registered when the database was opened.
    FULGURITE_MERGE_FUNCTION_MISSING = -39,
    /// The stream does not have the expected version. Read it again, then decide again.
    FULGURITE_WRONG_VERSION = -40,
    /// Some events of an append have ids that the stream has already, but not all of them in this order.
    FULGURITE_ID_REUSED = -41,
    /// There is no such stream, or it was deleted.
    FULGURITE_STREAM_NOT_FOUND = -42,
    /// The stream was deleted for ever: nothing can be appended to it.
    FULGURITE_TOMBSTONE = -43,
    /// An event matches the query of an append. Read again, then decide again.
    FULGURITE_CONDITION_FAILED = -44,
    /// The socket of an event store failed: no process serves there, or it has ended, or the path is not free.
    FULGURITE_SOCKET = -45,
}

pub use fulgurite_code as Code;

/// All codes with their names.
const NAMES: [(Code, &CStr, &str); 46] = {
    use fulgurite_code::*;
    [
        (FULGURITE_OK, c"OK", "OK"),
        (FULGURITE_NOT_FOUND, c"NOT_FOUND", "NOT_FOUND"),
        (FULGURITE_KEY_EXISTS, c"KEY_EXISTS", "KEY_EXISTS"),
        (FULGURITE_CLOSED, c"CLOSED", "CLOSED"),
        (FULGURITE_INVALID, c"INVALID", "INVALID"),
        (FULGURITE_CONFLICT, c"CONFLICT", "CONFLICT"),
        (FULGURITE_TRANSACTION_TOO_OLD, c"TRANSACTION_TOO_OLD", "TRANSACTION_TOO_OLD"),
        (FULGURITE_TIMEOUT, c"TIMEOUT", "TIMEOUT"),
        (FULGURITE_IO, c"IO", "IO"),
        (FULGURITE_DISK_FULL, c"DISK_FULL", "DISK_FULL"),
        (FULGURITE_QUOTA_EXCEEDED, c"QUOTA_EXCEEDED", "QUOTA_EXCEEDED"),
        (FULGURITE_DATABASE_NOT_FOUND, c"DATABASE_NOT_FOUND", "DATABASE_NOT_FOUND"),
        (FULGURITE_DIRECTORY_NOT_FOUND, c"DIRECTORY_NOT_FOUND", "DIRECTORY_NOT_FOUND"),
        (FULGURITE_LOG_WITHOUT_DATABASE, c"LOG_WITHOUT_DATABASE", "LOG_WITHOUT_DATABASE"),
        (FULGURITE_FILE_EXISTS, c"FILE_EXISTS", "FILE_EXISTS"),
        (FULGURITE_NOT_A_DATABASE, c"NOT_A_DATABASE", "NOT_A_DATABASE"),
        (FULGURITE_UNSUPPORTED_FORMAT, c"UNSUPPORTED_FORMAT", "UNSUPPORTED_FORMAT"),
        (FULGURITE_CORRUPT, c"CORRUPT", "CORRUPT"),
        (FULGURITE_LOCKED, c"LOCKED", "LOCKED"),
        (FULGURITE_MOVED, c"MOVED", "MOVED"),
        (FULGURITE_FORKED, c"FORKED", "FORKED"),
        (FULGURITE_LOG_MISSING, c"LOG_MISSING", "LOG_MISSING"),
        (FULGURITE_ALREADY_OPEN, c"ALREADY_OPEN", "ALREADY_OPEN"),
        (FULGURITE_READ_ONLY, c"READ_ONLY", "READ_ONLY"),
        (FULGURITE_POISONED, c"POISONED", "POISONED"),
        (FULGURITE_INDETERMINATE, c"INDETERMINATE", "INDETERMINATE"),
        (FULGURITE_STOPPED, c"STOPPED", "STOPPED"),
        (FULGURITE_TABLE_NOT_FOUND, c"TABLE_NOT_FOUND", "TABLE_NOT_FOUND"),
        (FULGURITE_TABLE_EXISTS, c"TABLE_EXISTS", "TABLE_EXISTS"),
        (FULGURITE_TABLE_MISMATCH, c"TABLE_MISMATCH", "TABLE_MISMATCH"),
        (FULGURITE_KEY_TOO_LONG, c"KEY_TOO_LONG", "KEY_TOO_LONG"),
        (FULGURITE_VALUE_TOO_LONG, c"VALUE_TOO_LONG", "VALUE_TOO_LONG"),
        (FULGURITE_UNMERGEABLE, c"UNMERGEABLE", "UNMERGEABLE"),
        (FULGURITE_OUT_OF_ORDER, c"OUT_OF_ORDER", "OUT_OF_ORDER"),
        (FULGURITE_INPUT, c"INPUT", "INPUT"),
        (FULGURITE_INTERNAL, c"INTERNAL", "INTERNAL"),
        (FULGURITE_OTHER, c"OTHER", "OTHER"),
        (FULGURITE_CHANGES_GONE, c"CHANGES_GONE", "CHANGES_GONE"),
        (FULGURITE_OVERFLOW, c"OVERFLOW", "OVERFLOW"),
        (FULGURITE_MERGE_FUNCTION_MISSING, c"MERGE_FUNCTION_MISSING", "MERGE_FUNCTION_MISSING"),
        (FULGURITE_WRONG_VERSION, c"WRONG_VERSION", "WRONG_VERSION"),
        (FULGURITE_ID_REUSED, c"ID_REUSED", "ID_REUSED"),
        (FULGURITE_STREAM_NOT_FOUND, c"STREAM_NOT_FOUND", "STREAM_NOT_FOUND"),
        (FULGURITE_TOMBSTONE, c"TOMBSTONE", "TOMBSTONE"),
        (FULGURITE_CONDITION_FAILED, c"CONDITION_FAILED", "CONDITION_FAILED"),
        (FULGURITE_SOCKET, c"SOCKET", "SOCKET"),
    ]
};

/// Why a call did not succeed.
#[derive(Debug)]
pub struct Failure {
    code: Code,
    /// Empty for the codes that are no errors.
    pub message: String,
}

/// The result of a call.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure of an argument.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { code: Code::FULGURITE_INVALID, message: message.into() }
    }

    /// A failure with a message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// There is no such key, entry or table.
    pub const NOT_FOUND: Self = Self { code: Code::FULGURITE_NOT_FOUND, message: String::new() };

    /// The key has a value.
    pub const KEY_EXISTS: Self = Self { code: Code::FULGURITE_KEY_EXISTS, message: String::new() };

    /// The object is closed.
    pub fn closed(object: &str) -> Self {
        let message = format!("this {object} is closed or was never open; open or begin a new one");
        Self { code: Code::FULGURITE_CLOSED, message }
    }

    /// A call of the object has panicked.
    pub fn broken() -> Self {
        let message = "an earlier call of this object failed with an internal error; close the object";
        Self { code: Code::FULGURITE_INTERNAL, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let name = kind::of(&error);
        let code = NAMES.iter().find(|(_, _, known)| *known == name).map_or(Code::FULGURITE_OTHER, |row| row.0);
        Self { code, message: error.to_string() }
    }
}

impl From<fulgurite_events::Error> for Failure {
    fn from(error: fulgurite_events::Error) -> Self {
        use fulgurite_events::Error as Store;
        let code = match error {
            Store::Engine(error) => return (*error).into(),
            Store::WrongVersion { .. } => Code::FULGURITE_WRONG_VERSION,
            Store::IdReused { .. } => Code::FULGURITE_ID_REUSED,
            Store::StreamNotFound { .. } => Code::FULGURITE_STREAM_NOT_FOUND,
            Store::Tombstone { .. } => Code::FULGURITE_TOMBSTONE,
            Store::ConditionFailed { .. } => Code::FULGURITE_CONDITION_FAILED,
            Store::NotEvents { .. } => Code::FULGURITE_NOT_A_DATABASE,
            Store::NewerLayout { .. } => Code::FULGURITE_UNSUPPORTED_FORMAT,
            Store::OtherOptions { .. } => Code::FULGURITE_ALREADY_OPEN,
            Store::Damaged { .. } => Code::FULGURITE_CORRUPT,
            Store::Invalid { .. } => Code::FULGURITE_INVALID,
            Store::Socket { .. } => Code::FULGURITE_SOCKET,
            _ => Code::FULGURITE_OTHER,
        };
        Self { code, message: text_of_ended(&error).unwrap_or_else(|| error.to_string()) }
    }
}

/// The message of a follower whose connection the other process has ended, for which the system has only "unexpected
/// end of file".
fn text_of_ended(error: &fulgurite_events::Error) -> Option<String> {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match error {
        fulgurite_events::Error::Socket { path, source, is_server: false }
            if matches!(source.kind(), UnexpectedEof | ConnectionReset | BrokenPipe) =>
        {
            Some(format!(
                "{}: the process that serves the event store has ended the connection; check that it serves, then \
                 connect again at the position of the follower",
                path.display()
            ))
        }
        _ => None,
    }
}

thread_local! {
    /// The message of the last failure of this thread.
    static MESSAGE: RefCell<CString> = RefCell::default();

    /// The callback of the program that runs on this thread while locks of the library may be held.
    static CALLBACK: Cell<Option<Callback>> = const { Cell::new(None) };
}

/// A callback that cannot call the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callback {
    /// A merge function, which may only set its outcome.
    Merge,
    /// The release of a merge function's context.
    Release,
}

/// Whether a merge function of the program runs on this thread, and no release that it has caused.
pub fn is_merging() -> bool {
    CALLBACK.get() == Some(Callback::Merge)
}

/// Calls a callback of the program.
pub fn calling_back<R>(callback: Callback, call: impl FnOnce() -> R) -> R {
    let outer = CALLBACK.replace(Some(callback));
    let result = call();
    CALLBACK.set(outer);
    result
}

/// Fails in a callback: objects that a call would wait for may be locked by the caller of the callback.
///
/// # Errors
/// If a callback runs on this thread.
pub fn check_no_callback() -> Result<()> {
    match CALLBACK.get() {
        None => Ok(()),
        Some(Callback::Merge) => {
            let message = "a merge function cannot call this; compute the value from what the function gets";
            Err(Failure::invalid(message))
        }
        Some(Callback::Release) => {
            let message = "a release callback cannot call this; call it after the function that releases has returned";
            Err(Failure::invalid(message))
        }
    }
}

/// Runs the body of a function. Keeps the message of a failure for this thread, and turns panics into failures. In a
/// callback it fails, as [`check_no_callback`] does.
pub fn guarded(body: impl FnOnce() -> Result<()>) -> c_int {
    guarded_in_callbacks(|| {
        check_no_callback()?;
        body()
    })
}

/// As [`guarded`], for bodies that run in a callback too.
pub fn guarded_in_callbacks(body: impl FnOnce() -> Result<()>) -> c_int {
    // A panic leaves no object half changed: locks of the objects are poisoned by it.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Code::FULGURITE_OK as c_int,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::new(Code::FULGURITE_INTERNAL, text_of_panic(payload)),
    };
    if !failure.message.is_empty() {
        // Texts of C end at the first byte 0; names of files and keys in messages have none.
        let text = CString::new(failure.message.replace('\0', "\\0")).unwrap_or_default();
        // While a thread ends there is no place for messages.
        let _ = MESSAGE.try_with(|message| message.replace(text));
    }
    failure.code as c_int
}

fn text_of_panic(payload: Box<dyn Any + Send>) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_owned());
    // Dropping a payload may panic again.
    std::mem::forget(payload);
    format!("a bug in Fulgurite, please report it: {text}")
}

/// Returns the message of the last error of the calling thread, as UTF-8. It is valid until the
/// next error of this thread. Empty if there was no error.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_error_message() -> *const c_char {
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the name of a code, such as "CONFLICT". Never NULL.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_code_name(code: c_int) -> *const c_char {
    NAMES.iter().find(|(known, _, _)| *known as c_int == code).map_or(c"UNKNOWN", |row| row.1).as_ptr()
}

/// Whether a transaction that failed with this code may succeed if it is begun again.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_is_retryable(code: c_int) -> bool {
    [Code::FULGURITE_CONFLICT, Code::FULGURITE_TRANSACTION_TOO_OLD].iter().any(|known| *known as c_int == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_error_of_the_engine_has_a_code_or_is_rare() {
        // The first is the reason of UNMERGEABLE. The library has no typed values.
        let without = ["MERGE_FUNCTION", "DECODE"];
        for kind in kind::KINDS {
            let known = NAMES.iter().any(|(_, _, name)| *name == kind);
            assert_ne!(known, without.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn a_panic_is_an_error_with_its_text() {
        assert_eq!(guarded(|| panic!("a planted fault")), Code::FULGURITE_INTERNAL as c_int);
        let message = MESSAGE.with_borrow(|message| message.to_string_lossy().into_owned());
        assert!(message.ends_with("a planted fault"), "{message}");
    }

    #[test]
    fn codes_are_numbered_downwards_without_gaps() {
        for (position, (code, name, text)) in NAMES.iter().enumerate() {
            assert_eq!(*code as c_int, -(position as c_int));
            assert_eq!(name.to_str().unwrap(), *text);
        }
    }
}
