"""An RDF store with SPARQL.

>>> from fulgurite import rdf
>>> with rdf.open(path) as store:
...     store.load_bytes(b"<http://a/ann> <http://a/age> 39 .", "ttl")
...     for row in store.select("SELECT ?age { ?who <http://a/age> ?age }"):
...         row["age"].to_python()
1
39
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self, TypeAlias

from fulgurite import _native
from fulgurite._closable import Closable
from fulgurite._database import FilePath

__all__ = ["BlankNode", "IRI", "Literal", "Solutions", "Store", "Term", "Triple", "Triples", "open"]

_XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = frozenset(
    _XSD + name
    for name in (
        "integer",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedInt",
        "unsignedLong",
        "unsignedShort",
        "unsignedByte",
    )
)
# Python's types accept further texts.
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(rf"{_DECIMAL.pattern}([eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class IRI(str):
    """An IRI. It is equal to its text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"IRI({str(self)!r})"

    def to_python(self) -> Self:
        """Return the IRI itself, which is a text. Terms of every kind have this method."""
        return self


class BlankNode(str):
    """A blank node, by its label. Labels name nodes within one result."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"BlankNode({str(self)!r})"

    def to_python(self) -> Self:
        """Return the blank node itself."""
        return self


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: its text, the IRI of its datatype, and its language if it has one."""

    value: str
    datatype: str = _XSD + "string"
    language: str | None = None

    def __str__(self) -> str:
        return self.value

    def to_python(self) -> Any:
        """Return a number or Boolean of Python for datatypes that have one, else the text.

        A text that XML Schema does not accept for its datatype is returned as it is, such as ``"1_000"``
        of an integer or ``"NaN"`` of a decimal, and so is an integer with more digits than
        ``sys.get_int_max_str_digits()``.
        """
        try:
            if self.datatype in _INTEGERS and _INTEGER.fullmatch(self.value):
                return int(self.value)
            if self.datatype == _XSD + "decimal" and _DECIMAL.fullmatch(self.value):
                return Decimal(self.value)
            if self.datatype in (_XSD + "double", _XSD + "float") and _DOUBLE.fullmatch(self.value):
                return float(self.value)
            if self.datatype == _XSD + "boolean":
                return _BOOLEANS.get(self.value, self.value)
        except (ValueError, ArithmeticError):
            pass
        return self.value


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple: a statement, or a term that quotes one."""

    subject: Term
    predicate: Term
    object: Term

    def to_python(self) -> Self:
        """Return the triple itself."""
        return self


Term: TypeAlias = IRI | BlankNode | Literal | Triple


def _term(parts: tuple[Any, ...]) -> Term:
    kind = parts[0]
    if kind == "iri":
        return IRI(parts[1])
    if kind == "blank":
        return BlankNode(parts[1])
    if kind == "literal":
        return Literal(*parts[1:])
    return Triple(*(_term(part) for part in parts[1:]))


class Solutions(Closable):
    """The rows of a SELECT, each a dict of the variables that are bound. They are read once.

    A thread of the store evaluates the query until all rows are read. Use the solutions as a context
    manager, close them or drop them, to end it before.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: _native.Rows) -> None:
        """``Store.select`` makes solutions; programs do not."""
        self._rows = rows

    def close(self) -> None:
        """End the query. Reading its rows raises ``ClosedError`` then. Does nothing the second time."""
        self._rows.close()

    @property
    def variables(self) -> list[str]:
        """The variables of the query, in its order."""
        return self._rows.variables

    def __iter__(self) -> Iterator[dict[str, Term]]:
        names = self._rows.variables
        for row in self._rows:
            yield {name: _term(part) for name, part in zip(names, row, strict=True) if part is not None}

    def arrow(self, *, batch_rows: int = 65536) -> _native.ArrowStream:
        """Return the rows as a stream of Arrow record batches, a column of texts for each variable.

        A cell is the term as N-Triples write it, or null.
        """
        return self._rows.arrow(batch_rows)


class Triples(Closable, Iterator[Triple]):
    """The triples of a CONSTRUCT or DESCRIBE. They are read once.

    A thread of the store evaluates the query until all triples are read. Use the triples as a context
    manager, close them or drop them, to end it before.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: _native.Rows) -> None:
        """``Store.construct`` makes triples; programs do not."""
        self._rows = rows

    def close(self) -> None:
        """End the query. Reading its triples raises ``ClosedError`` then. Does nothing the second time."""
        self._rows.close()

    def __next__(self) -> Triple:
        return Triple(*(_term(part) for part in next(self._rows)))


class Store(Closable):
    """An open RDF store. Any number of threads may use it at once."""

    __slots__ = ("_store",)

    def __init__(self, store: _native.Store) -> None:
        """``open`` makes stores; programs do not."""
        self._store = store

    def __len__(self) -> int:
        return self._store.count()

    def __bool__(self) -> bool:
        """Return True, also for an empty store."""
        return True

    def close(self) -> None:
        """Close the store, and end its queries. Does nothing the second time."""
        self._store.close()

    def load(
        self,
        path: FilePath,
        *,
        format: str | None = None,
        graph: str | None = None,
        base: str | None = None,
        lenient: bool = False,
    ) -> int:
        """Load a file, all of it or nothing, and return the number of new statements.

        The format is ``format``, or that of the extension: nt, ttl, nq, trig, rdf or jsonld. Files may
        be compressed. ``graph`` is the IRI of the graph for statements without one, ``base`` that for
        relative IRIs. ``lenient`` skips statements with errors; without it, they raise
        ``SyntaxInputError``.
        """
        return self._store.load(os.fsdecode(path), True, format, graph, base, lenient)[1]

    def load_bytes(
        self,
        document: bytes,
        format: str,
        *,
        graph: str | None = None,
        base: str | None = None,
        lenient: bool = False,
    ) -> int:
        """Load a document from memory, and return the number of new statements."""
        return self._store.load(document, False, format, graph, base, lenient)[1]

    def select(self, text: str, *, base: str | None = None, timeout: float | None = None) -> Solutions:
        """Evaluate a SELECT while its rows are read.

        ``timeout`` is in seconds: after it, ``StoppedError`` is raised. There is none by default.
        """
        return Solutions(self._store.query(text, "select", base, timeout))

    def ask(self, text: str, *, base: str | None = None, timeout: float | None = None) -> bool:
        """Evaluate an ASK."""
        return self._store.query(text, "ask", base, timeout)

    def construct(self, text: str, *, base: str | None = None, timeout: float | None = None) -> Triples:
        """Evaluate a CONSTRUCT or DESCRIBE while its triples are read."""
        return Triples(self._store.query(text, "construct", base, timeout))

    def update(self, text: str, *, base: str | None = None, timeout: float | None = None) -> None:
        """Execute a SPARQL update, all of it or nothing."""
        self._store.update(text, base, timeout)


def open(
    path: FilePath, *, create: bool = True, read_only: bool = False, wait_for_lock: float = 0.0
) -> Store:
    """Open a store, and create it if it does not exist (unless ``create`` is false). Close it.

    ``wait_for_lock`` is how many seconds opening waits for another process that has the store open for
    writing.
    """
    created = create and not read_only
    store = _native.open_store(
        os.fsdecode(path), create=created, read_only=read_only, wait_for_lock=wait_for_lock
    )
    return Store(store)
