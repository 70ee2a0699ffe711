"""Databases and transactions."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypeVar

from fulgurite import _native
from fulgurite._changes import ChangeFeed
from fulgurite._closable import Closable
from fulgurite._table import Table
from fulgurite.errors import ConflictError, TableNotFoundError

__all__ = ["Database", "ReadTransaction", "WriteTransaction", "open"]

_T = TypeVar("_T")
FilePath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Durability: TypeAlias = Literal["memory", "log", "disk"]
Isolation: TypeAlias = Literal["serializable", "snapshot"]
MergeFunction: TypeAlias = Callable[[bytes, bytes | None, list[bytes]], bytes]
"""Returns the new value of a key, from the key, its value (None without one), and operands.

All are stored bytes. The operands are those that one transaction merges into the key, in order.
"""

_NAMES: dict[object, str] = {int: "i64", float: "f64", str: "string", bytes: "bytes", bool: "bool"}
_ATTEMPTS = 100
_YIELDS = 4


def type_name(kind: Any) -> str:
    """Return the name of a type: a Python type, a tuple of types, or a name. It is empty for bytes.

    Raises ``InvalidError`` for a name that is not a type.
    """
    name = _name_of(kind)
    if name:
        _native.check_type(name)
    return name


def _name_of(kind: Any) -> str:
    if kind is None or kind is bytes:
        return ""
    if isinstance(kind, str):
        return kind
    if isinstance(kind, tuple):
        elements: tuple[Any, ...] = kind  # pyright: ignore[reportUnknownVariableType]
        return "(" + ",".join(_name_of(element) or "bytes" for element in elements) + ")"
    if kind in _NAMES:
        return _NAMES[kind]
    raise TypeError(f"{kind!r} is not a type of keys or values; use int, float, str, bytes, bool, a tuple, or a name")


class Source:
    """What databases and transactions have in common: tables by name."""

    __slots__ = ("_source",)

    def __init__(self, source: _native.Source) -> None:
        self._source = source

    def __getitem__(self, name: str) -> Table:
        return Table(self._source, self._source.open_table(name))

    def __contains__(self, name: object) -> bool:
        return name in self.tables()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables())

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted."""
        return [table.name for table in self._source.tables()]

    def bind(self, table: Table) -> Table:
        """Return the same table, read and changed by this transaction or database."""
        if not isinstance(table, Table):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"table must be a Table, not {type(table).__name__}; use db[name]")
        return Table(self._source, table._table)  # pyright: ignore[reportPrivateUsage]

    @property
    def sequence(self) -> int:
        """The sequence of the newest commit that it sees."""
        return self._source.sequence()


class ReadTransaction(Source):
    """A snapshot: one state of the database, whatever others commit.

    Use it as a context manager, or end it: until then, the file cannot reuse the pages of the
    snapshot. Any number of threads may use it at once.
    """

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the transaction. Does nothing the second time."""
        self._source.end()


class WriteTransaction(Source):
    """Changes that are committed together or not at all.

    As a context manager, it commits at the end, and aborts if there is an exception. Threads may
    share it: their calls run one after the other.
    """

    __slots__ = ("_has_ended",)

    def __init__(self, source: _native.Source) -> None:
        super().__init__(source)
        self._has_ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        if kind is not None:
            self.abort()
        elif not self._has_ended:
            self.commit()

    def create_table(
        self,
        name: str,
        *,
        key: Any = None,
        value: Any = None,
        counted: bool = False,
        packed: bool = False,
        merge: str | None = None,
        merge_function: str | None = None,
    ) -> Table:
        """Create a table, as ``Database.create_table``."""
        names = (type_name(key), type_name(value))
        made = self._source.create_table(name, *names, counted, packed, merge, merge_function)
        return Table(self._source, made)

    def drop_table(self, name: str) -> None:
        """Remove a table and its entries."""
        self._source.drop_table(self._source.open_table(name))

    def savepoint(self) -> int:
        """Make a savepoint for ``rollback_to``."""
        return self._source.savepoint()

    def rollback_to(self, savepoint: int) -> None:
        """Undo all changes after a savepoint. It can be used again; later ones become invalid."""
        self._source.rollback_to(savepoint)

    def commit(self, durability: Durability | None = None) -> int:
        """Commit, and return the sequence of the commit. The transaction ends, also after an error.

        ``durability`` is that of ``open`` by default. Raises ``ConflictError`` if another transaction
        has changed what this one used.
        """
        self._has_ended = True
        return self._source.commit(durability)

    def abort(self) -> None:
        """Drop all changes. Does nothing after the end."""
        self._has_ended = True
        self._source.end()


class Database(Closable, Source):
    """An open database. Any number of threads may use it at once."""

    __slots__ = ("_path",)

    def __init__(self, source: _native.Source, path: str) -> None:
        """``open`` makes databases; programs do not."""
        super().__init__(source)
        self._path = path

    def __repr__(self) -> str:
        return f"<fulgurite.Database {self._path!r}>"

    @property
    def path(self) -> str:
        """The path that was opened."""
        return self._path

    def close(self) -> None:
        """Merge all commits into the file, and close it. Does nothing the second time.

        It aborts an exclusive transaction that this thread has begun, and waits for one of another
        thread to end. Other open transactions can still read, but no longer commit. If a process has
        opened the database several times, it stays open until the last opening is closed.
        """
        self._source.end()

    def read(self, *, durable: bool = False) -> ReadTransaction:
        """Begin a read transaction; with ``durable``, one that shows only durable commits."""
        return ReadTransaction(self._source.read(durable))

    def write(self, *, isolation: Isolation | None = None) -> WriteTransaction:
        """Begin a write transaction. Any number of them may run at once.

        It waits while an exclusive transaction or a bulk load of another thread runs. ``isolation`` is
        that of ``open`` by default.
        """
        return WriteTransaction(self._source.write(isolation))

    def exclusive(self, timeout: float = 60.0) -> WriteTransaction:
        """Begin an exclusive write transaction: no other one commits until it ends, so it never conflicts.

        Until then, its thread must write by it only, such as ``txn["t"][key] = value``. Other writes
        (``db["t"][key] = value``) and write transactions wait until it ends. On the same thread they
        raise ``NestedError``, and ``db.close()`` aborts the transaction.

        Raises ``TimeoutError`` if another exclusive transaction or a bulk load has not ended within
        ``timeout`` seconds.
        """
        source = self._source.exclusive(timeout)
        if source is None:
            raise TimeoutError(f"another exclusive transaction has not ended within {timeout} seconds")
        return WriteTransaction(source)

    def update(self, change: Callable[[WriteTransaction], _T]) -> _T:
        """Call ``change`` with a write transaction, commit, and return its result.

        After a conflict it is called again, in a new transaction, so it should have no other effects.
        After 100 attempts, ``ConflictError`` is raised. If ``change`` raises an exception, nothing is
        committed.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self.write() as txn:
                    result = change(txn)
                return result
            except ConflictError:
                if attempt == _ATTEMPTS:
                    raise
            if attempt > _YIELDS:
                time.sleep(min(0.05, 0.0005 * 2 ** min(attempt - _YIELDS, 7)) * random.uniform(0.5, 1.0))
        raise AssertionError("the last attempt has returned or raised")

    def table(
        self,
        name: str,
        *,
        key: Any = None,
        value: Any = None,
        counted: bool = False,
        packed: bool = False,
        merge: str | None = None,
        merge_function: str | None = None,
    ) -> Table:
        """Return a table, and create it if it does not exist.

        ``key`` and ``value`` are types: ``int``, ``float``, ``str``, ``bytes``, ``bool``, tuples of
        these, or names such as ``"(u32,string)"``; another name raises ``InvalidError``. If any type or
        option is given, an existing table must have all of them: otherwise an ``Error`` of the kind
        ``TABLE_MISMATCH`` is raised. ``counted`` keeps exact counts of ranges fast while changes wait
        for a checkpoint. ``packed`` stores only the part of a key that differs from the key before it.
        ``merge`` is a merge operator, such as ``"add"``; ``merge_function`` is the name of a function of
        ``open``.
        """
        if key is None and value is None and merge is None and merge_function is None and not counted and not packed:
            try:
                return self[name]
            except TableNotFoundError:
                pass
        names = (type_name(key), type_name(value))
        made = self._source.open_or_create_table(name, *names, counted, packed, merge, merge_function)
        return Table(self._source, made)

    def create_table(
        self,
        name: str,
        *,
        key: Any = None,
        value: Any = None,
        counted: bool = False,
        packed: bool = False,
        merge: str | None = None,
        merge_function: str | None = None,
    ) -> Table:
        """Create a table. The options are those of ``table``.

        Raises an ``Error`` of the kind ``TABLE_EXISTS`` if a table has the name.
        """
        names = (type_name(key), type_name(value))
        made = self._source.create_table(name, *names, counted, packed, merge, merge_function)
        return Table(self._source, made)

    def drop_table(self, name: str) -> None:
        """Remove a table and its entries."""
        self._source.drop_table(self._source.open_table(name))

    def rename_table(self, name: str, to: str) -> Table:
        """Rename a table."""
        return Table(self._source, self._source.rename_table(self._source.open_table(name), to))

    def bulk_load(
        self, table: Table, pairs: Iterable[tuple[Any, Any]], *, is_sorted: bool = False
    ) -> tuple[int, int]:
        """Load entries, all of them or none. Return the numbers of inserted and replaced keys.

        It is faster than transactions, takes constant memory, and is durable when it returns. With
        ``is_sorted``, keys must ascend: otherwise ``InvalidError`` is raised. Other commits wait until
        the load ends, so the iterable must not change, checkpoint or close the database: on the same
        thread, such calls raise ``NestedError``.

        Without ``is_sorted``, the iterable is read before others wait. Its entries are sorted in at
        most 256 MiB of memory and in temporary files beside the database.
        """
        if not isinstance(table, Table):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"table must be a Table, not {type(table).__name__}; use db[name]")
        return self._source.bulk_load(table._table, pairs, is_sorted)  # pyright: ignore[reportPrivateUsage]

    def changes(self, after: int = 0) -> ChangeFeed:
        """Return the commits after the one with this sequence, in order, up to the newest durable one.

        The database must be open with ``keep_log_bytes``. Store the sequence of the last commit that
        you have processed, and continue after it. If the log begins later, this raises
        ``ChangesGoneError``: copy the data from ``read(durable=True)``, and continue after its
        ``sequence``.

        >>> with db.changes(after=seen) as feed:
        ...     for commit in feed:
        ...         seen = commit.sequence
        """
        return ChangeFeed(self._source.changes(after))

    def wait_durable(self, after: int, timeout: float) -> int:
        """Wait for a durable commit after the one with this sequence, at most ``timeout`` seconds.

        Return the sequence of the newest durable commit, which is ``after`` if none followed.
        Commits that are visible but not durable are made durable.
        """
        return self._source.wait_durable(after, timeout)

    def sync(self) -> int:
        """Make all commits so far durable, and return the sequence of the newest one."""
        return self._source.sync()

    def checkpoint(self) -> None:
        """Merge all commits so far into the file, and free the log."""
        self._source.checkpoint()

    def compact(self) -> int:
        """Remove unused space from the file, and return by how many bytes it shrank."""
        return self._source.compact()

    def backup(self, path: FilePath) -> None:
        """Copy the newest committed state to a new file. There must be no file at the path."""
        self._source.backup(os.fsdecode(path))

    def write_image(self, path: FilePath, *, level: int | None = None) -> None:
        """Copy the newest committed state to a new compressed file (``open(path, image=True)``).

        ``level`` is that of Zstandard, from 1 to 22; 8 by default.
        """
        self._source.write_image(os.fsdecode(path), level)

    def check(self) -> list[str]:
        """Check every page of the newest checkpoint, and return the damages.

        Commits after the checkpoint are not checked.
        """
        return self._source.check()

    def stats(self) -> dict[str, int]:
        """Return statistics: sizes in bytes, the number of tables, and sequences of commits."""
        return self._source.stats()


def open(
    path: FilePath,
    *,
    create: bool = True,
    read_only: bool = False,
    image: bool = False,
    durability: Durability | None = None,
    isolation: Isolation | None = None,
    map: bool = True,
    huge_pages: bool = True,
    background: bool = True,
    page_size_bytes: int | None = None,
    cache_bytes: int | None = None,
    delta_bytes: int | None = None,
    write_set_bytes: int | None = None,
    max_size_bytes: int | None = None,
    keep_log_bytes: int | None = None,
    wait_for_lock: float = 0.0,
    checkpoint_interval: float = 0.0,
    merge_functions: Mapping[str, MergeFunction] | None = None,
) -> Database:
    """Open a database, and create it if it does not exist (unless ``create`` is false).

    Use the result as a context manager, or close it. ``read_only`` opens it for reading only,
    ``image`` opens an image. ``durability`` says what a commit survives: "memory" nothing, "log" a
    crash of the process, "disk" a power cut (the default). ``isolation`` says what a commit checks:
    "serializable" all that the transaction read and wrote (the default), "snapshot" what it wrote.

    - ``map=False`` does not map the file into memory, so that errors of the disk are exceptions and
      not signals (SIGBUS). ``cache_bytes`` is the page cache then: 64 MiB by default.
    - ``background=False`` runs no checkpoints in the background.
    - ``page_size_bytes`` of a new database is 8192 or 16384, the default.
    - ``delta_bytes`` is the memory for commits before a checkpoint writes them to the file: by
      default a 64th of the memory of the machine, at least 64 MiB and at most 384 MiB.
    - ``write_set_bytes`` is the memory for the changes of one transaction, which are spilled to the
      file above it: by default half of ``delta_bytes``, at least 64 MiB and at most 192 MiB.
    - ``max_size_bytes`` limits the size of the file. There is no limit by default.
    - ``keep_log_bytes`` is how much log is kept for ``changes``. Opening without it removes that log.
    - ``wait_for_lock`` is how many seconds opening waits for another process that has the database
      open for writing, before it raises ``LockedError``.
    - With a ``checkpoint_interval`` above 0, a background checkpoint runs when the oldest commit that
      is not in the file is older than so many seconds, so that other processes see the commit.

    ``merge_functions`` has functions by the names that tables store (``merge_function``). Each gets
    the key, the value or None, and a list of operands, as bytes, and returns the new value. The
    result must depend on these only, and the function must use no database. If it raises an
    exception, the call that needs the value, such as a commit, raises an ``Error`` with the exception
    as its ``__cause__``, or the exception itself if it is no ``Exception``. A database that is open in
    this process keeps the functions of its first opening.
    """
    path = os.fsdecode(path)
    source = _native.open(
        path,
        create=create and not read_only and not image,
        read_only=read_only,
        image=image,
        durability=durability,
        isolation=isolation,
        map=map,
        huge_pages=huge_pages,
        background=background,
        page_size_bytes=page_size_bytes,
        cache_bytes=cache_bytes,
        delta_bytes=delta_bytes,
        write_set_bytes=write_set_bytes,
        max_size_bytes=max_size_bytes,
        keep_log_bytes=keep_log_bytes,
        wait_for_lock=wait_for_lock,
        checkpoint_interval=checkpoint_interval,
        merge_functions=None if merge_functions is None else dict(merge_functions),
    )
    return Database(source, path)


