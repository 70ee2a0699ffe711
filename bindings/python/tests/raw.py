"""Does what programs in other languages can do, and the package does not: bytes and types that do not fit."""

import ctypes
import os
import unittest
from pathlib import Path

import fulgurite


class _Handle(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64)]


def put(path: Path, table: str, key: bytes, value: bytes) -> None:
    """Store an entry in a table of a database that is closed. Skip the test if there is no C library."""
    place = os.environ.get("FULGURITE_LIBRARY")
    if place is None:
        raise unittest.SkipTest("FULGURITE_LIBRARY is not set to the path of the C library")
    library = ctypes.CDLL(place)
    library.fulgurite_error_message.restype = ctypes.c_char_p

    def call(name: str, *arguments: object) -> None:
        if getattr(library, name)(*arguments) != 0:
            raise AssertionError(f"{name}: {library.fulgurite_error_message()!r}")

    database, opened, txn = _Handle(), _Handle(), _Handle()
    call("fulgurite_open", os.fsencode(path), None, ctypes.byref(database))
    call("fulgurite_open_table", database, table.encode(), ctypes.byref(opened))
    call("fulgurite_begin_write", database, ctypes.byref(txn))
    size = ctypes.c_size_t
    call("fulgurite_put", txn, opened, key, size(len(key)), value, size(len(value)))
    call("fulgurite_commit", txn, None)
    call("fulgurite_close_table", opened)
    call("fulgurite_close", database)


def create_table(db: fulgurite.Database, name: str, key: str) -> None:
    """Create a table whose keys have a type of another program."""
    db._source.create_table(name, key, "", False, False)  # noqa: SLF001
