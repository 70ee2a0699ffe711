"""Tables, transactions and typed keys, as they are meant to be used."""

import math
import random
import struct
import tempfile
import unittest
from collections.abc import MutableMapping
from pathlib import Path

import fulgurite


class StoreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = Path(self.directory.name) / "a.ful"
        self.db = fulgurite.open(self.path, durability="log")
        self.addCleanup(self.db.close)

    def test_a_table_of_a_database_is_a_mapping(self) -> None:
        t = self.db.table("t")
        self.assertIsInstance(t, MutableMapping)
        t[b"a"] = b"1"
        t[b"b"] = bytearray(b"2")
        t[b"c"] = memoryview(b"3")
        self.assertEqual(dict(t), {b"a": b"1", b"b": b"2", b"c": b"3"})
        self.assertEqual((t[b"a"], t.get(b"x"), t.get(b"x", 7), len(t)), (b"1", None, 7, 3))
        self.assertTrue(b"a" in t and b"x" not in t and t)
        with self.assertRaises(KeyError):
            t[b"x"]
        with self.assertRaises(KeyError):
            del t[b"x"]
        del t[b"a"]
        self.assertEqual(t.pop(b"b"), b"2")
        self.assertEqual(t.pop(b"b", None), None)
        self.assertEqual(t.setdefault(b"c", b"9"), b"3")
        self.assertEqual(t.setdefault(b"d", b"4"), b"4")
        t.update({b"e": b"5"})
        self.assertEqual(list(t.items()), [(b"c", b"3"), (b"d", b"4"), (b"e", b"5")])
        self.assertEqual(list(reversed(t.values())), [b"5", b"4", b"3"])
        self.assertEqual(t.popitem(), (b"e", b"5"))
        self.assertEqual(t.popitem(last=False), (b"c", b"3"))
        self.assertEqual(t, {b"d": b"4"})
        t.clear()
        self.assertFalse(t)
        with self.assertRaises(KeyError):
            t.popitem()

    def test_a_write_transaction_commits_or_aborts(self) -> None:
        t = self.db.table("t")
        with self.db.write() as txn:
            txn["t"][b"k"] = b"1"
            txn.bind(t)[b"l"] = b"2"
            self.assertNotIn(b"k", t)
            savepoint = txn.savepoint()
            txn["t"][b"m"] = b"3"
            txn.rollback_to(savepoint)
        self.assertEqual(dict(t), {b"k": b"1", b"l": b"2"})
        with self.assertRaises(ZeroDivisionError), self.db.write() as txn:
            txn["t"][b"k"] = b"9"
            1 // 0
        self.assertEqual(t[b"k"], b"1")
        with self.db.write() as txn:
            self.assertGreater(txn.commit("log"), 0)

    def test_a_read_transaction_shows_one_state(self) -> None:
        t = self.db.table("t")
        t[b"k"] = b"1"
        with self.db.read() as txn:
            t[b"k"] = b"2"
            self.assertEqual(txn["t"][b"k"], b"1")
            self.assertEqual(t[b"k"], b"2")
            with self.assertRaises(fulgurite.ReadOnlyError):
                txn["t"][b"k"] = b"3"

    def test_conflicts_raise_and_update_repeats(self) -> None:
        t = self.db.table("t")
        with self.assertRaises(fulgurite.ConflictError) as caught, self.db.write() as txn:
            txn["t"].get(b"k")
            t[b"k"] = b"other"
            txn["t"][b"k"] = b"mine"
        self.assertEqual(caught.exception.kind, "CONFLICT")
        calls = []

        def change(txn: fulgurite.WriteTransaction) -> int:
            calls.append(txn["t"].get(b"k"))
            if len(calls) < 3:
                t[b"k"] = b"%d" % len(calls)
            txn["t"][b"k"] = b"done"
            return 42

        self.assertEqual(self.db.update(change), 42)
        self.assertEqual((calls, t[b"k"]), ([b"other", b"1", b"2"], b"done"))

    def test_typed_keys_sort_as_python_sorts_them(self) -> None:
        t = self.db.table("t", key=(str, int, float, bytes), value=int)
        rng = random.Random(7)
        print("seed 7", end=" ")
        texts = ["", "a", "ab", "b\0c", "\x00", "ü", "語"]
        keys = {
            (rng.choice(texts), rng.randrange(-(2**63), 2**63), rng.uniform(-1e9, 1e9), rng.randbytes(3))
            for _ in range(500)
        }
        keys |= {("a", number, 0.5, b"\0") for number in (-(2**63), -1, 0, 1, 2**63 - 1)}
        t.put_many((key, len(key[0])) for key in keys)
        self.assertEqual(list(t), sorted(keys, key=lambda key: (key[0].encode(), *key[1:])))
        self.assertEqual(list(t.scan_keys(prefix=("ab",))), sorted(key for key in keys if key[0] == "ab"))
        self.assertEqual(t.count(prefix=("a",)), sum(key[0] == "a" for key in keys))
        self.assertEqual(self.db["t"].key_type, "(string,i64,f64,bytes)")
        self.assertEqual(next(iter(self.db["t"].items()))[1], 0)

    def test_types_are_checked(self) -> None:
        t = self.db.table("t", key="(u8,option<string>)", value="bool")
        t[(255, None)] = True
        t[(0, "x")] = False
        self.assertEqual(list(t.items()), [((0, "x"), False), ((255, None), True)])
        for key in [(256, None), (-1, None)]:
            with self.assertRaises(OverflowError):
                t[key] = True
        for key in [("a", None), (1,), (1, None, 2), 1, (True, None), (1.0, None)]:
            with self.assertRaises(TypeError):
                t[key] = True
        with self.assertRaises(TypeError):
            t[(1, None)] = 1
        with self.assertRaisesRegex(TypeError, "encode the text"):
            self.db.table("bytes")["text"] = b""
        signed = self.db.table("signed", key="i8", value=float)
        for number in (-128, 127):
            signed[number] = number
        for number in (-129, 128):
            with self.assertRaises(OverflowError):
                signed[number] = 0.0
        self.assertEqual(dict(signed), {-128: -128.0, 127: 127.0})
        with self.assertRaises(fulgurite.Error):
            self.db.table("signed", key="i16")

    def test_none_is_a_value_of_optional_types(self) -> None:
        t = self.db.table("optional", key=int, value="option<string>")
        t.update({1: None, 2: "two"})
        self.assertIsNone(t[1])
        self.assertIsNone(t.get(1, "default"))
        self.assertEqual(t.get(3, "default"), "default")
        self.assertIsNone(t.pop(1))
        self.assertNotIn(1, t)
        with self.assertRaises(KeyError):
            t.pop(1)
        self.assertEqual(t.pop(1, "default"), "default")
        self.assertEqual(t.pop(2), "two")

    def test_numbers_out_of_the_range_of_f32(self) -> None:
        t = self.db.table("floats", key=int, value="f32")
        for number in (1e300, -1e300, 3.5e38):
            with self.assertRaises(OverflowError):
                t[1] = number
        t.update({1: math.inf, 2: 3.4028234e38, 3: math.nan})
        self.assertEqual(t[1], math.inf)
        self.assertTrue(math.isnan(t[3]))

    def test_scans_have_bounds_and_both_directions(self) -> None:
        t = self.db.table("t")
        keys = [b"%05d" % number for number in range(5000)]
        t.put_many((key, key[::-1]) for key in keys)
        for source in (self.db, self.db.read(), self.db.write()):
            t = source["t"]
            self.assertEqual(list(t), keys)
            self.assertEqual(list(reversed(t)), keys[::-1])
            self.assertEqual(list(t.scan_keys(b"00010", b"00020")), keys[10:20])
            self.assertEqual(list(t.scan_keys(b"00010", b"00020", reverse=True)), keys[10:20][::-1])
            self.assertEqual(list(t.scan_values(prefix=b"0001")), [key[::-1] for key in keys[10:20]])
            self.assertEqual((t.count(b"00010"), t.count(stop=b"00010"), len(t)), (4990, 10, 5000))
            self.assertEqual(t.get_many([b"00001", b"x", b"04999"]), [b"10000", None, b"99940"])
        with self.assertRaises(fulgurite.InvalidError):
            t.scan(b"a", prefix=b"b")
        self.assertEqual(self.db["t"].delete_range(b"00000", b"04990"), 4990)

    def test_counters_merge_without_conflicts(self) -> None:
        hits = self.db.table("hits", merge="add")
        with self.db.write() as one, self.db.write() as other:
            one.bind(hits).merge(b"home", struct.pack(">Q", 40))
            other.bind(hits).merge(b"home", struct.pack(">Q", 2))
        self.assertEqual(struct.unpack(">Q", hits[b"home"]), (42,))
        typed = self.db.table("typed", key=str, value="i64", merge="max")
        typed.merge("a", 3)
        typed.merge("a", -5)
        self.assertEqual(typed["a"], 3)
        with self.assertRaisesRegex(fulgurite.InvalidError, "add-saturating"):
            self.db.table("other", merge="plus")

    def test_bulk_loads(self) -> None:
        t = self.db.table("t", key=int, value=str)
        self.assertEqual(self.db.bulk_load(t, ((n, str(n)) for n in range(10000)), is_sorted=True), (10000, 0))
        self.assertEqual(self.db.bulk_load(t, [(5, "x"), (-1, "y")]), (1, 1))
        self.assertEqual((t[5], t[-1], len(t)), ("x", "y", 10001))
        with self.assertRaises(fulgurite.InvalidError):
            self.db.bulk_load(t, [(2, "b"), (1, "a")], is_sorted=True)

    def test_maintenance(self) -> None:
        t = self.db.table("t")
        t[b"k"] = b"v"
        self.db.sync()
        self.db.checkpoint()
        self.db.compact()
        self.assertEqual(self.db.check(), [])
        self.assertGreater(self.db.stats()["file_bytes"], 0)
        folder = Path(self.directory.name)
        self.db.backup(folder / "b.ful")
        self.db.write_image(folder / "i.ful", level=1)
        with fulgurite.open(folder / "b.ful", create=False) as copy:
            self.assertEqual(dict(copy["t"]), {b"k": b"v"})
        with fulgurite.open(folder / "i.ful", image=True) as image:
            self.assertEqual(dict(image["t"]), {b"k": b"v"})
            with self.assertRaises(fulgurite.ReadOnlyError):
                image["t"][b"k"] = b"w"

    def test_tables_are_listed_renamed_and_dropped(self) -> None:
        self.db.create_table("b")
        with self.db.write() as txn:
            txn.create_table("a", key=str)[""] = b"1"
        self.assertEqual((self.db.tables(), "a" in self.db, list(self.db)), (["a", "b"], True, ["a", "b"]))
        self.db.rename_table("b", "c")
        self.db.drop_table("a")
        self.assertEqual(self.db.tables(), ["c"])
        with self.assertRaisesRegex(KeyError, "no table"):
            self.db["a"]


if __name__ == "__main__":
    unittest.main()
