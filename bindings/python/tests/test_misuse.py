"""What programs do wrong raises exceptions, and harms nothing."""

import faulthandler
import gc
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import fulgurite
import raw
from fulgurite import _native, events, rdf


class MisuseTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = Path(self.directory.name) / "a.ful"
        # The tests make thousands of commits, which need not survive a power cut.
        self.db = fulgurite.open(self.path, durability="log")
        self.addCleanup(self.db.close)
        self.t = self.db.table("t")

    def test_calls_that_may_read_the_disk_let_other_threads_run(self) -> None:
        # A thread that holds the interpreter's lock would keep it for all of the calls.
        before = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, before)
        self.t.update({b"k": b"value", b"long": bytes(100_000)})
        reader, writer = self.db.read(), self.db.write()
        self.addCleanup(writer.abort)
        store = events.open_in(self.db)
        uses = [
            self.db.tables,
            lambda: self.db["t"],
            lambda: self.db.sequence,
            lambda: self.db.read(durable=True),
            reader.tables,
            lambda: reader["t"],
            lambda: reader.sequence,
            writer.tables,
            lambda: store.follow(0),
        ]
        for table in (self.t, reader["t"], writer["t"]):
            uses += [
                partial(table.__getitem__, b"k"),
                partial(table.get, b"long"),
                partial(table.get, b"x"),
                partial(table.__contains__, b"k"),
                partial(table.view, b"k"),
                partial(table.get_many, [b"k", b"x"]),
                table.count,
            ]
        for use in uses:
            gate, ran = threading.Lock(), threading.Event()
            gate.acquire()
            waiting = threading.Thread(target=lambda: (gate.acquire(), ran.set()))
            waiting.start()
            sys.setswitchinterval(1000)
            gate.release()
            calls = 0
            while not ran.is_set() and calls < 1_000_000:
                use()
                calls += 1
            has_run = ran.is_set()
            sys.setswitchinterval(before)
            waiting.join()
            self.assertTrue(has_run, use)

    def test_a_view_is_valid_until_the_transaction_ends(self) -> None:
        self.t[b"k"] = b"value" * 100
        with self.db.read() as txn:
            value = txn["t"].view(b"k")
            assert value is not None
            self.assertEqual(bytes(value), b"value" * 100)
            self.assertEqual(len(value), 500)
            self.assertEqual(value, b"value" * 100)
            self.assertIsNone(txn["t"].view(b"x"))
            kept = memoryview(value)
            self.assertTrue(kept.readonly)
            with self.assertRaises(TypeError):
                kept[0] = 1
        for use in (memoryview, bytes, len, lambda value: value == b""):
            with self.assertRaises(fulgurite.ClosedError):
                use(value)
        self.assertIn("ended", repr(value))
        del txn, value
        # The view keeps the snapshot, whatever happens to the database.
        self.t[b"k"] = b"other"
        self.db.checkpoint()
        self.t.clear()
        self.db.compact()
        self.db.close()
        gc.collect()
        self.assertEqual(bytes(kept), b"value" * 100)
        kept.release()

    def test_finished_objects_do_not_keep_the_database_open(self) -> None:
        path = self.path.with_name("finished.ful")
        db = fulgurite.open(path, durability="log", keep_log_bytes=1 << 20)
        t = db.table("t")
        t.update({b"%d" % n: bytes(300) for n in range(50)})
        store = events.open_in(db)
        store.append("s", events.NewEvent("x"))
        read = db.read()
        value = read["t"].view(b"1")
        assert value is not None
        memoryview(value).release()
        read.end()
        with self.assertRaises(fulgurite.ClosedError):
            bytes(value)
        finished = [iter(t.items()), t.scan_keys(), db.changes(), store.read(), store.read_stream("s"), store.streams()]
        for iterator in finished:
            self.assertGreater(sum(1 for _ in iterator), 0)
            self.assertEqual(list(iterator), [])
        store.close()
        db.close()
        fulgurite.open(path).close()

    def test_a_view_of_a_write_transaction_or_image_is_a_copy(self) -> None:
        self.t[b"k"] = b"1"
        with self.db.write() as txn:
            view = txn["t"].view(b"k")
            txn["t"][b"k"] = b"2"
        assert view is not None
        self.assertEqual(bytes(view), b"1")
        image = Path(self.directory.name) / "i.ful"
        self.db.write_image(image)
        with fulgurite.open(image, image=True, map=False) as db, db.read() as txn:
            view = txn["t"].view(b"k")
            assert view is not None
            kept = memoryview(view)
        gc.collect()
        self.assertEqual(bytes(kept), b"2")

    def test_ended_transactions_raise(self) -> None:
        self.t[b"k"] = b"v"
        read, write = self.db.read(), self.db.write()
        tables = [read["t"], write["t"]]
        scans = [iter(table.items()) for table in tables]
        next(scans[0])
        read.end()
        read.end()
        write.abort()
        write.abort()
        for table in tables:
            for use in (
                lambda: table[b"k"],
                lambda: len(table),
                lambda: list(table),
                lambda: table.view(b"k"),
                lambda: table.get_many([b"k"]),
                lambda: b"k" in table,
            ):
                with self.assertRaises(fulgurite.ClosedError):
                    use()
        for scan in scans:
            with self.assertRaises(fulgurite.ClosedError):
                list(scan)
        with self.assertRaises(fulgurite.ClosedError):
            tables[1][b"k"] = b"w"
        with self.assertRaises(fulgurite.ClosedError):
            write.commit()
        with self.assertRaises(fulgurite.ClosedError):
            read["t"]

    def test_closed_databases_raise(self) -> None:
        self.t[b"k"] = b"v"
        read = self.db.read()
        write = self.db.write()
        write["t"][b"k"] = b"w"
        self.db.close()
        self.db.close()
        for use in (lambda: self.t[b"k"], self.db.read, self.db.write, self.db.tables, self.db.sync):
            with self.assertRaises(fulgurite.ClosedError):
                use()
        with self.assertRaises(fulgurite.ClosedError):
            self.t[b"k"] = b"w"
        self.assertEqual(read["t"][b"k"], b"v")
        with self.assertRaises(fulgurite.ClosedError):
            write.commit()
        with self.assertRaises(fulgurite.LockedError):
            fulgurite.open(self.path)
        read.end()
        with fulgurite.open(self.path) as db:
            self.assertEqual(db["t"][b"k"], b"v")

    def test_two_openings_share_a_database(self) -> None:
        other = fulgurite.open(self.path, durability="log")
        self.db.close()
        other["t"][b"k"] = b"v"
        self.assertEqual(other["t"][b"k"], b"v")
        other.close()

    def test_two_openings_share_a_database_that_the_first_one_has_created(self) -> None:
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.directory.name)
        os.symlink("target.ful", "link.ful")
        for name in ("bare.ful", "link.ful"):
            with fulgurite.open(name) as first:
                with fulgurite.open(name) as second:
                    second.table("t")[b"k"] = b"v"
                self.assertEqual(first["t"][b"k"], b"v")
        self.assertTrue(os.path.isfile("target.ful"))

    @unittest.skipUnless(hasattr(signal, "setitimer"), "needs timers that send signals")
    def test_a_signal_ends_what_waits(self) -> None:
        class Interrupted(Exception):
            pass

        def interrupt(*_: object) -> None:
            raise Interrupted

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        reader, writer = self.db.read(), self.db.exclusive()

        def interrupted(wait: Callable[[], object]) -> None:
            began = time.monotonic()
            try:
                with self.assertRaises(Interrupted):
                    signal.setitimer(signal.ITIMER_REAL, 0.2)
                    wait()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            self.assertLess(time.monotonic() - began, 60)

        interrupted(lambda: self.db.exclusive(timeout=300))
        writer.abort()
        self.db.close()
        # The reader keeps the database locked.
        interrupted(lambda: fulgurite.open(self.path, wait_for_lock=300))
        interrupted(lambda: events.open(self.path, wait_for_lock=300))
        interrupted(lambda: rdf.open(self.path, wait_for_lock=300))
        began = time.monotonic()
        with self.assertRaises(fulgurite.LockedError):
            fulgurite.open(self.path, wait_for_lock=0.1)
        self.assertGreaterEqual(time.monotonic() - began, 0.1)
        threading.Timer(0.1, reader.end).start()
        with fulgurite.open(self.path, wait_for_lock=300) as db:
            self.assertEqual(db.tables(), ["t"])

    def test_an_interrupt_while_an_exception_is_made_is_not_lost(self) -> None:
        for raised, expected in ((KeyboardInterrupt, KeyboardInterrupt), (AttributeError, RuntimeError)):
            with mock.patch.object(fulgurite.errors, "make", side_effect=raised), self.assertRaises(expected):
                self.db["none"]

    def test_a_database_that_is_dropped_keeps_its_commits(self) -> None:
        db = fulgurite.open(self.path, durability="log")
        db["t"][b"k"] = b"v"
        self.db.close()
        del db, self.db, self.t
        gc.collect()
        self.db = fulgurite.open(self.path)
        self.assertEqual(self.db["t"][b"k"], b"v")

    def test_exceptions_in_update_abort(self) -> None:
        def change(txn: fulgurite.WriteTransaction) -> None:
            txn["t"][b"k"] = b"v"
            raise LookupError("no")

        with self.assertRaisesRegex(LookupError, "no"):
            self.db.update(change)
        self.assertNotIn(b"k", self.t)
        # A commit inside is kept, and the end of update does nothing more.
        self.db.update(lambda txn: (txn["t"].update({b"k": b"v"}), txn.commit()))
        self.assertEqual(self.t[b"k"], b"v")

    def test_exceptions_of_iterables_reach_the_caller(self) -> None:
        def pairs():
            yield b"a", b"1"
            raise LookupError("no")

        for load in (self.t.put_many, lambda given: self.db.bulk_load(self.t, given)):
            with self.assertRaisesRegex(LookupError, "no"):
                load(pairs())
            with self.assertRaises((TypeError, ValueError)):
                load([(b"a", b"1", b"2")])
            with self.assertRaises(TypeError):
                load([("a", b"1")])
        self.assertEqual(dict(self.t), {})

    def test_writing_while_iterating(self) -> None:
        self.t.put_many((b"%04d" % n, b"") for n in range(2000))
        # Of a database, the iteration shows the state when it began.
        for key in self.t:
            del self.t[key]
            self.t[b"x" + key] = b""
        self.assertEqual(len(self.t), 2000)
        # Of a transaction, it ends, though entries are added behind it.
        with self.db.write() as txn:
            table = txn["t"]
            for key in table:
                del table[key]
                table[b"a" + key] = b""
        self.assertEqual(len(self.t), 2000)

    def test_many_threads_use_everything_at_once(self) -> None:
        self.t.put_many((b"%04d" % n, b"%04d" % n) for n in range(1000))
        counter = self.db.table("counter", key=str, value=int)
        failures: list[BaseException] = []
        shared_read, shared_write = self.db.read(), self.db.write()
        shared_scan = iter(self.t.items())
        seen: list[bytes] = []

        def run(number: int) -> None:
            try:
                for round in range(20):
                    self.db.update(lambda txn: txn["counter"].update(n=txn["counter"].get("n", 0) + 1))
                    self.assertEqual(len(list(shared_read["t"])), 1000)
                    view = shared_read["t"].view(b"0007")
                    self.assertEqual(bytes(memoryview(view)), b"0007")
                    shared_write["t"][b"w%d-%d" % (number, round)] = b""
                    seen.extend(key for _, (key, _) in zip(range(10), shared_scan))
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(counter["n"], 80)
        shared_write.commit()
        self.assertEqual(len(self.t), 1080)
        self.assertEqual(len(seen), len(set(seen)))

    def test_ending_a_transaction_while_others_use_it(self) -> None:
        self.t.put_many((b"%04d" % n, b"x" * 1000) for n in range(1000))
        for begin in (self.db.read, self.db.write):
            txn = begin()
            started, wrong = threading.Barrier(4), []

            def run() -> None:
                started.wait()
                try:
                    while True:
                        list(txn["t"].items())
                        txn["t"].view(b"0001")
                except fulgurite.ClosedError:
                    return
                except BaseException as error:  # noqa: BLE001
                    wrong.append(error)

            threads = [threading.Thread(target=run) for _ in range(3)]
            for thread in threads:
                thread.start()
            started.wait()
            txn.end() if isinstance(txn, fulgurite.ReadTransaction) else txn.abort()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_an_exclusive_transaction_does_not_stop_other_threads(self) -> None:
        with self.db.exclusive() as txn:
            with self.assertRaises(TimeoutError):
                self.db.exclusive(timeout=0.01)
            waiting = threading.Thread(target=lambda: self.t.update({b"other": b""}))
            waiting.start()
            txn["t"][b"mine"] = b""
        waiting.join()
        self.assertEqual(set(self.t), {b"mine", b"other"})

    def test_a_thread_does_not_wait_for_its_own_exclusive_transaction(self) -> None:
        self.db.create_table("names", key=str)
        txn = self.db.exclusive()
        # Opening an existing table does not wait.
        self.db.table("names", key=str)
        for write in (
            lambda: self.t.update({b"k": b""}),
            self.db.write,
            lambda: self.db.table("other", key=int),
            lambda: self.db.bulk_load(self.t, [(b"k", b"")]),
        ):
            with self.assertRaises(fulgurite.NestedError):
                write()
        txn.abort()
        self.t[b"k"] = b"v"
        with self.assertRaises(ZeroDivisionError), fulgurite.open(self.path, durability="log") as db:
            txn = db.exclusive()
            self.db.close()
            raise ZeroDivisionError
        with self.assertRaises(fulgurite.ClosedError):
            txn.commit()

    def test_the_iterable_of_a_sorted_load_does_not_wait_for_the_load(self) -> None:
        faulthandler.dump_traceback_later(120, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        begun = self.db.write()

        def pairs() -> Iterator[tuple[bytes, bytes]]:
            yield b"a", b""
            for write in (
                lambda: self.t.update({b"k": b""}),
                self.db.write,
                self.db.exclusive,
                begun.commit,
                lambda: self.db.table("other"),
                lambda: self.db.bulk_load(self.t, []),
                self.db.checkpoint,
                self.db.compact,
                self.db.close,
            ):
                with self.assertRaises(fulgurite.NestedError):
                    write()
            # Reads do not wait, and neither does opening an existing table.
            self.assertNotIn(b"k", self.db.table("t"))
            yield b"b", b""

        self.assertEqual(self.db.bulk_load(self.t, pairs(), is_sorted=True), (2, 0))
        begun.commit()
        self.t[b"k"] = b"v"

    def test_a_close_that_waits_for_an_exclusive_transaction_stops_nobody(self) -> None:
        # Without the interpreter: a thread that waits with its lock held stops all others.
        faulthandler.dump_traceback_later(120, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        closed = fulgurite.open(self.path, durability="log")
        dropped = fulgurite.open(self.path, durability="log")
        closed.close()
        txn = dropped.exclusive()
        del dropped
        gc.collect()
        closing = threading.Thread(target=self.db.close)
        closing.start()
        time.sleep(0.2)
        # Objects are dropped, and the database is opened, while it is being closed.
        del closed
        gc.collect()
        other = fulgurite.open(self.path, durability="log")
        txn["t"][b"k"] = b"v"
        txn.commit()
        closing.join()
        self.assertEqual(other["t"][b"k"], b"v")
        other["t"][b"l"] = b"w"
        other.close()

    def test_a_collection_may_use_a_transaction_that_is_read(self) -> None:
        faulthandler.dump_traceback_later(120, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        pairs = self.db.table("pairs", key=int, value=(int, int))
        pairs[1] = (2, 3)
        used: list[bool] = []
        with self.db.write() as txn:
            table = txn["pairs"]

            def collected(phase: str, _: dict[str, int]) -> None:
                used.append(1 in table)

            gc.callbacks.append(collected)
            threshold = gc.get_threshold()
            gc.set_threshold(1)
            try:
                kept = [table[1] for _ in range(100)]
            finally:
                gc.set_threshold(*threshold)
                gc.callbacks.remove(collected)
        self.assertEqual(kept, [(2, 3)] * 100)
        self.assertTrue(all(used))

    def test_values_that_cannot_be_converted_are_not_removed(self) -> None:
        self.db.table("numbers", key=str, value="u32")
        self.db.close()
        raw.put(self.path, "numbers", b"k", b"12345")
        self.db = fulgurite.open(self.path)
        self.addCleanup(self.db.close)
        for source in (self.db, self.db.write()):
            mapping = source["numbers"]
            for remove in (lambda: mapping.pop("k"), mapping.popitem, lambda: mapping.popitem(last=False)):
                with self.assertRaises(fulgurite.InvalidError):
                    remove()
                self.assertIn("k", mapping)

    def test_wrong_arguments_are_named(self) -> None:
        names = self.db.table("names", key=str, value=int)
        wrong: list[tuple[str, type[Exception], Callable[..., object], list[Any]]] = [
            ("must be a Table, not str", TypeError, self.db.bulk_load, ["names", []]),
            ("must be a pair .key, value., not int", TypeError, self.db.bulk_load, [self.t, [1, 2]]),
            ("the key needs string, not int", TypeError, names.__getitem__, [1]),
            ("the value needs i64, not str", TypeError, names.__setitem__, ["k", "v"]),
            ("`i7` names no type; use int", fulgurite.InvalidError, partial(self.db.table, key="i7"), ["typed"]),
            ("batch_rows must be at least 1", ValueError, partial(names.arrow, batch_rows=0), []),
            ("keep_log_bytes is -1", fulgurite.InvalidError, partial(fulgurite.open, keep_log_bytes=-1), ["b.ful"]),
            ("checkpoint_interval", fulgurite.InvalidError, partial(fulgurite.open, checkpoint_interval=-1), ["b.ful"]),
        ]
        for text, kind, call, arguments in wrong:
            with self.assertRaisesRegex(kind, text):
                call(*arguments)

    def test_names_that_are_no_types_are_refused(self) -> None:
        wrong: list[Any] = ["int", "i7", "u129", "Str", "a b", "(u8,", (int, "str"), (int,) * 9, ()]
        for kind in wrong:
            for use in (
                lambda: self.db.table("typed", key=kind),
                lambda: self.db.create_table("typed", value=kind),
                lambda: events.View("v").table("typed", key=kind),
            ):
                with self.assertRaisesRegex(fulgurite.InvalidError, "no type.*; use int, .* u8 to u128.* option<T> "):
                    use()
        self.assertNotIn("typed", self.db)
        self.db.table("typed", key="(u32, string)", value="option<bytes[16]>")
        # What another program has recorded is read and written as bytes.
        raw.create_table(self.db, "foreign", "point")
        foreign = self.db.table("foreign")
        foreign[b"k"] = b"v"
        self.assertEqual((foreign.key_type, dict(foreign)), ("point", {b"k": b"v"}))

    def test_paths_are_texts_bytes_or_objects_that_have_one(self) -> None:
        path = os.fsencode(self.path.with_name("bytes.ful"))
        with fulgurite.open(path) as db:
            db.table("t")
            db.backup(path + b".copy")
            self.assertEqual(db.path, os.fsdecode(path))
        with fulgurite.open(os.fsdecode(path) + ".copy", create=False) as db:
            self.assertEqual(db.tables(), ["t"])
        nothing: Any = None
        with self.assertRaisesRegex(TypeError, "str, bytes or os.PathLike"):
            fulgurite.open(nothing)
        with self.assertRaisesRegex(fulgurite.Error, "the path is empty"):
            fulgurite.open("")

    def test_wrong_arguments(self) -> None:
        with self.assertRaises(fulgurite.DatabaseNotFoundError):
            fulgurite.open(self.path.with_name("b.ful"), create=False)
        with self.assertRaises(fulgurite.InvalidError):
            fulgurite.open(self.path.with_name("b.ful"), page_size_bytes=7)
        with self.assertRaises(fulgurite.InvalidError):
            fulgurite.open(self.path.with_name("b.ful"), durability="paper")  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            self.db.table("u", key=list)
        with self.assertRaises(TypeError):
            self.t[None] = b""
        with self.assertRaises(TypeError):
            _native.Source()  # type: ignore[call-arg]
        not_a_database = self.path.with_name("text")
        not_a_database.write_text("no database " * 5000)
        with self.assertRaises(fulgurite.Error):
            fulgurite.open(not_a_database)


if __name__ == "__main__":
    unittest.main()
