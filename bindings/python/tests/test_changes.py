"""The change feed."""

import tempfile
import threading
import unittest
from pathlib import Path

import fulgurite
from fulgurite import Commit


class ChangesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = Path(self.directory.name) / "a.ful"
        self.db = fulgurite.open(self.path, keep_log_bytes=64 << 20)
        self.addCleanup(self.db.close)

    def commits(self, after: int = 0) -> list[Commit]:
        self.db.sync()
        with self.db.changes(after) as feed:
            return list(feed)

    def test_commits_come_whole_and_in_order(self) -> None:
        table = self.db.table("t", key=(str, int), value=float)
        with self.db.write() as txn:
            txn["t"]["a", 1] = 1.5
            txn["t"]["b", 2] = 2.5
        del table["a", 1]
        created, put, deleted = self.commits()
        self.assertEqual([change.kind for change in created.changes], ["table created"])
        self.assertEqual(created.changes[0].key, None)
        self.assertEqual(created.changes[0].table_name, "t")
        self.assertEqual([change.kind for change in put.changes], ["put", "put"])
        keys = [table.decode_key(change.key) for change in put.changes if change.key is not None]
        self.assertEqual(keys, [("a", 1), ("b", 2)])
        assert put.changes[1].value is not None
        self.assertEqual(table.decode_value(put.changes[1].value), 2.5)
        self.assertEqual(put.changes[1].value_length, 8)
        self.assertEqual(put.changes[0].table_id, created.changes[0].table_id)
        self.assertEqual([change.kind for change in deleted.changes], ["delete"])
        self.assertEqual(self.commits(put.sequence), [deleted])
        self.assertEqual(self.commits(deleted.sequence), [])

    def test_tables_and_large_values(self) -> None:
        table = self.db.table("t")
        table[b"k"] = bytes(1 << 20)
        table[b"k"] = b"small"
        self.db.bulk_load(table, [(b"x", b"1")])
        self.db.rename_table("t", "u")
        self.db.drop_table("u")
        changes = [change for commit in self.commits() for change in commit.changes]
        kinds = [change.kind for change in changes]
        self.assertEqual(kinds[0], "table created")
        self.assertIn("bulk loaded", kinds)
        self.assertEqual(kinds[-2:], ["table renamed", "table dropped"])
        self.assertEqual((changes[-2].previous_name, changes[-2].table_name), ("t", "u"))
        large = changes[1]
        self.assertIn(large.kind, ("put", "superseded"))
        self.assertEqual(large.value_length, 1 << 20)

    def test_waiting_ends_with_a_commit_or_the_timeout(self) -> None:
        seen = self.db.sync()
        self.assertEqual(self.db.wait_durable(seen, 0.001), seen)
        table = self.db.table("t")
        seen = self.db.sync()
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(self.db.wait_durable(seen, 1e9)))
        thread.start()
        table[b"a"] = b"1"
        thread.join()
        self.assertEqual(found, [seen + 1])

    def test_wrong_use_raises(self) -> None:
        with self.assertRaises(fulgurite.InvalidError):
            self.db.changes(1000)
        with self.assertRaises(OverflowError):
            self.db.changes(-1)
        with self.assertRaises(fulgurite.InvalidError):
            self.db.wait_durable(0, -1.0)
        feed = self.db.changes()
        feed.close()
        feed.close()
        with self.assertRaises(fulgurite.ClosedError):
            next(feed)
        orphan = self.db.changes()
        self.db.close()
        with self.assertRaises(fulgurite.ClosedError):
            next(orphan)
        with fulgurite.open(self.path.with_name("b.ful")) as other, self.assertRaises(fulgurite.InvalidError):
            other.changes()

    def test_a_log_that_is_gone_is_an_error_of_its_own(self) -> None:
        self.db.close()
        with fulgurite.open(self.path.with_name("c.ful"), keep_log_bytes=1) as db:
            table = db.table("t")
            for number in range(50):
                table[b"%d" % number] = bytes(100_000)
                db.checkpoint()
            with self.assertRaises(fulgurite.ChangesGoneError) as raised:
                db.changes()
            self.assertEqual(raised.exception.kind, "CHANGES_GONE")


if __name__ == "__main__":
    unittest.main()
