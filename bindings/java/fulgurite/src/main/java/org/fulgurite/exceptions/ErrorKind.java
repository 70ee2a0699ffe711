package org.fulgurite.exceptions;

/**
 * The kinds of errors. {@link FulguriteException#kind()} returns them. {@code docs/reference/errors.md} describes the
 * errors of the engine.
 */
public enum ErrorKind {
    /** A system call failed. */
    IO,
    /** The disk, or the user's disk quota, is full. */
    DISK_FULL,
    /** The database would exceed its maximum size. */
    QUOTA_EXCEEDED,
    /** No database exists at the path. */
    DATABASE_NOT_FOUND,
    /** The directory of the path does not exist. */
    DIRECTORY_NOT_FOUND,
    /** The log of a database exists, but its file is missing. */
    LOG_WITHOUT_DATABASE,
    /** A file already exists at the path of a backup or of a new database. */
    FILE_EXISTS,
    /** The file is not a Fulgurite database. */
    NOT_A_DATABASE,
    /** The file was written by a newer version in a format that this version cannot read. */
    UNSUPPORTED_FORMAT,
    /** A file is damaged. */
    CORRUPT,
    /** Another process, or this one under another name, has the database open for writing. */
    LOCKED,
    /** The file was renamed, replaced or removed while the database was open. */
    MOVED,
    /** A parent process opened the database. */
    FORKED,
    /** A segment of the log is missing. */
    LOG_MISSING,
    /** This process has the database open with other options, or more than once. */
    ALREADY_OPEN,
    /** A write to a database that is open read-only. */
    READ_ONLY,
    /** An earlier sync failed; reopen the database. */
    POISONED,
    /** The outcome of a commit is unknown; reopen the database. */
    INDETERMINATE,
    /** Another transaction has committed a conflicting change. */
    CONFLICT,
    /** Too much was committed since the transaction began to check it for conflicts. */
    TRANSACTION_TOO_OLD,
    /** The log no longer contains the requested changes. */
    CHANGES_GONE,
    /** An operation was stopped before its end, such as a query by one of its limits, or a wait by an interrupt. */
    STOPPED,
    /** The object is closed. */
    CLOSED,
    /** No table has this name, or the table was dropped. */
    TABLE_NOT_FOUND,
    /** A table with this name already exists. */
    TABLE_EXISTS,
    /** The table has other options than the program expects. */
    TABLE_MISMATCH,
    /** A key is longer than 64 MiB. */
    KEY_TOO_LONG,
    /** A value is longer than 4 GiB − 1. */
    VALUE_TOO_LONG,
    /** A merge failed, such as by an exception of its function, or by a sum out of range. */
    UNMERGEABLE,
    /** A merge function failed. Merges report {@link #UNMERGEABLE} for this reason. */
    MERGE_FUNCTION,
    /** The merge function of the table is not registered. */
    MERGE_FUNCTION_MISSING,
    /** A sum is out of range. Merges report {@link #UNMERGEABLE} for this reason. */
    OVERFLOW,
    /** The keys of a sorted load are not in ascending order. */
    OUT_OF_ORDER,
    /** A stored key or value has another type. */
    DECODE,
    /** The input of a bulk load failed, or a document or SPARQL text cannot be parsed. */
    INPUT,
    /** An argument or option is not valid. */
    INVALID,
    /** A bug in Fulgurite. */
    INTERNAL,
    /** An error of the engine that this version of the binding does not know. */
    OTHER
}
