"""The change feed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from fulgurite import _native
from fulgurite._closable import Closable

__all__ = ["Change", "ChangeFeed", "Commit"]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a commit.

    ``kind`` is one of:

    - ``"put"``: the key has this value, from a put or as the result of a merge.
    - ``"superseded"``: the key got a large value that is no longer stored. A later commit of the
      feed replaces it, deletes the key, drops the table, or reports a bulk load of the table.
    - ``"delete"``: the key was deleted.
    - ``"table created"``, ``"table dropped"``, ``"table renamed"``.
    - ``"bulk loaded"``: a bulk load, or a transaction that was too large for memory, may have
      changed any keys of the table. Read the whole table again, and replace your copy.

    ``table_id`` is the number of the table, which renaming does not change; None for a dropped table
    that was created before the feed begins. ``table_name`` is None for a table that a
    later commit of the feed drops.

    ``key`` and ``value`` are the stored bytes. ``Table.decode_key`` and ``decode_value`` decode those
    of a table with types. ``value_length`` is the length of the value in bytes, also of a superseded
    one. ``previous_name`` is the name that a renamed table had.
    """

    kind: Literal["put", "superseded", "delete", "table created", "table dropped", "table renamed", "bulk loaded"]
    table_id: int | None
    table_name: str | None
    key: bytes | None
    value: bytes | None
    value_length: int
    previous_name: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with all its changes, in the order in which they take effect."""

    sequence: int
    changes: list[Change]


class ChangeFeed(Closable, Iterator[Commit]):
    """The commits after a given one, in order, up to the newest that was durable when it was opened.

    Use it as a context manager, or close it: it keeps its part of the log until then, or until its
    end.
    """

    __slots__ = ("_feed",)

    def __init__(self, feed: _native.ChangeFeed) -> None:
        """``Database.changes`` makes feeds; programs do not."""
        self._feed = feed

    def __next__(self) -> Commit:
        commit = self._feed.next_commit()
        if commit is None:
            raise StopIteration
        sequence, changes = commit
        return Commit(
            sequence,
            [
                Change(cast(Any, kind), table_id, table_name, key, value, value_length, previous_name)
                for kind, table_id, table_name, key, value, value_length, previous_name in changes
            ],
        )

    def close(self) -> None:
        """Release the log. Does nothing the second time."""
        self._feed.close()
