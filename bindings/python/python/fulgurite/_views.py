"""Views: tables that are folded from events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeAlias

from fulgurite import _native
from fulgurite._database import Source, type_name
from fulgurite._table import Table

__all__ = ["Fold", "View", "ViewTransaction"]


class ViewTransaction(Source):
    """The transaction of a view, while its function runs.

    ``transaction["name"]`` is a table of the view, or another one of the same database. Tables of the
    view have the names that it declares, also while it is rebuilt into new tables.
    """

    __slots__ = ("_names",)

    def __init__(self, source: _native.Source, names: dict[str, str]) -> None:
        """The native module makes it; programs do not."""
        super().__init__(source)
        self._names = names

    def __getitem__(self, name: str) -> Table:
        return super().__getitem__(self._names.get(name, name))

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted; those of the view as it declares them."""
        stored = set(super().tables())
        own = {declared for declared, name in self._names.items() if name in stored}
        return sorted(own | stored.difference(self._names, self._names.values()))


Fold: TypeAlias = Callable[[ViewTransaction, _native.Event], object]
"""A function that folds an event into the tables of a view."""


class View:
    """A view: its name, and its tables.

    The name is that of the consumer which stores the position. A transaction folds at most
    ``batch_events`` events. ``partition`` is a member of a group, such as ``(0, 4)``: it folds only
    the events of its streams, and has a position of its own.
    """

    __slots__ = ("_batch_events", "_name", "_partition", "_tables")

    def __init__(
        self, name: str, *, batch_events: int = 10_000, partition: tuple[int, int] | None = None
    ) -> None:
        """A view without tables."""
        self._name = name
        self._batch_events = batch_events
        self._partition = partition
        self._tables: list[_TableParts] = []

    def __repr__(self) -> str:
        return f"<fulgurite.events.View {self._name!r}>"

    @property
    def name(self) -> str:
        """The name."""
        return self._name

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
    ) -> Self:
        """Add a table, and return the view. The table is created if it does not exist.

        The options are those of ``EventStore.table``.
        """
        names = (type_name(key), type_name(value))
        self._tables.append((name, *names, counted, packed, merge, merge_function))
        return self

    def parts(self) -> _ViewParts:
        """The parts as the native module takes them."""
        return (self._name, self._tables, self._batch_events, self._partition)


_TableParts: TypeAlias = tuple[str, str, str, bool, bool, str | None, str | None]
_ViewParts: TypeAlias = tuple[str, list[_TableParts], int, tuple[int, int] | None]
