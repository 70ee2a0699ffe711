"""Fulgurite: an embedded, transactional key-value store in one memory-mapped file.

>>> import fulgurite
>>> with fulgurite.open(path) as db:
...     people = db.table("people", key=str, value=str)
...     people["ada"] = "analytical engine"
...     with db.read() as txn:
...         txn["people"]["ada"]
'analytical engine'

``fulgurite.rdf`` has an RDF store with SPARQL, ``fulgurite.events`` an event store.
"""

from fulgurite import errors
from fulgurite._changes import Change, ChangeFeed, Commit
from fulgurite._database import Database, ReadTransaction, WriteTransaction, open
from fulgurite._native import ArrowStream, Value, __version__
from fulgurite._table import Table
from fulgurite.errors import (
    ChangesGoneError,
    ClosedError,
    ConflictError,
    CorruptError,
    DatabaseNotFoundError,
    Error,
    InvalidError,
    LockedError,
    NestedError,
    ReadOnlyError,
    StoppedError,
    SyntaxInputError,
    TableNotFoundError,
)

__all__ = [
    "ArrowStream",
    "Change",
    "ChangeFeed",
    "ChangesGoneError",
    "ClosedError",
    "Commit",
    "ConflictError",
    "CorruptError",
    "Database",
    "DatabaseNotFoundError",
    "Error",
    "InvalidError",
    "LockedError",
    "NestedError",
    "ReadOnlyError",
    "ReadTransaction",
    "StoppedError",
    "SyntaxInputError",
    "Table",
    "TableNotFoundError",
    "Value",
    "WriteTransaction",
    "__version__",
    "errors",
    "open",
]
