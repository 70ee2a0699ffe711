package fulgurite

/*
#include <fulgurite.h>
*/
import "C"

import (
	"errors"
	"fmt"
)

// Errors to compare with errors.Is.
var (
	// ErrNotFound says that a key has no value.
	ErrNotFound = errors.New("fulgurite: the key has no value")
	// ErrClosed says that a database, table, transaction, feed, event store, follower or server is closed, has
	// ended or is nil.
	ErrClosed = &Error{Code: int(C.FULGURITE_CLOSED), message: "it is closed, or was not opened"}
	// ErrConflict says that another transaction changed what this one used. Run the transaction again.
	ErrConflict = &Error{Code: int(C.FULGURITE_CONFLICT), message: "the transaction conflicts with another one"}
	// ErrTransactionTooOld says that too much was committed since the transaction began. Run the transaction
	// again.
	ErrTransactionTooOld = &Error{Code: int(C.FULGURITE_TRANSACTION_TOO_OLD), message: "the transaction is too old"}
	// ErrReadOnly says that the database or transaction only reads.
	ErrReadOnly = &Error{Code: int(C.FULGURITE_READ_ONLY), message: "it only reads"}
	// ErrLocked says that another process, or this one under another name, has the database open for writing. Or
	// a closed DB of this process has left a transaction or an iterator open.
	ErrLocked = &Error{Code: int(C.FULGURITE_LOCKED), message: "the database is open for writing elsewhere"}
	// ErrTableNotFound says that no table has the name.
	ErrTableNotFound = &Error{Code: int(C.FULGURITE_TABLE_NOT_FOUND), message: "there is no such table"}
	// ErrTableExists says that a table has the name already.
	ErrTableExists = &Error{Code: int(C.FULGURITE_TABLE_EXISTS), message: "the table exists"}
	// ErrDatabaseNotFound says that there is no database at the path.
	ErrDatabaseNotFound = &Error{Code: int(C.FULGURITE_DATABASE_NOT_FOUND), message: "there is no such database"}
	// ErrChangesGone says that the log begins after the commit that Changes was to continue after.
	ErrChangesGone = &Error{Code: int(C.FULGURITE_CHANGES_GONE), message: "the log begins after this commit"}
	// ErrOutOfOrder says that the keys of a bulk load do not ascend.
	ErrOutOfOrder = &Error{Code: int(C.FULGURITE_OUT_OF_ORDER), message: "the keys do not ascend"}
	// ErrCorrupt says that a file is damaged.
	ErrCorrupt = &Error{Code: int(C.FULGURITE_CORRUPT), message: "a file is damaged"}
	// ErrInvalid says that an argument is not valid.
	ErrInvalid = &Error{Code: int(C.FULGURITE_INVALID), message: "an argument is not valid"}
	// ErrUnmergeable says that a merge failed, such as by an error of its function.
	ErrUnmergeable = &Error{Code: int(C.FULGURITE_UNMERGEABLE), message: "the merge failed"}
	// ErrMergeFunctionMissing says that the database was opened without the merge function of the table.
	ErrMergeFunctionMissing = &Error{
		Code: int(C.FULGURITE_MERGE_FUNCTION_MISSING), message: "the merge function is not registered",
	}
	// ErrWrongVersion says that a stream does not have the version that an append expects.
	ErrWrongVersion = &Error{Code: int(C.FULGURITE_WRONG_VERSION), message: "the stream has another version"}
	// ErrIDReused says that a stream has only some of the IDs of an append.
	ErrIDReused = &Error{Code: int(C.FULGURITE_ID_REUSED), message: "the stream has some of the IDs"}
	// ErrStreamNotFound says that there is no such stream, or it was deleted.
	ErrStreamNotFound = &Error{Code: int(C.FULGURITE_STREAM_NOT_FOUND), message: "there is no such stream"}
	// ErrTombstone says that a stream was deleted for ever.
	ErrTombstone = &Error{Code: int(C.FULGURITE_TOMBSTONE), message: "the stream was deleted for ever"}
	// ErrConditionFailed says that an event matches the query of AppendIf.
	ErrConditionFailed = &Error{Code: int(C.FULGURITE_CONDITION_FAILED), message: "an event matches the query"}
	// ErrSocket says that the socket of an event store failed: no process serves there, or it has ended, or the path
	// is not free.
	ErrSocket = &Error{Code: int(C.FULGURITE_SOCKET), message: "the socket of an event store failed"}
	// ErrTimeout says that a wait has ended without success.
	ErrTimeout = &Error{Code: int(C.FULGURITE_TIMEOUT), message: "the wait has ended without success"}
)

// Error is an error of the library. Two errors are equal for errors.Is if their codes are.
type Error struct {
	// Code is the code of the C library (fulgurite.h).
	Code    int
	message string
}

// Error returns the message.
func (e *Error) Error() string {
	return "fulgurite: " + e.message
}

// Name returns the name of the code, such as "CONFLICT".
func (e *Error) Name() string {
	return C.GoString(C.fulgurite_code_name(C.int(e.Code)))
}

// Is reports whether the target has the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// IsRetryable reports whether a transaction that failed with the error may succeed if it is run again.
func IsRetryable(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrTransactionTooOld)
}

func invalid(format string, arguments ...any) error {
	return &Error{Code: int(C.FULGURITE_INVALID), message: fmt.Sprintf(format, arguments...)}
}
