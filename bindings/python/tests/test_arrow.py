"""Arrow streams, read by pyarrow where it is installed."""

import gc
import tempfile
import unittest
import uuid
from pathlib import Path
from typing import Any

import fulgurite
import raw
from fulgurite import events, rdf

try:
    import pyarrow as pa
except ImportError:
    pa = None


class StreamTest(unittest.TestCase):
    """Without pyarrow: capsules that nobody reads, or twice."""

    def test_capsules_are_released_unread(self) -> None:
        with tempfile.TemporaryDirectory() as directory, fulgurite.open(Path(directory) / "a.ful") as db:
            stream = db.table("t").arrow()
            capsule = stream.__arrow_c_stream__()
            self.assertIn("arrow_array_stream", repr(capsule))
            del capsule
            gc.collect()
            with self.assertRaises(fulgurite.InvalidError):
                stream.__arrow_c_stream__()


@unittest.skipIf(pa is None, "pyarrow is not installed")
class ArrowTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.db = fulgurite.open(Path(self.directory.name) / "a.ful")
        self.addCleanup(self.db.close)

    def read(self, stream: Any) -> Any:
        table = pa.RecordBatchReader.from_stream(stream).read_all()
        table.validate(full=True)
        return table

    def test_bytes(self) -> None:
        t = self.db.table("t")
        entries = [(b"%05d" % n, b"v" * (n % 50)) for n in range(10000)]
        t.put_many(entries)
        for source in (t, self.db.read()["t"], self.db.write()["t"]):
            read = self.read(source.arrow(batch_rows=999))
            self.assertEqual(read.schema, pa.schema([("key", pa.binary()), ("value", pa.binary())]))
            self.assertEqual(list(zip(read["key"].to_pylist(), read["value"].to_pylist())), entries)
        self.assertEqual(self.read(t.arrow(prefix=b"0001", reverse=True))["key"].to_pylist(),
                         [b"%05d" % n for n in range(19, 9, -1)])
        self.assertEqual(self.read(t.arrow(b"x")).num_rows, 0)

    def test_numbers_and_texts(self) -> None:
        cases: list[tuple[Any, Any, list[Any]]] = [
            ("i8", pa.int8(), [-128, 0, 127]), ("u8", pa.uint8(), [0, 255]), ("i16", pa.int16(), [-5, 5]),
            ("u16", pa.uint16(), [7]), ("i32", pa.int32(), [-1, 1]), ("u32", pa.uint32(), [1]),
            (int, pa.int64(), [-(2**63), 2**63 - 1]), ("u64", pa.uint64(), [0, 2**64 - 1]),
            ("f32", pa.float32(), [-0.5, 0.5]), (float, pa.float64(), [-1e300, 1e-300]), (str, pa.string(), ["", "ü"]),
        ]
        for number, (kind, arrow, keys) in enumerate(cases):
            t = self.db.table(f"t{number}", key=kind, value=kind)
            t.put_many((key, key) for key in keys)
            read = self.read(t.arrow())
            self.assertEqual(read.schema.types, [arrow, arrow])
            self.assertEqual(read.to_pydict(), {"key": keys, "value": keys})

    def test_texts_that_are_not_utf_8_are_an_error(self) -> None:
        self.db.table("texts", key=str, value=str)["good"] = "ü"
        self.db.close()
        path = Path(self.directory.name) / "a.ful"
        raw.put(path, "texts", b"bad", b"\xff")
        self.db = fulgurite.open(path)
        self.addCleanup(self.db.close)
        t = self.db["texts"]
        with self.assertRaises(fulgurite.InvalidError):
            t["bad"]
        reader = pa.RecordBatchReader.from_stream(t.arrow())
        with self.assertRaisesRegex(OSError, "value.*UTF-8"):
            reader.read_next_batch()

    def test_a_stream_outlives_its_transaction_and_database(self) -> None:
        t = self.db.table("t")
        t.put_many((b"%05d" % n, b"") for n in range(5000))
        with self.db.read() as txn:
            reader = pa.RecordBatchReader.from_stream(txn["t"].arrow(batch_rows=100))
            first = reader.read_next_batch()
        t.clear()
        self.db.close()
        gc.collect()
        self.assertEqual(first.num_rows + sum(batch.num_rows for batch in reader), 5000)

    def test_an_ended_write_transaction_is_an_error(self) -> None:
        t = self.db.table("t")
        t.put_many((b"%05d" % n, b"") for n in range(5000))
        txn = self.db.write()
        reader = pa.RecordBatchReader.from_stream(txn.bind(t).arrow(batch_rows=100))
        reader.read_next_batch()
        txn.abort()
        with self.assertRaisesRegex(OSError, "ended"):
            reader.read_next_batch()

    def test_columns_that_are_taken_apart_stay_valid(self) -> None:
        t = self.db.table("t")
        t.put_many((b"%05d" % n, b"v%d" % n) for n in range(100))
        column = self.read(t.arrow())["value"]
        gc.collect()
        self.assertEqual(column[99].as_py(), b"v99")

    def test_solutions(self) -> None:
        with rdf.open(Path(self.directory.name) / "rdf.ful") as store:
            store.load_bytes(b'<http://a/s> <http://a/p> "x"@en , 7 .', "ttl")
            query = "SELECT ?o ?none { ?s ?p ?o OPTIONAL { ?o ?p ?none } } ORDER BY DESC(isNumeric(?o))"
            read = self.read(store.select(query).arrow())
            self.assertEqual(read.to_pydict(), {
                "o": ['"7"^^<http://www.w3.org/2001/XMLSchema#integer>', '"x"@en'], "none": [None, None],
            })

    def test_events(self) -> None:
        id = uuid.uuid4()
        with events.open(Path(self.directory.name) / "events.ful", durability="log") as store:
            for n in range(50):
                tags = [f"tag{number}" for number in range(n % 3)]
                store.append(f"s{n % 2}", events.NewEvent("x", b"%d" % n, id=id if n == 7 else None, tags=tags))
            store.append("s2", events.NewEvent("y", schema=3, metadata=b"m"))
            recorded = list(store.read())
            read = self.read(store.read().arrow(batch_rows=9))
            scan = store.read(query=events.Query(types=["y"]))
            self.assertEqual(self.read(scan.arrow())["position"].to_pylist(), [50])
            self.assertEqual(self.read(store.read(50, 50).arrow()).num_rows, 0)
            store.append(b"\xff", events.NewEvent("y"))
            with self.assertRaisesRegex(OSError, "stream.*UTF-8"):
                self.read(store.read().arrow())
        self.assertEqual(read.schema, pa.schema([
            ("position", pa.uint64()), ("version", pa.uint64()), ("stream", pa.string()), ("type", pa.string()),
            ("schema", pa.uint32()), ("time", pa.timestamp("us", "UTC")), ("id", pa.binary(16)),
            ("data", pa.binary()), ("metadata", pa.binary()), ("tags", pa.list_(pa.string())),
        ]))
        self.assertEqual(read["id"].null_count, 50)
        for name in ("position", "version", "stream", "type", "schema", "data", "metadata"):
            self.assertEqual(read[name].to_pylist(), [getattr(event, name) for event in recorded], name)
        self.assertEqual(read["tags"].to_pylist(), [list(event.tags) for event in recorded])
        self.assertEqual(read["id"].to_pylist()[7], id.bytes)
        self.assertEqual(read["time"].cast(pa.int64()).to_pylist(), [event.time_us for event in recorded])


if __name__ == "__main__":
    unittest.main()
