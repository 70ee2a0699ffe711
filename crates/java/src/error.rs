//! Errors, and how they become Java exceptions.

use std::any::Any;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fulgurite::Error;
use fulgurite_graph::CheckpointError;
use fulgurite_handles::kind::{self, KINDS};
use jni::errors::ErrorPolicy;
use jni::objects::{JThrowable, JValue};
use jni::{Env, jni_sig, jni_str};

/// The result of a native method.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a native method failed.
#[derive(Debug)]
pub enum Failure {
    /// An error of the engine.
    Engine(Error),
    /// An error of an RDF store.
    Store(fulgurite_rdf::Error),
    /// An error of a checkpoint.
    Checkpoint(CheckpointError),
    /// Another transaction has changed what this one has read.
    Changed,
    /// An error of this kind, with a text of its own: it says more, or is that of an earlier call, behind which an
    /// object cannot continue.
    Explained(&'static str, String),
    /// The handle's object was closed.
    Closed,
    /// An argument is not valid.
    Invalid(String),
    /// A call into the virtual machine failed.
    Java(jni::errors::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<fulgurite_rdf::Error> for Failure {
    fn from(error: fulgurite_rdf::Error) -> Self {
        match error {
            fulgurite_rdf::Error::Engine(error) => Self::Engine(error),
            error => Self::Store(error),
        }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::Engine(error) => Self::Engine(error),
            error => Self::Checkpoint(error),
        }
    }
}

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Self::Java(error)
    }
}

/// The kind of an error of a checkpoint.
fn kind_of_checkpoint(error: &CheckpointError) -> &'static str {
    match error {
        CheckpointError::Storage { .. } => "IO",
        CheckpointError::Damaged { .. } => "CORRUPT",
        CheckpointError::NoSuchCheckpoint { .. } => "INVALID",
        _ => "OTHER",
    }
}

/// The text of an error of the engine. A database that does not exist cannot be opened read-only.
fn text_of_engine(error: &Error) -> String {
    match error {
        Error::Locked { path, pid: Some(pid), is_here: false } if *pid == std::process::id() => {
            format!("{}; close it there, wait for it, or open read-only", text_of_holder(path, Some(*pid)))
        }
        Error::Io { operation: "lock", path, source } if is_forbidden(source) && !database_of(path).exists() => {
            let remedy = "the directory must be writable, for the lock and the log; choose another one";
            format!("{}: lock failed: {source}; {remedy}", path.display())
        }
        error => error.to_string(),
    }
}

/// What has a file open. Each class loader has a copy of this library, and takes the lock of another copy for that of
/// another process. The pid alone proves nothing: processes of different containers can have the same one.
fn text_of_holder(path: &Path, pid: Option<u32>) -> String {
    let path = path.display();
    match pid {
        Some(pid) if pid == std::process::id() => format!(
            "{path}: open for writing by pid {pid}, the id of this process: in another class loader, or by a process \
             of another container"
        ),
        Some(pid) => format!("{path}: another process has this store open for writing (pid {pid})"),
        None => format!("{path}: another process has this store open for writing"),
    }
}

fn is_forbidden(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// The database of a lock, whose name is that of the database and `-lock`.
fn database_of(lock: &Path) -> PathBuf {
    let name = lock.file_name().and_then(OsStr::to_str).unwrap_or_default();
    lock.with_file_name(name.strip_suffix("-lock").unwrap_or(name))
}

/// The text of an error of a store, with the names that options have in Java.
fn text_of_store(error: &fulgurite_rdf::Error) -> String {
    match error {
        fulgurite_rdf::Error::LimitReached { what: fulgurite_rdf::LimitKind::Memory, limit } => {
            format!("the query needs more than {limit} bytes of memory; raise queryMemory, or ask for less")
        }
        error => error.to_string(),
    }
}

impl Failure {
    /// The error of a store that cannot be opened. Programs can share a store by a server, and do not wait for it.
    pub fn of_opening(error: fulgurite_rdf::Error) -> Self {
        match error {
            fulgurite_rdf::Error::Engine(Error::Locked { path, pid, is_here: false }) => {
                let holder = text_of_holder(&path, pid);
                let remedy = "shut it down there, open it read-only here (readOnly), or let both programs use a server \
                              (`fulgurite rdf serve`)";
                Self::Explained("LOCKED", format!("{holder}; {remedy}"))
            }
            error => error.into(),
        }
    }

    /// The kind of the error, and its text.
    pub fn kind_and_text(&self) -> (&'static str, String) {
        match self {
            Self::Engine(error) => (kind::of(error), text_of_engine(error)),
            Self::Store(error) => (kind::of_store(error), text_of_store(error)),
            Self::Checkpoint(error) => (kind_of_checkpoint(error), error.to_string()),
            Self::Changed => {
                ("CONFLICT", "another transaction has changed what this one has read; begin it again".to_owned())
            }
            Self::Closed => ("CLOSED", "this object is closed; open or begin a new one".to_owned()),
            Self::Invalid(text) => ("INVALID", text.clone()),
            Self::Explained(kind, text) => (kind, text.clone()),
            Self::Java(error) => ("INTERNAL", format!("a call into the virtual machine failed: {error}")),
        }
    }
}

/// Throws failures and panics as exceptions of the package `org.fulgurite.exceptions`.
pub struct Throw;

/// Throws the exception of a kind, which `org.fulgurite.internal.Exceptions` makes.
fn throw(env: &mut Env<'_>, name: &'static str, text: &str) -> jni::errors::Result<()> {
    let kind = KINDS.iter().position(|known| *known == name).unwrap_or(KINDS.len() - 1) as i32;
    let text = env.new_string(text)?;
    let exception = env
        .call_static_method(
            jni_str!("org/fulgurite/internal/Exceptions"),
            jni_str!("of"),
            jni_sig!("(ILjava/lang/String;)Ljava/lang/RuntimeException;"),
            &[JValue::Int(kind), JValue::Object(&text)],
        )?
        .l()?;
    let exception = env.cast_local::<JThrowable<'_>>(exception)?;
    match env.throw(exception) {
        // This is how a thrown exception is reported.
        Err(jni::errors::Error::JavaException) => Ok(()),
        other => other,
    }
}

impl<T: Default> ErrorPolicy<T, Failure> for Throw {
    type Captures<'local: 'method, 'method> = ();

    fn on_error<'local: 'method, 'method>(
        env: &mut Env<'local>,
        (): &mut Self::Captures<'local, 'method>,
        failure: Failure,
    ) -> jni::errors::Result<T> {
        if !env.exception_check() {
            let (kind, text) = failure.kind_and_text();
            throw(env, kind, &text)?;
        }
        Ok(T::default())
    }

    fn on_panic<'local: 'method, 'method>(
        env: &mut Env<'local>,
        (): &mut Self::Captures<'local, 'method>,
        payload: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no text".to_owned());
        // Dropping a payload may panic again.
        std::mem::forget(payload);
        if !env.exception_check() {
            throw(env, "INTERNAL", &format!("a bug in Fulgurite, please report it: {text}"))?;
        }
        Ok(T::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_another_class_loader_is_not_reported_as_that_of_another_process() {
        let text = |pid| {
            let error = Error::Locked { path: "a.ful".into(), pid, is_here: false };
            let (kind, text) = Failure::from(error).kind_and_text();
            assert_eq!(kind, "LOCKED");
            text
        };
        let own = std::process::id();
        let here = text(Some(own));
        assert!(here.contains("class loader") && here.contains(&own.to_string()), "{here}");
        for pid in [None, Some(own + 1)] {
            assert!(text(pid).contains("another process has this database open"), "{pid:?}");
        }
    }

    #[test]
    fn a_locked_store_has_the_remedies_of_a_store_whatever_the_engine_advises() {
        let own = std::process::id();
        for (pid, holder) in [
            (None, "another process has this store open for writing; ".to_owned()),
            (Some(own + 1), format!("another process has this store open for writing (pid {}); ", own + 1)),
            (Some(own), format!("open for writing by pid {own}, the id of this process: in another class loader")),
        ] {
            let error = Error::Locked { path: "a;b.ful".into(), pid, is_here: false };
            let (kind, text) = Failure::of_opening(error.into()).kind_and_text();
            assert_eq!(kind, "LOCKED");
            assert!(text.starts_with(&format!("a;b.ful: {holder}")), "{text}");
            let remedy = "; shut it down there, open it read-only here (readOnly), or let both programs use a server";
            assert!(text.contains(remedy) && !text.contains("wait for it"), "{text}");
        }
        // The remedy of the engine is right.
        let here = || Error::Locked { path: "a.ful".into(), pid: Some(own), is_here: true };
        let (kind, text) = Failure::of_opening(here().into()).kind_and_text();
        assert_eq!((kind, text), ("LOCKED", here().to_string()));
    }

    #[test]
    fn a_new_database_without_a_lock_is_not_to_be_opened_read_only() {
        let error = |database: &Path, kind: ErrorKind| {
            let path = PathBuf::from(format!("{}-lock", database.display()));
            Error::Io { operation: "lock", path, source: kind.into() }
        };
        let text = |error| Failure::from(error).kind_and_text().1;
        let existing = std::env::current_exe().unwrap();
        let new = existing.with_extension("ful");
        for kind in [ErrorKind::ReadOnlyFilesystem, ErrorKind::PermissionDenied] {
            // The text of the engine, which advises to open read-only.
            let of_engine = error(&existing, kind).to_string();
            assert!(of_engine.contains("read-only"), "{of_engine}");
            assert_eq!(text(error(&existing, kind)), of_engine);
            let refused = text(error(&new, kind));
            assert!(refused.starts_with(&format!("{}-lock: lock failed: ", new.display())), "{refused}");
            assert!(refused.ends_with("must be writable, for the lock and the log; choose another one"), "{refused}");
            assert!(!refused.contains("open read-only"), "{refused}");
        }
        let other = || error(&new, ErrorKind::TimedOut);
        assert_eq!(text(other()), other().to_string());
    }
}
