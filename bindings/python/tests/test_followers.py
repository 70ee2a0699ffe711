"""Followers: in this process, in another one, and what interrupts them."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import fulgurite
from fulgurite import events
from fulgurite.events import NewEvent, Query
from test_events import StoreCase


class FollowersTest(StoreCase):
    def test_a_follower_returns_what_there_is_and_then_what_comes(self) -> None:
        self.fill(100)
        follower = self.store.follow(90, timeout=0)
        self.assertEqual([event.position for event in follower], list(range(90, 100)))
        self.assertTrue(follower.has_caught_up)
        self.assertEqual((follower.position, follower.missed), (100, 0))
        self.assertEqual(list(follower), [])
        self.fill(3)
        self.assertEqual([event.position for event in follower], [100, 101, 102])
        self.assertEqual(follower.poll(0), [])

    def test_a_follower_that_falls_behind_says_how_far(self) -> None:
        follower = self.store.follow(behind_max=4)
        self.assertEqual((follower.poll(0), follower.has_caught_up, follower.behind), ([], True, 0))
        self.fill(5)
        self.assertEqual((len(follower.poll(0)), follower.has_caught_up, follower.behind), (5, False, 5))
        self.assertEqual((follower.poll(0), follower.has_caught_up, follower.behind), ([], True, 0))

    def test_a_view_that_falls_behind_is_reported(self) -> None:
        stop, behind = threading.Event(), list[int]()
        self.fill(10)

        def caught_up() -> None:
            if self.store.head == 10:
                self.fill(5)
            else:
                stop.set()

        progress = self.store.follow_view(
            events.View("v"),
            lambda txn, event: None,
            stop=stop,
            on_caught_up=caught_up,
            on_fell_behind=behind.append,
            behind_max=4,
        )
        self.assertEqual((progress.events, behind), (15, [5]))

    def test_position_counts_only_what_was_returned(self) -> None:
        self.fill(10)
        follower = self.store.follow()
        self.assertEqual([event.position for event in follower.poll(limit=4)], [0, 1, 2, 3])
        self.assertEqual(follower.position, 4)
        self.assertEqual((next(follower).position, follower.position), (4, 5))
        self.assertEqual(len(follower.poll()), 5)

    def test_a_follower_waits_for_another_thread(self) -> None:
        with self.store.follow(timeout=60) as follower:
            self.assertEqual(follower.poll(0), [])
            thread = threading.Thread(target=self.fill, args=(5,))
            thread.start()
            seen = [next(follower).position for _ in range(5)]
            thread.join()
        self.assertEqual(seen, [0, 1, 2, 3, 4])
        with self.assertRaises(fulgurite.ClosedError):
            next(follower)

    def test_members_of_a_group_get_different_streams(self) -> None:
        self.fill(100)
        seen = [[event.stream for event in self.store.follow(timeout=0, partition=(n, 2))] for n in range(2)]
        self.assertEqual(len(seen[0]) + len(seen[1]), 100)
        self.assertFalse(set(seen[0]) & set(seen[1]))

    def test_a_follower_passes_the_events_of_other_members(self) -> None:
        for n in range(40):
            self.store.append("one", NewEvent("x"))
            if n % 10 == 9:
                self.store.append("two", NewEvent("x"))
        seen = []
        for member in range(2):
            follower = self.store.follow(timeout=0, batch_events=1, partition=(member, 2))
            seen += [event.position for event in follower]
            self.assertTrue(follower.has_caught_up)
        self.assertEqual(sorted(seen), list(range(44)))
        follower = self.store.follow(batch_events=1, partition=(0, 2))
        while follower.poll(0):
            pass
        self.assertEqual(follower.position, 44)

    def test_a_limit_of_no_events_is_refused(self) -> None:
        with self.assertRaisesRegex(fulgurite.InvalidError, "limit"):
            self.store.follow().poll(0, limit=0)

    def test_a_position_above_the_next_one_is_refused(self) -> None:
        self.fill(3)
        self.assertEqual(self.store.follow(3).poll(0), [])
        with self.assertRaisesRegex(fulgurite.InvalidError, "position 4.*follow from 3 for new events"):
            self.store.follow(4)

    def test_missed_positions_are_counted_though_no_event_after_them_can_be_returned(self) -> None:
        def upcaster(_: bytes) -> bytes:
            raise LookupError("a planted fault")

        path = Path(self.directory.name) / "missed.ful"
        with events.open(path, durability="log", upcasters={("x", 0): upcaster}) as store:
            for _ in range(20):
                store.append("a", [NewEvent("x", bytes(900))] * 10)
            start = store.apply_retention(max_count=50).start
            with store.follow(4) as follower:
                for _ in range(2):
                    with self.assertRaises(LookupError):
                        follower.poll(0)
                    self.assertEqual((follower.missed, follower.position), (start - 4, 4))

    def test_missed_positions_are_counted(self) -> None:
        for _ in range(20):
            self.store.append("a", [NewEvent("x", bytes(900))] * 10)
        start = self.store.apply_retention(max_count=50).start
        follower = self.store.follow(timeout=0)
        self.assertEqual((next(follower).position, follower.missed), (start, start))

    def test_closing_wakes_a_waiting_thread(self) -> None:
        for close in (lambda follower: follower.close(), lambda _: self.store.close()):
            follower, raised = self.store.follow(), threading.Event()

            def wait(follower: events.Follower = follower, raised: threading.Event = raised) -> None:
                try:
                    next(follower)
                except fulgurite.ClosedError:
                    raised.set()

            thread = threading.Thread(target=wait)
            thread.start()
            close(follower)
            thread.join()
            self.assertTrue(raised.is_set())

    def test_a_view_follows_until_it_is_stopped(self) -> None:
        self.fill(10)
        stop, caught_up, counts = threading.Event(), threading.Semaphore(0), []
        seen = self.store.table("seen", key=int)
        view = events.View("follow")

        def fold(txn: events.ViewTransaction, event: events.Event) -> None:
            txn["seen"][event.position] = b""

        def follow() -> None:
            counts.append(self.store.follow_view(view, fold, stop=stop, on_caught_up=caught_up.release).events)

        thread = threading.Thread(target=follow)
        thread.start()
        caught_up.acquire()
        self.fill(5)
        while self.store.consumer_position("follow") < 15:
            caught_up.acquire()
        stop.set()
        thread.join()
        self.assertEqual((counts, len(seen)), ([15], 15))

    @unittest.skipIf(os.name == "nt", "no signals between processes")
    def test_an_interrupt_ends_waiting(self) -> None:
        program = """
import signal, sys
from fulgurite import events
# A shell that runs the tests in the background makes their children ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
store = events.open(sys.argv[1], durability="log")
def fold(txn, event):
    pass
try:
    print("waiting", flush=True)
    if sys.argv[2] == "view":
        store.follow_view(events.View("v"), fold)
    else:
        next(store.follow())
except KeyboardInterrupt:
    print("interrupted", flush=True)
    store.close()
"""
        for what in ("follower", "view"):
            path = str(Path(self.directory.name) / f"{what}.ful")
            child = subprocess.Popen([sys.executable, "-c", program, path, what], stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline(), "waiting\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.read(), "interrupted\n")
            child.stdout.close()
            self.assertEqual(child.wait(), 0)


@unittest.skipIf(os.name == "nt", "no Unix sockets")
class ServersTest(StoreCase):
    def test_another_process_follows(self) -> None:
        program = """
import sys
from fulgurite import events
for event in events.connect(sys.argv[1], 2):
    print(event.position, event.stream, event.type, event.data, event.tags, flush=True)
    if event.data == b"9":
        break
"""
        socket = str(Path(self.directory.name) / "s.sock")
        self.fill(5)
        with self.store.serve(socket) as server:
            child = subprocess.Popen([sys.executable, "-c", program, socket], stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            first = child.stdout.readline()
            self.assertEqual(first, "2 s2 t2 b'2' ('tag0',)\n")
            self.assertEqual(server.followers, 1)
            self.fill(10)
            rest = child.stdout.read().splitlines()
            child.stdout.close()
            self.assertEqual(child.wait(), 0)
        self.assertEqual([int(line.split()[0]) for line in rest], list(range(3, 15)))
        with self.assertRaises(fulgurite.ClosedError):
            _ = server.followers

    def test_upcasters_of_a_follower_in_another_process_are_called(self) -> None:
        old, newer = NewEvent("named", b"ann"), NewEvent("named", b"{bob}", schema=1)
        self.store.append("a", [old, newer, NewEvent("other", b"x")])
        upcasters = {("named", 0): lambda data: b"{" + data + b"}", ("named", 1): lambda data: b"<" + data + b">"}
        socket = str(Path(self.directory.name) / "s.sock")
        with self.store.serve(socket):
            follower = events.connect(socket, timeout=0.5, upcasters=upcasters)
            seen = [(event.schema, event.data) for _, event in zip(range(3), follower)]
            self.assertEqual(seen, [(2, b"<{ann}>"), (2, b"<{bob}>"), (0, b"x")])
            follower.close()
            with events.connect(socket, 1) as follower:
                self.assertEqual((next(follower).data, follower.position), (b"{bob}", 2))

    def test_a_follower_in_another_process_gets_only_what_it_asks_for(self) -> None:
        self.fill(40)
        query = Query(types=["t1"]) | Query(types=["t2"], tags=["tag0"])
        local = [event.position for event in self.store.follow(timeout=0, query=query)]
        self.assertEqual(local, [n for n in range(40) if n % 3 == 1 or n % 6 == 2])
        socket, seen = str(Path(self.directory.name) / "s.sock"), list[int]()
        with self.store.serve(socket):
            for member in range(2):
                with events.connect(socket, partition=(member, 2), query=query) as follower:
                    while not follower.has_caught_up:
                        seen += [event.position for event in follower.poll(0.01)]
                    self.assertEqual((follower.position, follower.missed), (40, 0))
        self.assertEqual(sorted(seen), local)

    def test_a_consumer_in_another_process_continues_behind_what_it_has_acknowledged(self) -> None:
        self.fill(5)
        socket = str(Path(self.directory.name) / "s.sock")
        with self.store.serve(socket):
            for positions in ([0, 1, 2], [3, 4]):
                with events.connect(socket, consumer="c") as follower:
                    self.assertEqual([event.position for event in follower.poll(limit=3)], positions)
                    follower.acknowledge()
            with self.assertRaisesRegex(fulgurite.InvalidError, "give no start"):
                events.connect(socket, 1, consumer="c")
            with events.connect(socket) as follower, self.assertRaisesRegex(fulgurite.InvalidError, "no consumer name"):
                follower.acknowledge()
        with self.assertRaisesRegex(fulgurite.InvalidError, "set_consumer_position"):
            self.store.follow().acknowledge()
        with self.assertRaises(fulgurite.ClosedError):
            follower.acknowledge()

    def test_an_event_whose_upcaster_fails_is_not_lost(self) -> None:
        for n in range(5):
            self.store.append("a", NewEvent("bad" if n == 3 else "good", str(n).encode()))
        fails = [True]

        def upcast(data: bytes) -> bytes:
            if fails[0]:
                raise ZeroDivisionError
            return data + b"!"

        socket = str(Path(self.directory.name) / "s.sock")
        with self.store.serve(socket):
            follower = events.connect(socket, upcasters={("bad", 0): upcast})
            self.assertEqual([next(follower).position for _ in range(3)], [0, 1, 2])
            for _ in range(2):
                with self.assertRaises(ZeroDivisionError):
                    next(follower)
                self.assertEqual(follower.position, 3)
            fails[0] = False
            self.assertEqual([next(follower).data for _ in range(2)], [b"3!", b"4"])
            self.assertEqual(follower.position, 5)
            self.fill(1)
            self.assertEqual(next(follower).position, 5)
            follower.close()
            misused: list[events.Follower] = []

            def use(data: bytes) -> bytes:
                next(misused[0])
                return data

            misused.append(events.connect(socket, 3, upcasters={("bad", 0): use}))
            with self.assertRaisesRegex(fulgurite.InvalidError, "upcaster"):
                next(misused[0])
            with self.assertRaises(TypeError):
                events.connect(socket, upcasters={"bad": use})  # type: ignore[dict-item]

    def test_errors_of_sockets(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            socket = Path(directory) / "s.sock"
            with self.assertRaises(fulgurite.errors.SocketError):
                events.connect(socket)
            with self.assertRaises(OSError):
                self.store.serve(Path(directory) / "none" / "s.sock")
            with self.store.serve(socket):
                with self.assertRaisesRegex(fulgurite.InvalidError, "position 7"):
                    next(events.connect(socket, 7))
                follower = events.connect(socket, timeout=0)
                self.assertEqual(list(follower), [])
            with self.assertRaises(fulgurite.errors.SocketError):
                follower.poll()


if __name__ == "__main__":
    unittest.main()
