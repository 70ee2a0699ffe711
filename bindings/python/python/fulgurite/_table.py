"""Tables as mappings."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, MutableMapping, ValuesView
from typing import Any, cast, overload

from fulgurite import _native

__all__ = ["Table"]

# Stands for a missing value: ``None`` may be a default of the caller.
_MISSING = object()
_ITEMS, _KEYS, _VALUES = 0, 1, 2


class Table(MutableMapping[Any, Any]):
    """A sorted table of keys and values.

    It belongs to a database or to a transaction. Each call of a table of a database is a transaction
    of its own, and each iteration shows the state when it began. A table of a transaction shows the
    snapshot and the changes of the transaction. Threads may share a table.

    Keys and values are bytes, unless the table was created with types: then they are ``str``,
    ``int``, ``float``, ``bool``, ``bytes``, or tuples of these.
    """

    __slots__ = ("_source", "_table")

    def __init__(self, source: _native.Source, table: _native.Table) -> None:
        """Databases and transactions make tables; programs do not."""
        self._source = source
        self._table = table

    @property
    def name(self) -> str:
        """The name."""
        return self._table.name

    @property
    def key_type(self) -> str:
        """The type of the keys, such as ``(u32,string)``. Empty for bytes."""
        return self._table.key_type

    @property
    def value_type(self) -> str:
        """The type of the values. Empty for bytes."""
        return self._table.value_type

    def decode_key(self, stored: bytes) -> Any:
        """Return the key that is stored as these bytes, such as ``Change.key``."""
        return self._table.decode_key(stored)

    def decode_value(self, stored: bytes) -> Any:
        """Return the value that is stored as these bytes, such as ``Change.value``."""
        return self._table.decode_value(stored)

    def __repr__(self) -> str:
        return f"<fulgurite.Table {self.name!r}>"

    def __getitem__(self, key: Any) -> Any:
        value = self._source.get_or(self._table, key, _MISSING)
        if value is _MISSING:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        self._source.put(self._table, key, value)

    def __delitem__(self, key: Any) -> None:
        if not self._source.delete(self._table, key):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return self._source.contains(self._table, key)

    def __len__(self) -> int:
        return self._source.count(self._table)

    def __bool__(self) -> bool:
        return next(self.scan_keys(), None) is not None

    def __iter__(self) -> Iterator[Any]:
        return self.scan_keys()

    def __reversed__(self) -> Iterator[Any]:
        return self.scan_keys(reverse=True)

    def keys(self) -> KeysView[Any]:
        """Return a view of the keys, in order."""
        return KeysView(self)

    def values(self) -> ValuesView[Any]:
        """Return a view of the values, in the order of the keys."""
        return _Values(self)

    def items(self) -> ItemsView[Any, Any]:
        """Return a view of the entries, in the order of the keys."""
        return _Items(self)

    @overload
    def get(self, key: Any, /) -> Any | None: ...
    @overload
    def get(self, key: Any, /, default: Any) -> Any: ...
    def get(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, key: Any, /, default: Any = None
    ) -> Any:
        """Return the value of a key, or ``default``."""
        return self._source.get_or(self._table, key, default)

    def get_many(self, keys: Iterable[Any]) -> list[Any]:
        """Return the values of many keys, in their order; ``None`` for a key without a value.

        This is faster than single gets, because they overlap.
        """
        return self._source.get_many(self._table, keys)

    def view(self, key: Any) -> _native.Value | None:
        """Return the stored bytes of a value without copying them, or ``None``.

        Use ``memoryview(value)``. In a read transaction the bytes are those of the file. After
        the transaction ends, the value raises ``ClosedError``; a memoryview that was made before
        stays valid, and keeps the snapshot until it is released.
        """
        return self._source.view(self._table, key)

    def scan(
        self, start: Any = None, stop: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """Iterate over entries from ``start`` (included) to ``stop`` (excluded), or with a prefix.

        A prefix of tuples is a tuple of the first elements.
        """
        scan = self._source.scan(self._table, start, stop, prefix, reverse, _ITEMS)
        return cast("Iterator[tuple[Any, Any]]", scan)

    def scan_keys(
        self, start: Any = None, stop: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Iterator[Any]:
        """Iterate over keys, as ``scan``."""
        return self._source.scan(self._table, start, stop, prefix, reverse, _KEYS)

    def scan_values(
        self, start: Any = None, stop: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Iterator[Any]:
        """Iterate over values, as ``scan``."""
        return self._source.scan(self._table, start, stop, prefix, reverse, _VALUES)

    def count(self, start: Any = None, stop: Any = None, *, prefix: Any = None) -> int:
        """Return the exact number of entries within the bounds of ``scan``."""
        return self._source.count(self._table, start, stop, prefix)

    def arrow(
        self,
        start: Any = None,
        stop: Any = None,
        *,
        prefix: Any = None,
        reverse: bool = False,
        batch_rows: int = 65536,
    ) -> _native.ArrowStream:
        """Return the entries as a stream of Arrow record batches with columns key and value.

        A reader of the Arrow PyCapsule interface can read it once, such as
        ``pyarrow.RecordBatchReader.from_stream`` and ``polars.from_arrow``. Strings and numbers of up
        to 64 bits become columns of Arrow's types, all others columns of their stored bytes.
        """
        return self._source.arrow(self._table, start, stop, prefix, reverse, batch_rows)

    def put_many(self, pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Store many entries: all of them, or none if it raises an exception."""
        items = pairs.items() if isinstance(pairs, Mapping) else pairs  # pyright: ignore[reportUnknownVariableType]
        self._source.put_many(self._table, cast("Iterable[tuple[Any, Any]]", items))

    def insert(self, key: Any, value: Any) -> bool:
        """Store a value if the key has none. Return whether the value was stored."""
        return self._source.insert(self._table, key, value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Store ``default`` if the key has no value. Return the value of the key."""
        return default if self._source.insert(self._table, key, default) else self[key]

    def merge(self, key: Any, operand: Any) -> None:
        """Merge an operand into a value by the table's merge operator or function.

        Transactions that merge into the same keys do not conflict. Raises ``InvalidError`` if the
        table has no operator.
        """
        self._source.merge(self._table, key, operand)

    def discard(self, key: Any) -> bool:
        """Remove a key. Return whether it had a value."""
        return self._source.delete(self._table, key)

    def delete_range(self, start: Any = None, stop: Any = None, *, prefix: Any = None) -> int:
        """Remove the entries within the bounds of ``scan``. Return their number."""
        return self._source.delete_range(self._table, start, stop, prefix)

    def clear(self) -> None:
        """Remove all entries."""
        self._source.delete_range(self._table)

    @overload
    def pop(self, key: Any, /) -> Any: ...
    @overload
    def pop(self, key: Any, /, default: Any) -> Any: ...
    def pop(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, key: Any, /, default: Any = ...
    ) -> Any:
        """Remove a key and return its value. If it has none, return ``default``, or raise KeyError."""
        value = self._source.remove(self._table, key, _MISSING if default is ... else default)
        if value is _MISSING:
            raise KeyError(key)
        return value

    def popitem(self, last: bool = True) -> tuple[Any, Any]:
        """Remove and return the last entry, or with ``last=False`` the first one.

        Raises KeyError if the table is empty.
        """
        entry = self._source.pop(self._table, last)
        if entry is None:
            raise KeyError("the table is empty")
        return entry

    def update(self, other: Any = (), /, **named: Any) -> None:
        """Store the entries of a mapping or of pairs, as ``put_many``."""
        pairs = other
        if hasattr(other, "keys") and not isinstance(other, Mapping):
            pairs = {key: other[key] for key in other.keys()}
        self.put_many(pairs)
        if named:
            self.put_many(named)


class _Values(ValuesView[Any]):
    __slots__ = ()
    _mapping: Table  # pyright: ignore[reportIncompatibleVariableOverride]

    def __iter__(self) -> Iterator[Any]:
        return self._mapping.scan_values()

    def __reversed__(self) -> Iterator[Any]:
        return self._mapping.scan_values(reverse=True)


class _Items(ItemsView[Any, Any]):
    __slots__ = ()
    _mapping: Table  # pyright: ignore[reportIncompatibleVariableOverride]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping.scan()

    def __reversed__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping.scan(reverse=True)
