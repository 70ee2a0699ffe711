"""Conversions of values of events, and small classes of the event store."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Literal, NamedTuple, Self, TypeAlias

__all__ = [
    "AggregateState",
    "Appended",
    "Expected",
    "NewEvent",
    "Query",
    "RetentionReport",
    "StreamInfo",
    "ViewProgress",
]

Expected: TypeAlias = int | Literal["any", "no stream", "stream exists"]
"""What a stream must be for an append: at this last version, or as one of the words says."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def time_of(microseconds: int) -> datetime:
    """The time that is stored as this number. The native module calls it."""
    return _EPOCH + timedelta(microseconds=microseconds)


def id_of(data: bytes) -> uuid.UUID:
    """The id of these bytes. The native module calls it."""
    return uuid.UUID(bytes=data)


def microseconds_at(time: datetime) -> int:
    """The number by which a time is stored."""
    if not isinstance(time, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a time is a datetime, not {type(time).__name__}")
    if time.tzinfo is None:
        raise ValueError("the time has no time zone; use datetime.now(timezone.utc) or .astimezone()")
    return max(0, (time - _EPOCH) // _MICROSECOND)


def microseconds_of(duration: timedelta | None) -> int | None:
    """The number by which a duration is stored."""
    if duration is None:
        return None
    if duration < timedelta():
        raise ValueError(f"the age {duration} is negative")
    return duration // _MICROSECOND


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append: its type, and what happened in the program's encoding.

    ``id`` recognises a repeated append. ``schema`` is the version of the type's schema. ``metadata``
    belongs to the event but not to what happened. ``tags`` are what queries may ask for.
    """

    type: str
    data: bytes = b""
    id: uuid.UUID | bytes | None = None
    schema: int = 0
    metadata: bytes = b""
    tags: Sequence[str] = ()

    @classmethod
    def of_json(
        cls,
        type: str,
        value: Any,
        *,
        id: uuid.UUID | bytes | None = None,
        schema: int = 0,
        metadata: bytes = b"",
        tags: Sequence[str] = (),
    ) -> Self:
        """Make an event whose data is a value as JSON. ``Event.json`` decodes it."""
        data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        return cls(type, data, id, schema, metadata, tags)

    def parts(self) -> tuple[str, bytes, bytes | None, int, bytes, list[str]]:
        """The parts as the native module takes them."""
        if isinstance(self.tags, str):
            raise TypeError(f"tags is a sequence of texts, not the text {self.tags!r}; use tags=[{self.tags!r}]")
        id = self.id.bytes if isinstance(self.id, uuid.UUID) else self.id
        if not isinstance(self.type, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"type of NewEvent is a str, not {type(self.type).__name__}")
        _check_bytes("data", self.data, "bytes; encode it, or use NewEvent.of_json(type, value)")
        if id is not None:
            _check_bytes("id", id, "a uuid.UUID or 16 bytes")
        _check_bytes("metadata", self.metadata, "bytes; encode it")
        tags = _listed("tags", self.tags)
        for index, tag in enumerate(tags):
            if not isinstance(tag, str):
                raise TypeError(f"tags[{index}] of NewEvent is a str, not {type(tag).__name__}")
        return (self.type, self.data, id, self.schema, self.metadata, tags)


def _check_bytes(name: str, given: object, wanted: str) -> None:
    try:
        memoryview(given).release()  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    except TypeError:
        wanted, separator, advice = wanted.partition(";")
        kind = type(given).__name__
        raise TypeError(f"{name} of NewEvent is {wanted}, not {kind}{separator}{advice}") from None


def parts_of(events: NewEvent | Iterable[NewEvent]) -> list[tuple[Any, ...]]:
    """The parts of one event or of several."""
    if isinstance(events, NewEvent):
        return [events.parts()]
    given: Any = events
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise _wrong("the argument events is a NewEvent or an iterable of them", events)
    return [_new_event(index, event).parts() for index, event in enumerate(events)]


def _new_event(index: int, event: NewEvent) -> NewEvent:
    if isinstance(event, NewEvent):  # pyright: ignore[reportUnnecessaryIsInstance]
        return event
    raise _wrong(f"events[{index}] is a NewEvent", event)


def _wrong(wanted: str, given: object) -> TypeError:
    return TypeError(f"{wanted}, not {type(given).__name__}; use NewEvent(type, data)")


class _Item(NamedTuple):
    types: list[str]
    tags: list[str]
    streams: list[str | bytes]


def _listed(what: str, given: Any) -> list[Any]:
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{what} is a sequence, not {given!r}; use {what}=[{given!r}]")
    if not isinstance(given, Iterable):
        raise TypeError(f"{what} is a sequence of texts, not {type(given).__name__}")
    elements: Iterable[Any] = given  # pyright: ignore[reportUnknownVariableType]
    return list(elements)


@dataclass(frozen=True, slots=True, init=False)
class Query:
    """Which events: those with one of the types, all of the tags, and in one of the streams.

    What is not given matches all. ``|`` joins queries: an event matches if one of them matches.
    """

    _items: tuple[_Item, ...] = field(repr=True)

    def __init__(
        self,
        *,
        types: Iterable[str] = (),
        tags: Iterable[str] = (),
        streams: Iterable[str | bytes] = (),
    ) -> None:
        """A query for events with these types, tags and streams."""
        item = _Item(_listed("types", types), _listed("tags", tags), _listed("streams", streams))
        object.__setattr__(self, "_items", (item,))

    def __or__(self, other: Query) -> Query:
        if not isinstance(other, Query):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        joined = Query()
        object.__setattr__(joined, "_items", (*self._items, *other._items))
        return joined

    def items(self) -> list[tuple[list[str], list[str], list[str | bytes]]]:
        """The parts as the native module takes them."""
        return [(item.types, item.tags, item.streams) for item in self._items]


def items_of(name: str, query: Query) -> list[tuple[list[str], list[str], list[str | bytes]]]:
    """The parts of the query that is the argument with this name."""
    if not isinstance(query, Query):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{name} is a Query, not {type(query).__name__}")
    return query.items()


class Appended(NamedTuple):
    """Where the events of an append are: position and version of the first one, and their number.

    ``repeated`` says that an earlier append had written them, and this one wrote nothing.
    """

    position: int
    version: int
    events: int
    repeated: bool


class StreamInfo(NamedTuple):
    """What is known of a stream.

    ``first`` is the first version that can be read, ``next`` that of the next event. ``max_age``,
    ``max_count`` and ``custom`` are its metadata.
    """

    name: str
    state: Literal["open", "deleted", "tombstone"]
    first: int
    next: int
    max_age: timedelta | None
    max_count: int | None
    custom: bytes


class AggregateState(NamedTuple):
    """A stored state of an aggregate: what the events up to and including a version fold into."""

    version: int
    schema: int
    state: bytes


class RetentionReport(NamedTuple):
    """What retention has removed: the first position that is kept, and numbers of chunks."""

    start: int
    chunks_removed: int
    chunks_rewritten: int


class ViewProgress(NamedTuple):
    """How far a view is: the events of this call, the next position, and missed positions.

    Positions are missed if retention removed their events before the view read them.
    """

    events: int
    position: int
    missed: int
