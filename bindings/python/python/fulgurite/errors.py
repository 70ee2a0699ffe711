"""Exceptions of Fulgurite.

Every exception has ``kind``, the name of the error in all bindings, such as ``CONFLICT``.
"""

from __future__ import annotations

__all__ = [
    "ClosedError",
    "ConflictError",
    "CorruptError",
    "DatabaseNotFoundError",
    "Error",
    "InvalidError",
    "LockedError",
    "ReadOnlyError",
    "StoppedError",
    "SyntaxInputError",
    "TableNotFoundError",
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
    """Another process, or this one under another name, has the database open for writing."""


class ReadOnlyError(Error):
    """The database or transaction only reads."""


class StoppedError(Error):
    """The operation was stopped, such as a query by its timeout."""


class SyntaxInputError(Error, ValueError):
    """An input, such as a document of RDF, cannot be parsed."""


class InvalidError(Error, ValueError):
    """An argument is not valid."""


_CLASSES: dict[str, type[Error]] = {
    "CONFLICT": ConflictError,
    "TRANSACTION_TOO_OLD": ConflictError,
    "CLOSED": ClosedError,
    "TABLE_NOT_FOUND": TableNotFoundError,
    "DATABASE_NOT_FOUND": DatabaseNotFoundError,
    "CORRUPT": CorruptError,
    "LOCKED": LockedError,
    "READ_ONLY": ReadOnlyError,
    "STOPPED": StoppedError,
    "INPUT": SyntaxInputError,
    "INVALID": InvalidError,
    "OUT_OF_ORDER": InvalidError,
    "KEY_TOO_LONG": InvalidError,
    "VALUE_TOO_LONG": InvalidError,
}


def make(kind: str, text: str) -> Error:
    """Return the exception of a kind. The native module calls it."""
    error = _CLASSES.get(kind, Error)(text)
    error.kind = kind
    return error
