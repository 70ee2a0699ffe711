"""Exceptions of Fulgurite.

Every exception has ``kind``, the name of the error in all bindings, such as ``"CONFLICT"``.
"""

from __future__ import annotations

__all__ = [
    "ChangesGoneError",
    "ClosedError",
    "ConditionFailedError",
    "ConflictError",
    "CorruptError",
    "DatabaseNotFoundError",
    "Error",
    "IdReusedError",
    "InvalidError",
    "LockedError",
    "NestedError",
    "ReadOnlyError",
    "SocketError",
    "StoppedError",
    "StreamNotFoundError",
    "SyntaxInputError",
    "TableNotFoundError",
    "TombstoneError",
    "WrongVersionError",
]


class Error(Exception):
    """The base of all exceptions of Fulgurite."""

    kind: str = "OTHER"


class ConflictError(Error):
    """Another transaction changed what this one used. Run it again, or use ``Database.update``."""


class ClosedError(Error):
    """The transaction has ended, or the database is closed."""


class TableNotFoundError(Error, KeyError):
    """No table has this name."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class DatabaseNotFoundError(Error):
    """There is no database at this path."""


class CorruptError(Error):
    """A file is damaged."""


class LockedError(Error):
    """Another process, or this one under another name, has the database open for writing.

    Or a closed handle of this process has left a transaction, an iterator or a value open.
    """


class ReadOnlyError(Error):
    """The database or transaction only reads."""


class ChangesGoneError(Error):
    """The log begins after the commit that a change feed was to continue after."""


class StoppedError(Error):
    """The operation was stopped, such as a query by its timeout or another limit."""


class SyntaxInputError(Error, ValueError):
    """An input, such as a document of RDF or a SPARQL text, cannot be parsed."""


class InvalidError(Error, ValueError):
    """An argument is not valid."""


class WrongVersionError(Error):
    """A stream does not have the expected version. Nothing was appended.

    Read the stream again before you retry.
    """

    stream: str
    expected: int | str
    actual: int | None
    """The version of its last event; None if the stream does not exist."""


class ConditionFailedError(Error):
    """An event matches the query of an append's condition. Nothing was appended."""

    position: int


class IdReusedError(Error, ValueError):
    """Some events of an append have ids that the stream has already, but not all in this order."""

    stream: str
    version: int


class StreamNotFoundError(Error, KeyError):
    """There is no such stream, or it was deleted."""

    stream: str

    def __str__(self) -> str:
        return Exception.__str__(self)


class TombstoneError(Error):
    """The stream was deleted for ever: nothing can be appended to it again."""

    stream: str


class NestedError(Error, RuntimeError):
    """A change would wait for ever for a transaction or bulk load of the same thread.

    Within ``EventStore.transact`` and beside an exclusive transaction, write by the transaction, not
    by the store or the database. In the iterable of a sorted bulk load, do not write to the database.
    """


class SocketError(Error, OSError):
    """A socket of an event store failed: no process serves there, or it ended, or the path is not free."""


_CLASSES: dict[str, type[Error]] = {
    "CONFLICT": ConflictError,
    "TRANSACTION_TOO_OLD": ConflictError,
    "CLOSED": ClosedError,
    "TABLE_NOT_FOUND": TableNotFoundError,
    "DATABASE_NOT_FOUND": DatabaseNotFoundError,
    "CORRUPT": CorruptError,
    "LOCKED": LockedError,
    "READ_ONLY": ReadOnlyError,
    "CHANGES_GONE": ChangesGoneError,
    "STOPPED": StoppedError,
    "INPUT": SyntaxInputError,
    "INVALID": InvalidError,
    "OUT_OF_ORDER": InvalidError,
    "KEY_TOO_LONG": InvalidError,
    "VALUE_TOO_LONG": InvalidError,
    "WRONG_VERSION": WrongVersionError,
    "CONDITION_FAILED": ConditionFailedError,
    "ID_REUSED": IdReusedError,
    "STREAM_NOT_FOUND": StreamNotFoundError,
    "TOMBSTONE": TombstoneError,
    "NESTED": NestedError,
    "SOCKET": SocketError,
}


def make(kind: str, text: str) -> Error:
    """Return the exception of a kind. The native module calls it."""
    error = _CLASSES.get(kind, Error)(text)
    error.kind = kind
    return error
