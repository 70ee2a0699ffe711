//! Names for kinds of errors, which bindings turn into exceptions or codes.

#[cfg(feature = "rdf")]
use std::io::ErrorKind;

use fulgurite::Error;

/// All kinds. Bindings number them by this order: never reorder them, only insert before the last two.
pub const KINDS: [&str; 38] = [
    "IO",
    "DISK_FULL",
    "QUOTA_EXCEEDED",
    "DATABASE_NOT_FOUND",
    "DIRECTORY_NOT_FOUND",
    "LOG_WITHOUT_DATABASE",
    "FILE_EXISTS",
    "NOT_A_DATABASE",
    "UNSUPPORTED_FORMAT",
    "CORRUPT",
    "LOCKED",
    "MOVED",
    "FORKED",
    "LOG_MISSING",
    "ALREADY_OPEN",
    "READ_ONLY",
    "POISONED",
    "INDETERMINATE",
    "CONFLICT",
    "TRANSACTION_TOO_OLD",
    "CHANGES_GONE",
    "STOPPED",
    "CLOSED",
    "TABLE_NOT_FOUND",
    "TABLE_EXISTS",
    "TABLE_MISMATCH",
    "KEY_TOO_LONG",
    "VALUE_TOO_LONG",
    "UNMERGEABLE",
    "MERGE_FUNCTION",
    "MERGE_FUNCTION_MISSING",
    "OVERFLOW",
    "OUT_OF_ORDER",
    "DECODE",
    "INPUT",
    "INVALID",
    "INTERNAL",
    "OTHER",
];

/// The kind of an error of the engine.
pub fn of(error: &Error) -> &'static str {
    match error {
        Error::Io { .. } => "IO",
        Error::DiskFull { .. } => "DISK_FULL",
        Error::QuotaExceeded { .. } => "QUOTA_EXCEEDED",
        Error::DatabaseNotFound { .. } => "DATABASE_NOT_FOUND",
        Error::DirectoryNotFound { .. } => "DIRECTORY_NOT_FOUND",
        Error::LogWithoutDatabase { .. } => "LOG_WITHOUT_DATABASE",
        Error::FileExists { .. } => "FILE_EXISTS",
        Error::NotADatabase { .. } | Error::NotAnImage { .. } => "NOT_A_DATABASE",
        Error::UnsupportedFormat { .. } => "UNSUPPORTED_FORMAT",
        Error::Corrupt { .. } => "CORRUPT",
        Error::Locked { .. } => "LOCKED",
        Error::Moved { .. } => "MOVED",
        Error::Forked => "FORKED",
        Error::LogMissing { .. } => "LOG_MISSING",
        Error::AlreadyOpen { .. } => "ALREADY_OPEN",
        Error::ReadOnly { .. } | Error::IsAnImage { .. } => "READ_ONLY",
        Error::Poisoned { .. } => "POISONED",
        Error::Indeterminate { .. } => "INDETERMINATE",
        Error::Conflict { .. } => "CONFLICT",
        Error::TransactionTooOld => "TRANSACTION_TOO_OLD",
        Error::ChangesGone { .. } => "CHANGES_GONE",
        Error::Stopped { .. } => "STOPPED",
        Error::Closed { .. } => "CLOSED",
        Error::TableNotFound { .. } => "TABLE_NOT_FOUND",
        Error::TableExists { .. } => "TABLE_EXISTS",
        Error::TableMismatch { .. } => "TABLE_MISMATCH",
        Error::KeyTooLong { .. } => "KEY_TOO_LONG",
        Error::ValueTooLong { .. } => "VALUE_TOO_LONG",
        Error::Unmergeable { .. } => "UNMERGEABLE",
        Error::MergeFunction { .. } => "MERGE_FUNCTION",
        Error::MergeFunctionMissing { .. } => "MERGE_FUNCTION_MISSING",
        Error::Overflow => "OVERFLOW",
        Error::OutOfOrder { .. } => "OUT_OF_ORDER",
        Error::Decode { .. } => "DECODE",
        Error::Input { .. } => "INPUT",
        Error::Invalid { .. } => "INVALID",
        _ => "OTHER",
    }
}

/// The kind of an error of an RDF store.
#[cfg(feature = "rdf")]
pub fn of_store(error: &fulgurite_rdf::Error) -> &'static str {
    use fulgurite_rdf::Error as Store;
    match error {
        Store::NotAStore { .. } => "NOT_A_DATABASE",
        Store::StoreExists { .. } => "FILE_EXISTS",
        Store::Unsupported { .. } => "UNSUPPORTED_FORMAT",
        Store::Damaged { .. } => "CORRUPT",
        Store::WriterBusy { .. } => "CONFLICT",
        Store::TransactionEnded => "CLOSED",
        Store::Syntax { .. }
        | Store::SparqlSyntax { .. }
        | Store::QueryTooDeep { .. }
        | Store::QueryTooLong { .. }
        | Store::AggregatesTooDeep { .. }
        | Store::FunctionUnknown { .. } => "INPUT",
        // A file that is cut off or badly compressed has been read, and its bytes are wrong.
        Store::Input { source, .. } if matches!(source.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
            "INPUT"
        }
        Store::Input { .. } | Store::Scratch { .. } | Store::Output { .. } | Store::Thread { .. } => "IO",
        Store::Cancelled | Store::TimedOut { .. } | Store::LimitReached { .. } | Store::PatternExhausted { .. } => {
            "STOPPED"
        }
        Store::Internal { .. } => "INTERNAL",
        Store::Invalid { .. }
        | Store::TooDeep { .. }
        | Store::NoSuchTerm { .. }
        | Store::MemoryUncounted { .. }
        | Store::ServiceUnsupported { .. }
        | Store::LoadRefused { .. }
        | Store::Graph { .. }
        | Store::Unwritable { .. } => "INVALID",
        _ => "OTHER",
    }
}
