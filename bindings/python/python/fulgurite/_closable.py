"""Context managers."""

from __future__ import annotations

from types import TracebackType
from typing import Self

__all__ = ["Closable"]


class Closable:
    """An object that a ``with`` statement closes."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        raise NotImplementedError
