"""Merge functions: what they compute, what they must not do, and threads."""

import faulthandler
import gc
import sys
import tempfile
import threading
import unittest
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fulgurite
from fulgurite import events, rdf


def longest(key: bytes, value: bytes | None, operands: list[bytes]) -> bytes:
    """Keeps the longest text."""
    if key == b"raise":
        raise LookupError("no text is long enough")
    return max([value or b"", *operands], key=len)


class MergeFunctionsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = Path(self.directory.name) / "a.ful"

    def opened(self, function: Callable[..., Any]) -> tuple[fulgurite.Database, fulgurite.Table]:
        db = fulgurite.open(self.path, durability="log", merge_functions={"f": function})
        self.addCleanup(db.close)
        return db, db.table("t", merge_function="f")

    def test_an_exception_that_is_no_error_is_raised_itself(self) -> None:
        def interrupted(*_: object) -> bytes:
            raise KeyboardInterrupt

        db, table = self.opened(interrupted)
        with self.assertRaises(KeyboardInterrupt):
            table.merge(b"k", b"v")
        with self.assertRaises(KeyboardInterrupt), db.write() as txn:
            txn["t"].merge(b"k", b"v")
        self.assertEqual(len(table), 0)

    def test_a_function_computes_values_from_the_operands_of_a_transaction(self) -> None:
        seen = []

        def note(key: bytes, value: bytes | None, operands: list[bytes]) -> bytes:
            seen.append((key, value, operands))
            return longest(key, value, operands)

        db, table = self.opened(note)
        with db.write() as txn:
            for operand in (b"ab", b"abcd", b""):
                txn["t"].merge(b"k", operand)
            self.assertEqual(txn["t"][b"k"], b"abcd")
        table.merge(b"k", b"abc")
        self.assertEqual(table[b"k"], b"abcd")
        self.assertEqual(set(map(repr, seen)), {
            repr((b"k", None, [b"ab", b"abcd", b""])),
            repr((b"k", b"abcd", [b"abc"])),
        })
        self.assertEqual(table._table.merge_function, "f")
        with self.assertRaisesRegex(fulgurite.InvalidError, "not both"):
            db.table("both", merge="add", merge_function="f")
        db.close()
        with fulgurite.open(self.path) as without:
            without["t"][b"k"] = b"v"
            with self.assertRaises(fulgurite.Error) as missing:
                without["t"].merge(b"k", b"x")
            self.assertEqual(missing.exception.kind, "MERGE_FUNCTION_MISSING")

    def test_a_typed_table_passes_stored_bytes(self) -> None:
        def add(_: bytes, value: bytes | None, operands: list[bytes]) -> bytes:
            decode = table._table.decode_value
            total = sum(map(decode, operands)) + (decode(value) if value else 0)
            return encoded[total]

        db = fulgurite.open(self.path, merge_functions={"add": add})
        self.addCleanup(db.close)
        table = db.table("n", key=str, value=int, merge_function="add")
        encoded = {}
        for number in (5, 12):
            table["x"] = number
            value = table.view("x")
            assert value is not None
            encoded[number] = bytes(value)
        del table["x"]
        table.merge("x", 5)
        table.merge("x", 7)
        self.assertEqual(table["x"], 12)

    def test_an_exception_is_the_cause_of_the_error_of_the_call(self) -> None:
        db, table = self.opened(longest)

        def commits(db: fulgurite.Database) -> None:
            with db.write() as txn:
                txn["t"].merge(b"raise", b"x")

        def reads(db: fulgurite.Database) -> None:
            txn = db.write()
            txn["t"].merge(b"raise", b"x")
            try:
                txn["t"].get(b"raise")
            finally:
                txn.abort()

        def merges(db: fulgurite.Database) -> None:
            db["t"].merge(b"raise", b"x")

        def transacts(db: fulgurite.Database) -> None:
            with_events = events.open_in(db)
            with_events.transact(lambda txn: txn["t"].merge(b"raise", b"x"))

        for use in (commits, reads, merges, transacts):
            with self.assertRaises(fulgurite.Error) as raised:
                use(db)
            error = raised.exception
            self.assertEqual(error.kind, "UNMERGEABLE")
            self.assertIn("LookupError: no text is long enough", str(error))
            self.assertIsInstance(error.__cause__, LookupError)
            self.assertEqual(error.__cause__.args, ("no text is long enough",))  # type: ignore[union-attr]
            self.assertIsNotNone(error.__cause__.__traceback__)  # type: ignore[union-attr]
        self.assertNotIn(b"raise", table)

    def test_results_that_are_no_bytes_are_errors(self) -> None:
        for result, text in ((None, "None; return bytes"), ("text", "encode the text"), (7, "int")):
            db, table = self.opened(lambda *_, result=result: result)
            with self.assertRaisesRegex(fulgurite.Error, text) as raised:
                table.merge(b"k", b"x")
            self.assertIsInstance(raised.exception.__cause__, TypeError)
            db.close()
        db, table = self.opened(lambda *_: bytearray(b"bytes"))
        table.merge(b"k", b"x")
        self.assertEqual(table[b"k"], b"bytes")

    def test_wrong_functions_are_refused(self) -> None:
        functions: Any
        for functions in ({"f": 7}, {7: longest}, {"f": None}, [1]):
            with self.assertRaises(TypeError):
                fulgurite.open(self.path, merge_functions=functions)
        for name in ("", "x" * 256):
            with self.assertRaises(fulgurite.InvalidError):
                fulgurite.open(self.path, merge_functions={name: longest})

    def test_a_function_cannot_call_the_library(self) -> None:
        outcomes: dict[str, object] = {}
        uses: dict[str, Callable[[], object]] = {}

        def careless(_: bytes, value: bytes | None, operands: list[bytes]) -> bytes:
            for name, use in uses.items():
                try:
                    use()
                    outcomes[name] = "it was not refused"
                except Exception as error:
                    outcomes[name] = error
            return operands[0]

        db, table = self.opened(careless)
        table[b"there"] = b"v"
        other = fulgurite.open(self.path.with_name("b.ful"))
        self.addCleanup(other.close)
        store = events.open(self.path.with_name("c.ful"))
        self.addCleanup(store.close)
        graph = rdf.open(self.path.with_name("d.ful"))
        self.addCleanup(graph.close)
        reader, writer, snapshot, follower = db.read(), db.write(), store.snapshot(), store.follow()
        self.addCleanup(writer.abort)
        scan = table.scan()
        uses = {
            "get": lambda: table[b"there"],
            "view": lambda: reader["t"].view(b"there"),
            "put": lambda: writer["t"].__setitem__(b"k", b"v"),
            "scan": lambda: next(scan),
            "tables": db.tables,
            "sequence": lambda: db.sequence,
            "read": db.read,
            "write": db.write,
            "exclusive": db.exclusive,
            "commit": writer.commit,
            "abort": writer.abort,
            "end": reader.end,
            "close": db.close,
            "stats": db.stats,
            "open": lambda: fulgurite.open(self.path, merge_functions={"f": careless}),
            "other": other.tables,
            "close of another": other.close,
            "append": lambda: store.append("s", events.NewEvent("x")),
            "head": lambda: store.head,
            "snapshot": lambda: snapshot.head,
            "poll": lambda: follower.poll(0),
            "close of a store": store.close,
            "query": lambda: graph.ask("ASK {}"),
            "close of a graph": graph.close,
        }
        with db.write() as txn:
            txn["t"].merge(b"k", b"operand")
        for name, outcome in outcomes.items():
            self.assertIsInstance(outcome, fulgurite.InvalidError, f"{name}: {outcome}")
            self.assertIn("a merge function cannot call this", str(outcome), name)
        self.assertEqual(set(outcomes), set(uses))
        uses = {}
        # All of them go on.
        self.assertEqual(table[b"k"], b"operand")
        self.assertEqual(bytes(reader["t"][b"there"]), b"v")
        store.append("s", events.NewEvent("x"))
        self.assertEqual((snapshot.head, store.head, other.tables(), graph.ask("ASK {}")), (0, 1, [], True))

    def test_commits_of_threads_neither_wait_for_ever_nor_lose_operands(self) -> None:
        def add(_: bytes, value: bytes | None, operands: list[bytes]) -> bytes:
            numbers = [int(number) for number in operands] + [int(value or b"0")]
            return str(sum(numbers)).encode()

        # Threads change often, so that some wait for the interpreter in the function.
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        self.addCleanup(sys.setswitchinterval, before)
        faulthandler.dump_traceback_later(300, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        db, table = self.opened(add)
        store = events.open_in(db, durability="log")
        failures: list[BaseException] = []

        def run(work: Callable[[], object]) -> None:
            try:
                for _ in range(100):
                    work()
            except BaseException as failure:
                failures.append(failure)

        def commit() -> None:
            # Its read is not checked, so it does not conflict.
            with db.write(isolation="snapshot") as txn:
                txn["t"].merge(b"sum", b"1")
                assert txn["t"].get(b"sum") is not None
                txn["t"].merge(b"sum", b"2")

        def transact() -> None:
            store.transact(lambda txn: txn["t"].merge(b"sum", b"5"))

        def look() -> None:
            with db.read() as txn:
                assert txn.tables() == db.tables()
                assert txn.sequence <= db.sequence
                assert txn["t"].get(b"sum") is None or int(txn["t"][b"sum"]) > 0

        shared = db.write()
        self.addCleanup(shared.abort)

        def share() -> None:
            shared["t"].merge(b"mine", b"1")
            assert int(shared["t"][b"mine"]) > 0
            assert shared["t"].count() >= 1
            assert [key for key, _ in shared["t"].scan(prefix=b"mine")] == [b"mine"]
            assert b"mine" in shared["t"]

        works = [commit] * 3 + [transact, look, share, share]
        threads = [threading.Thread(target=run, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(int(table[b"sum"]), 3 * 100 * 3 + 100 * 5)
        self.assertEqual(int(shared["t"][b"mine"]), 200)

    def test_tables_of_event_stores_and_views_have_all_options(self) -> None:
        db, _ = self.opened(longest)
        store = events.open_in(db, durability="log")
        store.append("s", [events.NewEvent("said", word) for word in (b"a", b"abc", b"ab")])
        view = events.View("longest").table("words", key=str, merge_function="f")
        store.run_view(view, lambda txn, event: txn["words"].merge(event.stream, event.data))
        self.assertEqual(dict(db["words"]), {"s": b"abc"})
        options: dict[str, Any] = {"key": str, "counted": True, "packed": True, "merge_function": "f"}
        made = store.table("made", **options)
        self.assertEqual(db.table("made", **options).name, made.name)
        for name in options:
            with self.assertRaises(fulgurite.Error) as mismatch:
                db.table("made", **{other: given for other, given in options.items() if other != name})
            self.assertEqual(mismatch.exception.kind, "TABLE_MISMATCH", name)

    def test_a_database_keeps_its_functions_and_releases_them_at_its_end(self) -> None:
        class Function:
            def __call__(self, _: bytes, value: bytes | None, operands: list[bytes]) -> bytes:
                return operands[-1]

        function, second, refused = Function(), Function(), Function()
        db, table = self.opened(function)
        again = fulgurite.open(self.path, durability="log", merge_functions={"f": second})
        with self.assertRaises(fulgurite.Error):
            fulgurite.open(self.path, durability="log", merge_functions={"g": refused})
        kept, dropped, never = map(weakref.ref, (function, second, refused))
        del function, second, refused
        gc.collect()
        self.assertEqual((dropped(), never()), (None, None))
        table.merge(b"k", b"v")
        again.close()
        self.assertIsNotNone(kept())
        db.close()
        del db, again, table
        self.doCleanups()
        gc.collect()
        self.assertIsNone(kept())


if __name__ == "__main__":
    unittest.main()
