"""Followers of event stores."""

from __future__ import annotations

from typing import Self

from fulgurite import _native
from fulgurite._closable import Closable

__all__ = ["Follower", "Server"]


class Follower(Closable):
    """An iterator over events that waits for new ones.

    An iteration ends when no event has come for ``timeout`` seconds; another one continues there.
    Without a timeout it never ends. Waiting lets other threads run, and an interrupt ends it.
    """

    __slots__ = ("_follower", "timeout")

    def __init__(self, follower: _native.Follower, timeout: float | None) -> None:
        """``EventStore.follow`` and ``connect`` make followers; programs do not."""
        self._follower = follower
        self.timeout = timeout

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _native.Event:
        event = self._follower.next(self.timeout)
        if event is None:
            raise StopIteration
        return event

    def poll(self, timeout: float | None = None, *, limit: int = 10_000) -> list[_native.Event]:
        """Return the next events, at most ``limit``. Wait for the first one, if there is none.

        Returns an empty list if none has come within ``timeout`` seconds.
        """
        return self._follower.poll(timeout, limit)

    @property
    def position(self) -> int:
        """The position after the last event that was returned. Store it to continue there later."""
        return self._follower.position

    @property
    def missed(self) -> int:
        """How many positions were skipped because retention had removed their events."""
        return self._follower.missed

    @property
    def has_caught_up(self) -> bool:
        """Whether it has returned all events, and has not fallen behind since."""
        return self._follower.has_caught_up

    @property
    def behind(self) -> int:
        """How many events were waiting when it fell behind, 0 after it has caught up.

        It falls behind if more than ``behind_max`` events are waiting after it had caught up.
        """
        return self._follower.behind

    def acknowledge(self) -> None:
        """Say that all events that were returned are processed. Only for consumers (see ``connect``).

        It returns before the position is stored: if one of the processes ends then, the consumer may
        receive these events again.
        """
        self._follower.acknowledge()

    def close(self) -> None:
        """End the follower. A thread that waits for it gets ``ClosedError``."""
        self._follower.close()


class Server(Closable):
    """Serves the events of a store to other processes. Use it as a context manager, or close it."""

    __slots__ = ("_server",)

    def __init__(self, server: _native.Server) -> None:
        """``EventStore.serve`` makes servers; programs do not."""
        self._server = server

    @property
    def followers(self) -> int:
        """How many followers are connected."""
        return self._server.followers

    def close(self) -> None:
        """End the server, and remove its socket. Does nothing the second time."""
        self._server.close()
