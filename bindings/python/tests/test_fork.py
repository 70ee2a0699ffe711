"""A child made by fork cannot use what its parent opened, opens databases itself, and does not harm its parent."""

import os
import signal
import sys
import tempfile
import threading
import traceback
import unittest
import warnings
from collections.abc import Callable
from pathlib import Path

import fulgurite
from fulgurite import events, rdf
from fulgurite.events import NewEvent
from test_rdf import LONG


def in_child(run: Callable[[], None], before: Callable[[], None] = lambda: None) -> str:
    """Fork, call ``before`` here, then ``run`` in the child. Return the traceback of its exception, or no text."""
    gate, report = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        # Later versions of Python warn of the threads that the parent has.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            # Ends a child that waits for ever.
            signal.alarm(60)
            os.read(gate[0], 1)
            run()
        except BaseException:  # noqa: BLE001
            os.write(report[1], traceback.format_exc()[-10_000:].encode())
        finally:
            os._exit(0)
    try:
        before()
    finally:
        os.write(gate[1], b"!")
        _, status = os.waitpid(child, 0)
        for end in (*gate, report[1]):
            os.close(end)
    with open(report[0], "rb") as file:
        text = file.read().decode()
    return text if status == 0 else f"{text}the child ended with the status {status}"


@unittest.skipUnless(sys.platform == "linux", "needs fork and Linux")
class ForkTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = Path(self.directory.name) / "a.ful"
        self.db = fulgurite.open(self.path)
        self.addCleanup(self.db.close)
        self.t = self.db.table("t", key=str, value=int)
        self.t["parent"] = 1

    def refuse(self, call: Callable[[], object]) -> None:
        """A call of the child raises the error of a fork."""
        with self.assertRaisesRegex(fulgurite.Error, "open it again in this process") as caught:
            call()
        self.assertEqual(caught.exception.kind, "FORKED")

    def files(self) -> list[str]:
        return os.listdir(self.directory.name)

    def test_what_a_child_inherits_raises_and_the_parent_continues(self) -> None:
        self.db.checkpoint()
        other, read, write = fulgurite.open(self.path), self.db.read(), self.db.write()
        write["t"]["parent"] = 2
        value, entries = read["t"].view("parent"), self.t.scan()
        assert value is not None

        def use() -> None:
            for call in (
                lambda: self.t["parent"],
                lambda: "parent" in self.t,
                lambda: self.t.update(child=1),
                lambda: read["t"]["parent"],
                lambda: list(read["t"]),
                lambda: len(value),
                lambda: memoryview(value),
                lambda: next(entries),
                self.db.read,
                self.db.write,
                self.db.sync,
                write.commit,
                self.db.close,
                other.close,
            ):
                self.refuse(call)
            for end in (read.end, write.abort):
                end()
            with self.assertRaises(fulgurite.LockedError):
                fulgurite.open(self.path)
            with fulgurite.open(self.path, read_only=True) as db:
                self.assertEqual(dict(db["t"]), {"parent": 1})

        self.assertEqual(in_child(use), "")
        self.assertEqual((read["t"]["parent"], len(value), next(entries)), (1, 8, ("parent", 1)))
        read.end()
        write.commit()
        other.close()
        self.assertEqual((dict(self.t), self.db.check()), ({"parent": 2}, []))

    def test_an_event_store_that_a_child_inherits_raises_and_the_parent_continues(self) -> None:
        store = events.open(self.path.with_name("log.ful"))
        self.addCleanup(store.close)
        store.append("s", NewEvent("x"))
        snapshot = store.snapshot()

        def use() -> None:
            for call in (
                lambda: store.append("s", NewEvent("y")),
                lambda: store.transact(lambda txn: None),
                lambda: list(store.read()),
                lambda: list(store.read_stream("s")),
                lambda: store.head,
                lambda: snapshot.head,
                lambda: store.table("t"),
                store.close,
            ):
                self.refuse(call)
            snapshot.end()

        self.assertEqual(in_child(use), "")
        store.append("s", NewEvent("z"))
        self.assertEqual(([event.type for event in store.read_stream("s")], snapshot.head), (["x", "z"], 1))

    def test_a_child_harms_neither_a_server_nor_a_connection_of_its_parent(self) -> None:
        store = events.open(self.path.with_name("log.ful"))
        self.addCleanup(store.close)
        socket = self.path.with_name("socket")
        with store.serve(socket) as server, events.connect(socket, consumer="c") as follower:
            store.append("s", [NewEvent("x"), NewEvent("y")])
            self.assertEqual(len(follower.poll(60, limit=1)), 1)

            def use() -> None:
                for call in (
                    lambda: follower.poll(0),
                    lambda: next(follower),
                    follower.acknowledge,
                    lambda: server.followers,
                    server.close,
                ):
                    self.refuse(call)
                follower.close()
                # As if the child ended normally.
                server._server = follower._follower = None  # noqa: SLF001

            self.assertEqual(in_child(use), "")
            self.assertTrue(socket.exists())
            self.assertEqual([event.type for event in follower.poll(60)], ["y"])

    def test_a_child_does_not_wait_for_solutions_of_its_parent(self) -> None:
        store = rdf.open(self.path.with_name("rdf.ful"))
        self.addCleanup(store.close)
        store.load_bytes(b"<http://a/a> <http://a/p> 1, 2 .", "ttl")
        rows = iter(store.select("SELECT ?o { ?s ?p ?o }"))
        next(rows)

        def use() -> None:
            self.refuse(lambda: next(rows))
            # As if the child ended normally.
            del store._store  # noqa: SLF001

        self.assertEqual(in_child(use), "")
        self.assertEqual(len(list(rows)), 1)

    def test_a_child_does_not_wait_for_locks_that_threads_of_its_parent_hold(self) -> None:
        entered, leave = threading.Semaphore(0), threading.Event()

        def wait(value: bytes) -> bytes:
            entered.release()
            leave.wait(60)
            return value

        functions = {"wait": lambda key, value, operands: wait(operands[0])}
        db = fulgurite.open(self.path.with_name("merged.ful"), merge_functions=functions, keep_log_bytes=1 << 20)
        self.addCleanup(db.close)
        db.table("m", merge_function="wait")
        write, feed = db.write(), db.changes()
        write["m"].merge(b"k", b"v")
        store = events.open(self.path.with_name("log.ful"), upcasters={("x", 0): wait})
        self.addCleanup(store.close)
        store.append("s", NewEvent("x", b"data"))
        scan = store.read()
        quads = rdf.open(self.path.with_name("rdf.ful"))
        self.addCleanup(quads.close)
        quads.load_bytes(b"<http://a/a> <http://a/p> 1, 2, 3, 4, 5, 6, 7, 8 .", "ttl")
        rows = quads.select(f"SELECT * {{ {LONG} }}")

        def use() -> None:
            for call in (
                lambda: write["m"][b"k"],
                write.savepoint,
                write.commit,
                lambda: next(scan),
                lambda: next(iter(rows)),
                lambda: next(feed),
            ):
                self.refuse(call)
            for end in (write.abort, feed.close, rows.close):
                end()

        def read_rows() -> None:
            entered.release()
            next(iter(rows))

        raised: list[Exception] = []

        def collect(run: Callable[[], object]) -> None:
            try:
                run()
            except Exception as error:  # noqa: BLE001
                raised.append(error)

        # With this interval, a thread runs only when another one waits: the one that reads rows does so with its lock.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1000)
        # Each holds a lock of the object that it uses.
        threads = [
            threading.Thread(target=collect, args=[run])
            for run in (lambda: write["m"][b"k"], lambda: next(scan), read_rows)
        ]
        for thread in threads:
            thread.start()
        for _ in threads:
            self.assertTrue(entered.acquire(timeout=60))
        try:
            self.assertEqual(in_child(use), "")
        finally:
            leave.set()
            rows.close()
            for thread in threads:
                thread.join()
        self.assertEqual([type(error) for error in raised], [fulgurite.ClosedError], raised)
        write.commit()
        self.assertEqual(dict(db["m"]), {b"k": b"v"})

    def test_a_child_opens_the_database_after_the_parent_has_closed_it(self) -> None:
        def use() -> None:
            # The child still has the inherited object, but does not count it: this close merges the log.
            with fulgurite.open(self.path) as db:
                db["t"]["child"] = 2
            self.assertEqual(self.files(), ["a.ful"])

        self.assertEqual(in_child(use, before=self.db.close), "")
        self.assertEqual(self.files(), ["a.ful"])
        with fulgurite.open(self.path) as db:
            self.assertEqual(dict(db["t"]), {"child": 2, "parent": 1})

    def test_a_parent_and_its_child_have_databases_of_their_own(self) -> None:
        paths = {name: self.path.with_name(f"{name}.ful") for name in ("parent", "child")}

        def use(name: str) -> None:
            with fulgurite.open(paths[name]) as db:
                db.table(name)[b"k"] = name.encode()

        self.assertEqual(in_child(lambda: use("child"), before=lambda: use("parent")), "")
        self.assertEqual([name for name in self.files() if name.startswith("child")], ["child.ful"])
        for name, path in paths.items():
            with fulgurite.open(path) as db:
                self.assertEqual(dict(db[name]), {b"k": name.encode()})


if __name__ == "__main__":
    unittest.main()
