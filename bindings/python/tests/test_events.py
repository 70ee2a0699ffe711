"""Event stores: appends, reads, conditions, transactions, views."""

import tempfile
import unittest
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path

import fulgurite
from fulgurite import events
from fulgurite.events import NewEvent, Query


class StoreCase(unittest.TestCase):
    """A test with a store."""

    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = Path(self.directory.name) / "events.ful"
        self.store = events.open(self.path, durability="log")
        self.addCleanup(lambda: self.store.close())

    def fill(self, count: int, streams: int = 7) -> None:
        def append(txn: events.Transaction) -> None:
            for n in range(count):
                txn.append(f"s{n % streams}", NewEvent(f"t{n % 3}", b"%d" % n, tags=[f"tag{n % 2}"]))

        self.store.transact(append)


class EventsTest(StoreCase):
    def test_a_repeated_append_is_returned_although_its_condition_no_longer_holds(self) -> None:
        event = NewEvent("placed", id=uuid.uuid4())
        for expected in ("any", "no stream"):
            appended = self.store.append("a", event, expected=expected, unless=Query(types=["placed"]))
            self.assertEqual(appended.position, 0)
        self.assertEqual(self.store.head, 1)
        with self.assertRaises(fulgurite.errors.ConditionFailedError):
            self.store.append("a", NewEvent("placed"), unless=Query(types=["placed"]))

    def test_appended_events_are_read_with_all_their_parts(self) -> None:
        id = uuid.uuid4()
        before = datetime.now(timezone.utc) - timedelta(seconds=1)
        appended = self.store.append(
            "order-7", [NewEvent("placed", b"3", id=id, schema=2, metadata=b"m", tags=["a", "b"]), NewEvent("paid")]
        )
        self.assertEqual(appended, (0, 0, 2, False))
        first, second = self.store.read_stream("order-7")
        self.assertEqual(
            (first.position, first.version, first.stream, first.type, first.schema, first.data, first.metadata),
            (0, 0, "order-7", "placed", 2, b"3", b"m"),
        )
        self.assertEqual((first.id, first.tags), (id, ("a", "b")))
        self.assertLess(before, first.time)
        self.assertEqual(first.time.tzinfo, timezone.utc)
        self.assertEqual((second.id, second.tags, second.data), (None, (), b""))
        self.assertIn("'order-7'", repr(first))
        self.assertEqual(self.store.types(), [("placed", 2), ("paid", 0)])

    def test_json_goes_in_and_out(self) -> None:
        value = {"apples": 3, "names": ["ü", None]}
        self.store.append("a", NewEvent.of_json("placed", value, tags=("x",)))
        [event] = self.store.read()
        self.assertEqual((event.json(), event.tags), (value, ("x",)))

    def test_expected_versions(self) -> None:
        self.store.append("a", NewEvent("x"), expected="no stream")
        self.store.append("a", NewEvent("x"), expected=0)
        self.store.append("a", NewEvent("x"), expected="stream exists")
        for expected in (0, 7, "no stream"):
            with self.assertRaises(fulgurite.errors.WrongVersionError) as raised:
                self.store.append("a", NewEvent("x"), expected=expected)
            error = raised.exception
            self.assertEqual((error.stream, error.expected, error.actual), ("a", expected, 2))
            self.assertEqual(error.kind, "WRONG_VERSION")
        with self.assertRaises(fulgurite.errors.WrongVersionError) as raised:
            self.store.append("b", NewEvent("x"), expected="stream exists")
        self.assertIsNone(raised.exception.actual)
        self.assertEqual(self.store.head, 3)

    def test_ids_make_appends_repeatable(self) -> None:
        ids = [uuid.uuid4() for _ in range(3)]
        both = [NewEvent("x", id=ids[0]), NewEvent("x", id=ids[1].bytes)]
        first = self.store.append("a", both)
        again = self.store.append("a", both, expected="no stream")
        self.assertEqual(again, first._replace(repeated=True))
        with self.assertRaises(fulgurite.errors.IdReusedError) as raised:
            self.store.append("a", [both[1], NewEvent("x", id=ids[2])])
        self.assertEqual((raised.exception.stream, raised.exception.version), ("a", 1))
        self.assertEqual(self.store.head, 2)

    def test_conditions_on_queries(self) -> None:
        def enrol(student: str) -> bool:
            query = Query(tags=["course:1"])
            while True:
                enrolled = list(self.store.read(query=query))
                if len(enrolled) == 2:
                    return False
                after = enrolled[-1].position if enrolled else None
                try:
                    self.store.append(student, NewEvent("enrolled", tags=["course:1"]), unless=query, after=after)
                    return True
                except fulgurite.errors.ConditionFailedError:
                    pass

        self.assertEqual([enrol(student) for student in ("ann", "bob", "cid")], [True, True, False])
        for expected in ("any", "no stream"):
            with self.assertRaises(fulgurite.errors.ConditionFailedError) as raised:
                self.store.append(
                    "cid", NewEvent("x"), expected=expected, unless=Query(tags=["course:1"]), after=0
                )
            self.assertEqual(raised.exception.position, 1)

    def test_reads_both_ways(self) -> None:
        self.fill(3000)
        numbers = [int(event.data) for event in self.store.read()]
        self.assertEqual(numbers, list(range(3000)))
        self.assertEqual([event.position for event in self.store.read(10, 14)], [10, 11, 12, 13])
        self.assertEqual([event.position for event in self.store.read(10, 14, reverse=True)], [13, 12, 11, 10])
        self.assertEqual([event.position for event in self.store.read(reverse=True)], list(range(2999, -1, -1)))
        of_stream = [n for n in range(3000) if n % 7 == 4]
        self.assertEqual([event.position for event in self.store.read_stream("s4")], of_stream)
        self.assertEqual([event.position for event in self.store.read_stream("s4", 2, 5)], of_stream[2:5])
        backwards = self.store.read_stream("s4", 2, 5, reverse=True)
        self.assertEqual([event.version for event in backwards], [4, 3, 2])

    def test_queries_by_type_tag_and_stream(self) -> None:
        self.fill(1000)

        def positions(query: Query, reverse: bool = False) -> list[int]:
            return [event.position for event in self.store.read(query=query, reverse=reverse)]

        def matching(holds) -> list[int]:
            return [n for n in range(1000) if holds(n)]

        self.assertEqual(positions(Query(types=["t1"])), matching(lambda n: n % 3 == 1))
        self.assertEqual(positions(Query(types=["t1", "t2"])), matching(lambda n: n % 3))
        self.assertEqual(positions(Query(tags=["tag0"]), True), matching(lambda n: n % 2 == 0)[::-1])
        self.assertEqual(positions(Query(tags=["tag0", "tag1"])), [])
        self.assertEqual(
            positions(Query(types=["t0"], tags=["tag1"], streams=["s1", b"s2"])),
            matching(lambda n: n % 3 == 0 and n % 2 == 1 and n % 7 in (1, 2)),
        )
        joined = Query(types=["t0"]) | Query(streams=["s3"]) | Query(types=["none"])
        self.assertEqual(positions(joined), matching(lambda n: n % 3 == 0 or n % 7 == 3))
        self.assertEqual(positions(Query()), matching(lambda n: True))
        self.assertEqual(Query(types=["a"]), Query(types=["a"]))
        self.assertNotEqual(Query(types=["a"]), Query(tags=["a"]))

    def test_reads_by_time(self) -> None:
        self.fill(5)
        [first] = self.store.read(0, 1)
        later = first.time + timedelta(days=1)
        self.assertEqual(self.store.position_at(first.time), 0)
        self.assertEqual(self.store.position_at(later), 5)
        self.assertEqual(len(list(self.store.read(since=first.time))), 5)
        self.assertEqual(list(self.store.read(since=later)), [])
        self.assertEqual(list(self.store.read(until=first.time)), [])
        self.assertEqual(len(list(self.store.read(until=later, reverse=True))), 5)
        with self.assertRaisesRegex(ValueError, "time zone"):
            self.store.position_at(datetime(2026, 1, 1))  # noqa: DTZ001

    def test_a_snapshot_shows_one_state(self) -> None:
        self.fill(10)
        with self.store.snapshot() as snapshot:
            self.fill(10)
            self.assertEqual((snapshot.head, self.store.head), (10, 20))
            self.assertEqual(len(list(snapshot.read())), 10)
            rest = snapshot.read()
        with self.assertRaises(fulgurite.ClosedError):
            snapshot.read()
        self.assertEqual(len(list(rest)), 10)
        self.assertEqual(self.store.snapshot(durable=True).start, 0)

    def test_transactions_append_to_streams_and_change_tables(self) -> None:
        requests = self.store.table("requests", key=str, value=int)

        def withdraw(txn: events.Transaction) -> int:
            txn.append("account-1", NewEvent("withdrawn", b"5"))
            txn.append("account-2", NewEvent("paid in", b"5"), expected="no stream")
            table = txn["requests"]
            table["request-9"] = 1
            table["request-9"] += 1
            self.assertEqual(table.get_many(["request-9", "x"]), [2, None])
            self.assertEqual(list(table.items()), [("request-9", 2)])
            return table["request-9"]

        self.assertEqual(self.store.transact(withdraw), 2)
        self.assertEqual((self.store.head, requests["request-9"]), (2, 2))

        def fail(txn: events.Transaction) -> None:
            txn.append("account-1", NewEvent("withdrawn"))
            txn["requests"]["request-9"] = 7
            raise LookupError("no")

        with self.assertRaisesRegex(LookupError, "no"):
            self.store.transact(fail)
        self.assertEqual((self.store.head, requests["request-9"]), (2, 2))

        def refused(txn: events.Transaction) -> None:
            with self.assertRaises(fulgurite.errors.WrongVersionError):
                txn.append("account-1", NewEvent("x"), expected="no stream")
            with self.assertRaises(fulgurite.errors.ConditionFailedError):
                txn.require(Query(types=["withdrawn"]))
            txn.require(Query(types=["withdrawn"]), after=0)
            txn.append("account-1", NewEvent("x"))

        self.store.transact(refused)
        self.assertEqual(self.store.head, 3)

    def test_all_changes_of_tables_within_a_transaction(self) -> None:
        self.store.table("t", key=int, value=int)
        self.store.table("sums", key=int, value=int, merge="add")

        def change(txn: events.Transaction) -> None:
            t, sums = txn["t"], txn["sums"]
            t.put_many((n, n) for n in range(10))
            self.assertEqual((t.popitem(), t.pop(3), t.setdefault(3, 30)), ((9, 9), 3, 30))
            del t[4]
            self.assertEqual(t.delete_range(5, 8), 3)
            sums.merge(1, 5)
            sums.merge(1, 6)
            self.assertEqual(len(t), 5)
            self.assertTrue(3 in t and 4 not in t)
            self.assertEqual(bytes(t.view(3) or b"")[:1], (30).to_bytes(1, "little"))

        self.store.transact(change)
        self.assertEqual(dict(self.store.table("t")), {0: 0, 1: 1, 2: 2, 3: 30, 8: 8})
        self.assertEqual(self.store.table("sums")[1], 11)

    def test_streams_are_read_in_batches_that_continue_behind_the_one_before(self) -> None:
        self.fill(60, streams=60)
        self.assertEqual([info.name for info in self.store.streams()], sorted(f"s{n}" for n in range(60)))
        self.assertEqual([info.name for info in self.store.streams("s5")], ["s5", *(f"s5{n}" for n in range(10))])
        streams = self.store.streams()
        self.assertEqual((next(streams).name, next(streams).name), ("s0", "s1"))

    def test_streams_are_truncated_deleted_and_limited(self) -> None:
        self.fill(70)
        self.store.truncate_before("s1", 4)
        self.assertEqual([event.version for event in self.store.read_stream("s1")], list(range(4, 10)))
        self.store.delete_stream("s2", expected=9)
        self.store.delete_stream("s3", forever=True)
        self.store.set_stream_metadata("s4", max_age=timedelta(days=3), max_count=2, custom=b"mine")
        states = {info.name: info.state for info in self.store.streams("s")}
        self.assertEqual((states["s1"], states["s2"], states["s3"]), ("open", "deleted", "tombstone"))
        info = self.store.stream("s4")
        self.assertEqual((info.max_age, info.max_count, info.custom), (timedelta(days=3), 2, b"mine"))
        self.assertEqual((info.first, info.next), (0, 10))
        with self.assertRaises(fulgurite.errors.StreamNotFoundError) as raised:
            self.store.read_stream("s2")
        self.assertEqual(raised.exception.stream, "s2")
        with self.assertRaises(KeyError):
            self.store.stream("none")
        with self.assertRaises(fulgurite.errors.TombstoneError):
            self.store.append("s3", NewEvent("x"))
        self.assertEqual(self.store.append("s2", NewEvent("x"), expected="no stream").version, 10)
        report = self.store.apply_retention()
        self.assertEqual((report.start, report.chunks_rewritten > 0), (0, True))
        self.assertEqual([event.version for event in self.store.read(query=Query(streams=["s4"]))], [8, 9])
        self.assertEqual([event.version for event in self.store.read(query=Query(streams=["s3"]))], [])

    def test_retention_by_number_moves_the_start_of_the_log(self) -> None:
        for _ in range(40):
            self.store.append("a", [NewEvent("x", bytes(900))] * 10)
        report = self.store.apply_retention(max_count=100)
        self.assertEqual(self.store.start, report.start)
        self.assertTrue(250 < report.start <= 300, report)
        self.assertEqual(next(self.store.read()).position, report.start)
        self.assertEqual(self.store.apply_retention(max_age=timedelta(days=1), max_bytes=10**9).chunks_removed, 0)

    def test_states_of_aggregates_and_positions_of_consumers(self) -> None:
        self.fill(20, streams=1)
        self.assertIsNone(self.store.aggregate_state("s0"))
        self.store.put_aggregate_state("s0", 9, b"sum", schema=3)
        self.assertEqual(self.store.aggregate_state("s0"), (9, 3, b"sum"))
        self.assertIsNone(self.store.aggregate_state("s0", 8))
        self.store.set_consumer_position("mailer", 7)
        self.assertEqual((self.store.consumers(), self.store.consumer_position("other")), ({"mailer": 7}, 0))

    def test_names_that_are_not_utf_8(self) -> None:
        self.store.append(b"a\xff", NewEvent("x"))
        [event] = self.store.read_stream(b"a\xff")
        self.assertEqual(event.stream, "a\udcff")
        self.assertEqual(len(list(self.store.read_stream(event.stream))), 1)

    def test_upcasters_read_old_data(self) -> None:
        self.store.append("a", [NewEvent("named", b"ann"), NewEvent("named", b"{bob}", schema=1)])
        self.store.close()
        upcasters = {("named", 0): lambda data: b"{" + data + b"}", ("named", 1): lambda data: b"<" + data + b">"}
        with events.open(self.path, durability="log", upcasters=upcasters) as store:
            self.assertEqual([(event.schema, event.data) for event in store.read()], [(2, b"<{ann}>"), (2, b"<{bob}>")])

    def test_a_store_in_an_open_database(self) -> None:
        with fulgurite.open(Path(self.directory.name) / "db.ful") as db:
            orders, bills = events.open_in(db, name="orders"), events.open_in(db, name="bills", durability="log")
            orders.append("1", NewEvent("x"))
            self.assertEqual((orders.head, bills.head, orders.name), (1, 0, "orders"))
            self.assertIn("orders.log", db)
            with self.assertRaises(fulgurite.Error) as raised:
                events.open_in(db, name="orders", id_window=1)
            self.assertEqual(raised.exception.kind, "ALREADY_OPEN")
            bills.close()
            with self.assertRaises(fulgurite.ClosedError):
                _ = bills.head
        with self.assertRaises(fulgurite.ClosedError):
            _ = orders.head

    def test_reopened_and_read_only(self) -> None:
        self.fill(5)
        self.store.close()
        with events.open(self.path, read_only=True) as store:
            self.assertEqual(len(list(store.read())), 5)
            with self.assertRaises(fulgurite.ReadOnlyError):
                store.append("a", NewEvent("x"))
        with self.assertRaises(fulgurite.DatabaseNotFoundError):
            events.open(self.path.with_name("none.ful"), create=False)
        with self.assertRaises(fulgurite.Error), fulgurite.open(self.path.with_name("plain.ful")) as db:
            db.checkpoint()
            db.close()
            events.open(self.path.with_name("plain.ful"), read_only=True)


class ViewsTest(StoreCase):
    def view(self, **options) -> events.View:
        return events.View("counts", batch_events=7, **options).table("counts", key=str, value=int)

    @staticmethod
    def count(txn: events.ViewTransaction, event: events.Event) -> None:
        table = txn["counts"]
        table[event.stream] = table.get(event.stream, 0) + 1

    def counts(self) -> dict[str, int]:
        return dict(self.store.table("counts"))

    def test_a_view_folds_every_event_once_over_several_runs(self) -> None:
        self.fill(100)
        self.assertEqual(self.store.run_view(self.view(), self.count), (100, 100, 0))
        self.fill(5)
        self.assertEqual(self.store.run_view(self.view(), self.count), (5, 105, 0))
        self.assertEqual(self.store.run_view(self.view(), self.count).events, 0)
        self.assertEqual(sum(self.counts().values()), 105)
        self.assertEqual(self.store.consumers(), {"counts": 105})

    def test_an_exception_leaves_its_batch_for_the_next_run(self) -> None:
        self.fill(100)

        def fail(txn: events.ViewTransaction, event: events.Event) -> None:
            if event.position == 30:
                raise LookupError("no")
            self.count(txn, event)

        with self.assertRaisesRegex(LookupError, "no"):
            self.store.run_view(self.view(), fail)
        self.assertEqual((self.store.consumer_position("counts"), sum(self.counts().values())), (28, 28))
        self.assertEqual(self.store.run_view(self.view(), self.count).events, 72)
        self.assertEqual(sum(self.counts().values()), 100)

    def test_a_rebuild_exchanges_the_tables(self) -> None:
        self.fill(50)
        self.store.run_view(self.view(), self.count)

        def twice(txn: events.ViewTransaction, event: events.Event) -> None:
            self.count(txn, event)
            self.count(txn, event)
            self.assertEqual(txn["counts"].name, "counts~rebuild")

        self.assertEqual(self.store.rebuild_view(self.view(), twice).events, 50)
        self.assertEqual(sum(self.counts().values()), 100)
        self.store.drop_view(self.view())
        self.assertEqual(self.store.consumers(), {})

    def test_members_of_a_group_share_the_events(self) -> None:
        self.fill(100)
        done = [self.store.run_view(self.view(partition=(n, 3)), self.count) for n in range(3)]
        self.assertEqual(sum(progress.events for progress in done), 100)
        self.assertEqual(set(self.store.consumers()), {"counts#0/3", "counts#1/3", "counts#2/3"})
        with self.assertRaises(fulgurite.InvalidError):
            self.store.drop_view(self.view(partition=(0, 3)))
        with self.assertRaisesRegex(fulgurite.InvalidError, "members 0 to 2"):
            self.store.run_view(self.view(partition=(3, 3)), self.count)

    def test_other_tables_belong_to_the_transaction_too(self) -> None:
        seen = self.store.table("seen", key=int)
        self.fill(3)

        def note(txn: events.ViewTransaction, event: events.Event) -> None:
            txn["seen"][event.position] = event.data

        self.store.run_view(events.View("notes"), note)
        self.assertEqual(dict(seen), {0: b"0", 1: b"1", 2: b"2"})

    def test_a_conflict_repeats_the_batch(self) -> None:
        other = self.store.table("other", key=str, value=int)
        other["n"] = 0
        self.fill(3)
        calls: list[int] = []

        def fold(txn: events.ViewTransaction, event: events.Event) -> None:
            calls.append(event.position)
            txn["counts"][event.type] = txn["other"]["n"]
            if len(calls) == 2:
                other["n"] = 5

        self.store.run_view(self.view(), fold)
        self.assertEqual(calls, [0, 1, 2, 0, 1, 2])
        self.assertEqual(set(self.counts().values()), {5})


if __name__ == "__main__":
    unittest.main()
