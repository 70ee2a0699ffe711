"""An event store: streams, one log of all events without gaps, views and followers.

>>> from fulgurite import events
>>> with events.open(path) as store:
...     store.append("order-7", events.NewEvent("placed", b"3 apples"), expected="no stream").version
...     [event.type for event in store.read_stream("order-7")]
0
['placed']
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from fulgurite import _native
from fulgurite._closable import Closable
from fulgurite._database import Database, Durability, FilePath, Source
from fulgurite._event_parts import (
    AggregateState,
    Appended,
    Expected,
    NewEvent,
    Query,
    RetentionReport,
    StreamInfo,
    ViewProgress,
    items_of,
    microseconds_at,
    microseconds_of,
    parts_of,
)
from fulgurite._followers import Follower, Server
from fulgurite._native import Event, EventScan
from fulgurite._table import Table
from fulgurite._views import Fold, View, ViewTransaction
from fulgurite.errors import StreamNotFoundError

__all__ = [
    "AggregateState",
    "Appended",
    "Event",
    "EventStore",
    "Expected",
    "Follower",
    "NewEvent",
    "Query",
    "RetentionReport",
    "Server",
    "Snapshot",
    "StreamInfo",
    "Transaction",
    "View",
    "ViewProgress",
    "ViewTransaction",
    "connect",
    "open",
    "open_in",
]

_T = TypeVar("_T")
_Events = NewEvent | Iterable[NewEvent]
_Upcaster = Callable[[bytes], bytes]


def _info(parts: tuple[Any, ...]) -> StreamInfo:
    name, state, first, following, age, count, custom = parts
    return StreamInfo(name, state, first, following, None if age is None else timedelta(microseconds=age), count, custom)


class _Reads:
    """What stores and snapshots have in common: reads. Those of a store see all that was appended."""

    __slots__ = ()

    def _snapshot(self) -> _native.EventSnapshot:
        raise NotImplementedError

    @property
    def head(self) -> int:
        """The position that the next event gets: how many events were ever appended."""
        return self._snapshot().head()

    @property
    def start(self) -> int:
        """The first position that retention has kept."""
        return self._snapshot().start()

    def position_at(self, time: datetime) -> int:
        """Return the position of the first event at a time or later; ``head`` if there is none."""
        return self._snapshot().position_at(microseconds_at(time))

    def read(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        query: Query | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        reverse: bool = False,
    ) -> EventScan:
        """Iterate over events from position ``start`` (included) to ``stop`` (excluded).

        ``query`` selects events; only parts of the log that an index names are read. ``since``
        (included) and ``until`` (excluded) are times. ``reverse`` begins with the newest. The
        iterator's ``arrow()`` returns the rest as record batches.
        """
        snapshot = self._snapshot()
        if since is not None:
            start = max(start, snapshot.position_at(microseconds_at(since)))
        if until is not None:
            end = snapshot.position_at(microseconds_at(until))
            stop = end if stop is None else min(stop, end)
        return snapshot.read(None if query is None else items_of("query", query), start, stop, reverse)

    def read_stream(
        self, stream: str | bytes, start: int = 0, stop: int | None = None, *, reverse: bool = False
    ) -> EventScan:
        """Iterate over the events of a stream from version ``start`` (included) to ``stop`` (excluded).

        Raises ``StreamNotFoundError`` if there is no such stream, or it is deleted.
        """
        return self._snapshot().read_stream(stream, start, stop, reverse)

    def stream(self, stream: str | bytes) -> StreamInfo:
        """Return what is known of a stream, also of a deleted one.

        Raises ``StreamNotFoundError`` if it never existed.
        """
        info = self._snapshot().stream(stream)
        if info is None:
            name = stream if isinstance(stream, str) else stream.decode("utf-8", "surrogateescape")
            error = StreamNotFoundError(f"stream {name!r} does not exist; check the name")
            error.kind, error.stream = "STREAM_NOT_FOUND", name
            raise error
        return _info(info)

    def streams(self, prefix: str | bytes = "") -> Iterator[StreamInfo]:
        """Iterate over the streams whose names begin with ``prefix``, sorted, deleted ones included."""
        return map(_info, self._snapshot().streams(prefix))

    def types(self) -> list[tuple[str, int]]:
        """Return the types of events with the versions of their schemas."""
        return self._snapshot().types()

    def aggregate_state(self, stream: str | bytes, version: int | None = None) -> AggregateState | None:
        """Return the newest stored state of a stream, up to ``version``; continue after its version."""
        state = self._snapshot().aggregate_state(stream, version)
        return None if state is None else AggregateState(*state)

    def consumer_position(self, consumer: str) -> int:
        """Return the position of a consumer: the first that it has not processed."""
        return self._snapshot().consumer_position(consumer)

    def consumers(self) -> dict[str, int]:
        """Return the consumers and their positions."""
        return dict(self._snapshot().consumers())


class Snapshot(_Reads):
    """One state of a store, whatever is appended later. Use it as a context manager."""

    __slots__ = ("_native_snapshot",)

    def __init__(self, snapshot: _native.EventSnapshot) -> None:
        """``EventStore.snapshot`` makes snapshots; programs do not."""
        self._native_snapshot = snapshot

    def _snapshot(self) -> _native.EventSnapshot:
        return self._native_snapshot

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the snapshot. Iterators that it made continue. Does nothing the second time."""
        self._native_snapshot.end()


class Transaction(Source):
    """Appends to any streams and changes of tables, all or nothing, within ``EventStore.transact``.

    ``transaction["name"]`` is a table of the same database. Only the thread of the function may use
    the transaction, until the function returns.
    """

    __slots__ = ("_transaction",)

    def __init__(self, transaction: _native.EventTransaction) -> None:
        """``EventStore.transact`` makes transactions; programs do not."""
        super().__init__(transaction.source())
        self._transaction = transaction

    def append(self, stream: str | bytes, events: _Events, *, expected: Expected = "any") -> Appended:
        """Append events, as ``EventStore.append``. If it fails, the transaction can continue."""
        return Appended(*self._transaction.append(stream, parts_of(events), expected))

    def require(self, unless: Query, *, after: int | None = None) -> None:
        """Raise ``ConditionFailedError`` if an event after a position matches a query."""
        self._transaction.require(items_of("unless", unless), after)

    def truncate_before(self, stream: str | bytes, version: int) -> None:
        """Hide the events of a stream before a version. Retention removes them from the log."""
        self._transaction.truncate_before(stream, version)

    def delete_stream(
        self, stream: str | bytes, *, expected: Expected = "any", forever: bool = False
    ) -> None:
        """Delete a stream. With ``forever``, nothing can be appended to it again."""
        self._transaction.delete_stream(stream, expected, forever)

    def set_stream_metadata(
        self,
        stream: str | bytes,
        *,
        max_age: timedelta | None = None,
        max_count: int | None = None,
        custom: bytes = b"",
    ) -> None:
        """Set what retention keeps of a stream, and bytes of the program. Creates a missing stream."""
        self._transaction.set_stream_metadata(stream, microseconds_of(max_age), max_count, custom)

    def put_aggregate_state(self, stream: str | bytes, version: int, state: bytes, *, schema: int = 0) -> None:
        """Store what the events of a stream up to and including a version fold into."""
        self._transaction.put_aggregate_state(stream, version, state, schema)

    def set_consumer_position(self, consumer: str, position: int) -> None:
        """Store the position of a consumer: the first that it has not processed."""
        self._transaction.set_consumer_position(consumer, position)


class EventStore(Closable, _Reads):
    """An open event store. Any number of threads may use it at once."""

    __slots__ = ("_store",)

    def __init__(self, store: _native.EventStore) -> None:
        """``open`` and ``open_in`` make stores; programs do not."""
        self._store = store

    def _snapshot(self) -> _native.EventSnapshot:
        return self._store.snapshot(False)

    def close(self) -> None:
        """Close the store, and the database if ``open`` has opened it. Does nothing the second time."""
        self._store.close()

    @property
    def name(self) -> str:
        """The name of the store, with which the names of its tables begin."""
        return self._store.name

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
        """Return a table of the same database, as ``Database.table``.

        For ``merge_function``, open the store by ``open_in`` in a database that has the function.
        """
        return Database(self._store.source(), "").table(
            name,
            key=key,
            value=value,
            counted=counted,
            packed=packed,
            merge=merge,
            merge_function=merge_function,
        )

    def snapshot(self, *, durable: bool = False) -> Snapshot:
        """Return a snapshot; with ``durable``, one that shows only what no power cut loses."""
        return Snapshot(self._store.snapshot(durable))

    def append(
        self,
        stream: str | bytes,
        events: _Events,
        *,
        expected: Expected = "any",
        unless: Query | None = None,
        after: int | None = None,
    ) -> Appended:
        """Append an event or several to a stream, all or none.

        ``expected`` is the version of the last event of the stream, or ``"no stream"``, ``"stream
        exists"`` or ``"any"``; if it is wrong, ``WrongVersionError`` is raised. ``unless`` is a query;
        the append fails with ``ConditionFailedError`` if an event after position ``after`` matches it.
        Events whose ids the stream has already, in this order, are not appended again, and the result
        is that of the first append, also if ``expected`` or ``unless`` no longer hold.
        """
        if unless is None and after is not None:
            raise ValueError("after needs unless: it is the position after which events are checked")
        condition = None if unless is None else items_of("unless", unless)
        return Appended(*self._store.append(stream, parts_of(events), expected, condition, after))

    def transact(self, change: Callable[[Transaction], _T]) -> _T:
        """Call ``change`` with a transaction, commit, and return its result.

        If another transaction has changed what it read of tables, it is called again, so it should
        have no other effects. If it raises an exception, nothing is committed. Other appends wait
        meanwhile. Within ``change``, use the transaction and not the store: calls that change the store
        raise ``NestedError``.
        """
        result: list[_T] = []

        def run(transaction: _native.EventTransaction) -> None:
            result[:] = [change(Transaction(transaction))]

        self._store.transact(run)
        return result[0]

    def truncate_before(self, stream: str | bytes, version: int) -> None:
        """Hide the events of a stream before a version. Retention removes them from the log."""
        self.transact(lambda txn: txn.truncate_before(stream, version))

    def delete_stream(
        self, stream: str | bytes, *, expected: Expected = "any", forever: bool = False
    ) -> None:
        """Delete a stream: it cannot be read, and retention removes its events from the log.

        The next append opens it again, unless ``forever``: then appends raise ``TombstoneError``.
        """
        self.transact(lambda txn: txn.delete_stream(stream, expected=expected, forever=forever))

    def set_stream_metadata(
        self,
        stream: str | bytes,
        *,
        max_age: timedelta | None = None,
        max_count: int | None = None,
        custom: bytes = b"",
    ) -> None:
        """Set what retention keeps of a stream, and bytes of the program. Creates a missing stream."""
        self.transact(
            lambda txn: txn.set_stream_metadata(stream, max_age=max_age, max_count=max_count, custom=custom)
        )

    def put_aggregate_state(self, stream: str | bytes, version: int, state: bytes, *, schema: int = 0) -> None:
        """Store what the events of a stream up to and including a version fold into."""
        self.transact(lambda txn: txn.put_aggregate_state(stream, version, state, schema=schema))

    def set_consumer_position(self, consumer: str, position: int) -> None:
        """Store the position of a consumer: the first that it has not processed."""
        self.transact(lambda txn: txn.set_consumer_position(consumer, position))

    def apply_retention(
        self,
        *,
        max_age: timedelta | None = None,
        max_count: int | None = None,
        max_bytes: int | None = None,
    ) -> RetentionReport:
        """Remove truncated and deleted events, and those beyond the limits of streams and of this call."""
        return RetentionReport(*self._store.apply_retention(microseconds_of(max_age), max_count, max_bytes))

    def run_view(self, view: View, fold: Fold) -> ViewProgress:
        """Fold all events that there are, from the position of the view on.

        ``fold(transaction, event)`` changes the view's tables. The changes and the position are one
        transaction, so each event counts exactly once. After a conflict, ``fold`` is called again
        for the same events, so it should have no other effects. An existing table must have the types
        and options of the view, if any is given; ``rebuild_view`` can change them.
        """
        return ViewProgress(*_native.run_view(self._store, view.parts(), fold))

    def follow_view(
        self,
        view: View,
        fold: Fold,
        *,
        stop: threading.Event | None = None,
        on_caught_up: Callable[[], object] | None = None,
        on_fell_behind: Callable[[int], object] | None = None,
        behind_max: int = 10_000,
    ) -> ViewProgress:
        """As ``run_view``, but continue with new events until ``stop`` is set, or an interrupt.

        ``on_caught_up`` is called whenever all events were folded, and ``on_fell_behind`` with the
        number of events that are waiting then, if they are more than ``behind_max``.
        """
        events, missed = 0, 0
        while True:
            progress = self.run_view(view, fold)
            events, missed = events + progress.events, missed + progress.missed
            if on_caught_up is not None:
                on_caught_up()
            while stop is None or not stop.is_set():
                timeout = None if stop is None else _STOP_SECONDS
                if _native.wait_for_event(self._store, progress.position, timeout):
                    break
            if stop is not None and stop.is_set():
                return ViewProgress(events, progress.position, missed)
            if on_fell_behind is not None and (behind := self.head - progress.position) > behind_max:
                on_fell_behind(behind)

    def rebuild_view(self, view: View, fold: Fold) -> ViewProgress:
        """Fold all events again into new tables, and replace the old ones in one transaction.

        The new tables have the types and options of the view. Tables that were opened before are
        invalid then: open them again by name.
        """
        return ViewProgress(*_native.rebuild_view(self._store, view.parts(), fold))

    def drop_view(self, view: View) -> None:
        """Remove the tables and the position of a view."""
        _native.drop_view(self._store, view.parts())

    def follow(
        self,
        start: int = 0,
        *,
        timeout: float | None = None,
        batch_events: int = 10_000,
        behind_max: int = 10_000,
        partition: tuple[int, int] | None = None,
        query: Query | None = None,
    ) -> Follower:
        """Iterate over all events from a position on, and wait for new ones.

        With ``timeout``, an iteration ends when no event has come for so many seconds; another one
        continues there. A follower sees an event as soon as its append may return. ``partition`` is
        a member of a group, such as ``(0, 4)``: it gets only the events of its streams. With
        ``query``, it gets only events that match. A position above ``head`` raises ``InvalidError``.
        """
        items = None if query is None else items_of("query", query)
        native = _native.follow(self._store, start, batch_events, behind_max, partition, items)
        return Follower(native, timeout)

    def serve(self, socket: FilePath) -> Server:
        """Serve the events at a Unix socket, for ``connect`` in other processes, until it is closed."""
        return Server(_native.serve(self._store, os.fsdecode(socket)))


_STOP_SECONDS = 0.1


def open(
    path: FilePath,
    *,
    name: str = "events",
    create: bool = True,
    read_only: bool = False,
    durability: Durability = "disk",
    id_window: int = 65_536,
    states_kept: int = 1,
    upcasters: Mapping[tuple[str, int], _Upcaster] | None = None,
    wait_for_lock: float = 0.0,
) -> EventStore:
    """Open the event store of a database at a path, and create both if they do not exist.

    If ``create`` is false, neither is created: a missing database raises ``DatabaseNotFoundError``,
    and a missing store an ``Error`` of the kind ``NOT_A_DATABASE``.

    ``durability`` says what an append survives: "memory" nothing, "log" a crash of the process,
    "disk" a power cut. Ids are recognised in the newest ``id_window`` events. ``states_kept`` is how
    many stored states of an aggregate are kept. ``upcasters`` has functions that turn data of a type
    and schema version into the next version, when it is read. ``wait_for_lock`` is in seconds.
    """
    options = {
        "name": name,
        "durability": durability,
        "id_window": id_window,
        "states_kept": states_kept,
        "upcasters": None if upcasters is None else dict(upcasters),
    }
    engine = {"create": create and not read_only, "read_only": read_only, "wait_for_lock": wait_for_lock}
    must_exist = not create and not read_only
    return EventStore(_native.open_events(os.fsdecode(path), options, engine, must_exist))


def open_in(
    database: Database,
    *,
    name: str = "events",
    durability: Durability = "disk",
    id_window: int = 65_536,
    states_kept: int = 1,
    upcasters: Mapping[tuple[str, int], _Upcaster] | None = None,
) -> EventStore:
    """Open the event store of an open database, and create it if there is none. See ``open``.

    A database can have several stores, with different names. Closing the database closes the store.
    """
    if not isinstance(database, Database):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"database must be a Database, not {type(database).__name__}")
    options = {
        "name": name,
        "durability": durability,
        "id_window": id_window,
        "states_kept": states_kept,
        "upcasters": None if upcasters is None else dict(upcasters),
    }
    source = database._source  # pyright: ignore[reportPrivateUsage]
    return EventStore(_native.open_events_in(source, options))


def connect(
    socket: FilePath,
    start: int = 0,
    *,
    timeout: float | None = None,
    upcasters: Mapping[tuple[str, int], _Upcaster] | None = None,
    partition: tuple[int, int] | None = None,
    query: Query | None = None,
    consumer: str | None = None,
) -> Follower:
    """Follow a store that another process serves, as ``EventStore.follow``.

    The other process sends the events as they are in the log: its upcasters are not called, but
    those that are given here (see ``open``). After ``SocketError``, connect again at
    ``Follower.position``.

    A ``consumer`` begins at the position that the other process has stored for this name, or at the
    first event. ``Follower.acknowledge`` raises this position, so that each event is processed at
    least once. A name has one connection at a time.
    """
    functions = None if upcasters is None else dict(upcasters)
    items = None if query is None else items_of("query", query)
    return Follower(_native.connect(os.fsdecode(socket), start, functions, partition, items, consumer), timeout)
