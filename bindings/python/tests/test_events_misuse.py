"""What programs do wrong with event stores raises exceptions, and harms nothing."""

import gc
import threading
import unittest
from typing import Any

import fulgurite
from fulgurite import events
from fulgurite.events import NewEvent, Query
from test_events import StoreCase


class EventsMisuseTest(StoreCase):
    def test_an_argument_of_a_wrong_type_is_named_with_its_type_and_the_wanted_one(self) -> None:
        store: Any = self.store
        new: Any = NewEvent
        for given, text in (
            (5, "the argument events is a NewEvent or an iterable of them, not int; use NewEvent"),
            (b"data", "the argument events is a NewEvent or an iterable of them, not bytes"),
            ({"type": "x"}, "the argument events is .*, not dict"),
            ([NewEvent("x"), 5], r"events\[1\] is a NewEvent, not int"),
            (new("x", 5), "data of NewEvent is bytes, not int; encode it, or use NewEvent.of_json"),
            (new("x", "text"), "data of NewEvent is bytes, not str"),
            (new("x", metadata={}), "metadata of NewEvent is bytes, not dict"),
            (new(5), "type of NewEvent is a str, not int"),
            (new("x", id=5), "id of NewEvent is a uuid.UUID or 16 bytes, not int"),
            (new("x", tags=5), "tags is a sequence of texts, not int"),
            (new("x", tags=["a", 5]), r"tags\[1\] of NewEvent is a str, not int"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                store.append("s", given)
        with self.assertRaisesRegex(TypeError, "a name of a stream is a str or bytes, not int"):
            store.append(5, NewEvent("x"))
        self.assertEqual(store.head, 0)
        store.append("s", (NewEvent("x", data) for data in (bytearray(b"1"), memoryview(b"2"))))
        self.assertEqual([event.data for event in store.read()], [b"1", b"2"])

    def test_within_a_transaction_calls_of_the_store_that_commit_raise(self) -> None:
        self.fill(3)
        view = events.View("v").table("t", key=str, value=int)
        for use in (
            lambda: self.store.apply_retention(max_count=1),
            lambda: self.store.run_view(view, lambda txn, event: None),
            lambda: self.store.rebuild_view(view, lambda txn, event: None),
            lambda: self.store.drop_view(view),
        ):
            with self.assertRaises(fulgurite.errors.NestedError):
                self.store.transact(lambda txn, use=use: use())
        self.assertEqual((self.store.start, self.store.consumers()), (0, {}))

    def test_the_name_of_a_consumer_has_a_limit(self) -> None:
        self.store.set_consumer_position("x" * 1024, 0)
        with self.assertRaisesRegex(fulgurite.InvalidError, "1024 bytes"):
            self.store.set_consumer_position("x" * 1025, 0)

    def test_arguments_of_wrong_types(self) -> None:
        store: Any = self.store
        for use in (
            lambda: store.append("a", "x"),
            lambda: store.append("a", NewEvent("x", "text")),  # type: ignore[arg-type]
            lambda: store.append(7, NewEvent("x")),
            lambda: store.append("a", [("x", b"")]),
            lambda: store.append("a", NewEvent("x", tags="tag")),
            lambda: store.append("a", NewEvent("x", tags=[7])),  # type: ignore[list-item]
            lambda: store.read(query=Query(types="x")),
            lambda: store.read("a"),
            lambda: store.append("a", NewEvent("x"), unless="x"),
            lambda: store.append("a", NewEvent("x"), expected=True),
            lambda: store.read(query="x"),
            lambda: Query() | 1,  # type: ignore[operator]
            lambda: store.position_at(None),
            lambda: events.open_in(None),  # type: ignore[arg-type]
            lambda: store.transact(lambda txn: txn.bind(None)),
        ):
            with self.assertRaises(TypeError):
                use()
        for use in (
            lambda: store.append("a", NewEvent("x"), expected="none"),
            lambda: store.append("a", NewEvent("x"), expected=-1),
            lambda: store.append("a", NewEvent("x", id=b"short")),
            lambda: store.append("", NewEvent("x")),
            lambda: store.append("a", NewEvent("")),
            lambda: store.append("a", NewEvent("x", tags=[""])),
            lambda: store.append("a", NewEvent("x"), after=3),
            lambda: store.follow(timeout=-1).poll(-1),
            lambda: store.truncate_before("a", 1),
        ):
            with self.assertRaises((ValueError, KeyError)):
                use()
        self.assertEqual(store.head, 0)

    def test_calls_of_the_store_within_a_transaction(self) -> None:
        uses = (
            lambda: self.store.append("a", NewEvent("x")),
            lambda: self.store.transact(lambda txn: None),
            lambda: self.store.delete_stream("a"),
        )

        def change(txn: events.Transaction) -> None:
            for use in uses:
                with self.assertRaises(fulgurite.errors.NestedError):
                    use()
            self.assertEqual(self.store.head, 0)
            txn.append("a", NewEvent("x"))
            self.assertEqual(list(self.store.read()), [])

        self.store.transact(change)
        self.assertEqual(self.store.head, 1)

    def test_a_transaction_that_is_kept_has_ended(self) -> None:
        kept: list[Any] = []
        self.store.table("t", key=int)
        self.fill(3)
        view = events.View("v").table("v", key=int)

        def keep(txn: Any, event: Any = None) -> None:
            txn["t"].update({1: b"", 2: b"", 3: b""})
            scan = iter(txn["t"].items())
            # It has read more entries ahead.
            next(scan)
            kept.extend((txn, txn["t"], scan))

        self.store.transact(keep)
        self.store.run_view(view, keep)
        for txn, table, scan in zip(kept[::3], kept[1::3], kept[2::3]):
            uses = [
                lambda table=table: table[1],
                lambda table=table: table.update({2: b""}),
                lambda scan=scan: next(scan),
                txn.tables,
                lambda txn=txn: txn["t"],
            ]
            if isinstance(txn, events.Transaction):
                uses += [lambda txn=txn: txn.append("a", NewEvent("x")), lambda txn=txn: txn.require(Query())]
            for use in uses:
                with self.assertRaises(fulgurite.ClosedError):
                    use()

    def test_objects_of_an_attempt_do_not_refer_to_the_next_one(self) -> None:
        table = self.store.table("t", key=int)
        table[1] = b""
        first: list[Any] = []

        def change(txn: events.Transaction) -> None:
            if first:
                for use in (lambda: first[0].get(1), lambda: next(first[1])):
                    with self.assertRaises(fulgurite.ClosedError):
                        use()
                return
            first.extend((txn["t"], iter(txn["t"])))
            raise fulgurite.errors.make("CONFLICT", "again")

        self.store.transact(change)
        self.assertEqual(len(first), 2)

    def test_an_iterator_of_a_view_ends_with_its_event(self) -> None:
        self.fill(2)
        self.store.table("t", key=int).update({1: b"", 2: b"", 3: b""})
        scans: list[Any] = []

        def fold(txn: events.ViewTransaction, event: events.Event) -> None:
            for scan in scans:
                with self.assertRaises(fulgurite.ClosedError):
                    next(scan)
            scans.append(iter(txn["t"]))
            next(scans[-1])

        self.store.run_view(events.View("v"), fold)
        self.assertEqual(len(scans), 2)

    def test_transactions_belong_to_their_thread(self) -> None:
        self.store.table("t", key=int)
        errors: list[Exception] = []

        def run(txn: events.Transaction, table: fulgurite.Table, scan: Any) -> None:
            for use in (
                lambda: table.get(1),
                lambda: table.update({1: b""}),
                lambda: txn.append("a", NewEvent("x")),
                lambda: next(scan),
            ):
                try:
                    use()
                except fulgurite.InvalidError as error:
                    errors.append(error)

        def change(txn: events.Transaction) -> None:
            txn["t"].update({1: b"", 2: b"", 3: b""})
            scan = iter(txn["t"])
            next(scan)
            thread = threading.Thread(target=run, args=(txn, txn["t"], scan))
            thread.start()
            thread.join()
            txn.append("a", NewEvent("y"))

        self.store.transact(change)
        self.assertEqual(len(errors), 4)
        self.assertIn("thread", str(errors[0]))
        self.assertEqual([event.type for event in self.store.read()], ["y"])

    def test_an_iterable_may_use_the_transaction_that_reads_it(self) -> None:
        self.store.table("t", key=int, value=int)

        def change(txn: events.Transaction) -> None:
            table = txn["t"]

            def pairs() -> Any:
                table[7] = 7
                yield 8, 8

            table.put_many(pairs())
            self.assertEqual(dict(table), {7: 7, 8: 8})

        self.store.transact(change)
        self.assertEqual(dict(self.store.table("t")), {7: 7, 8: 8})

    def test_a_transaction_cannot_change_the_list_of_tables(self) -> None:
        self.store.table("t")

        def change(txn: events.Transaction) -> None:
            source = txn._source  # noqa: SLF001
            for use in (
                lambda: source.create_table("n", "", "", False, False),
                lambda: source.drop_table(source.open_table("t")),
                lambda: source.rename_table(source.open_table("t"), "u"),
            ):
                with self.assertRaisesRegex(fulgurite.InvalidError, "before"):
                    use()
            for use in (source.savepoint, source.commit):
                with self.assertRaises(fulgurite.Error):
                    use()
            with self.assertRaisesRegex(fulgurite.InvalidError, "function returns"):
                source.end()

        self.store.transact(change)

    def test_a_view_cannot_append(self) -> None:
        self.fill(2)

        def fold(txn: events.ViewTransaction, event: events.Event) -> None:
            self.assertFalse(hasattr(txn, "append"))
            self.store.append("other", NewEvent("echo"))

        # Appending to the store is another transaction: the view does not see its events in the same run.
        self.assertEqual(self.store.run_view(events.View("v"), fold).events, 2)

    def test_use_after_close(self) -> None:
        self.fill(2000)
        scan, snapshot, follower = self.store.read(), self.store.snapshot(), self.store.follow(timeout=0)
        next(scan)
        self.store.close()
        self.store.close()
        for use in (
            lambda: self.store.append("a", NewEvent("x")),
            lambda: self.store.head,
            lambda: self.store.transact(lambda txn: None),
            lambda: self.store.follow(),
            lambda: self.store.run_view(events.View("v"), lambda txn, event: None),
            lambda: self.store.apply_retention(),
            lambda: next(follower),
        ):
            with self.assertRaises(fulgurite.ClosedError):
                use()
        self.assertEqual(len(list(scan)), 1999)
        self.assertEqual(snapshot.head, 2000)
        snapshot.end()
        del scan, snapshot
        gc.collect()

    def test_upcasters_that_fail(self) -> None:
        self.fill(3)
        with fulgurite.open(self.path) as db:
            for upcaster, expected in ((lambda data: 1 // 0, ZeroDivisionError), (lambda data: "text", TypeError)):
                store = events.open_in(db, durability="log", upcasters={("t1", 0): upcaster})
                scan = store.read(1)
                with self.assertRaises(expected):
                    next(scan)
                follower = store.follow(timeout=0)
                self.assertEqual(follower.position, 0)
                with self.assertRaises(expected):
                    list(follower)

    def test_events_before_one_that_fails_are_returned(self) -> None:
        for n in range(5):
            self.store.append("a", NewEvent("bad" if n == 3 else "good"))
        with fulgurite.open(self.path) as db:
            store = events.open_in(db, durability="log", upcasters={("bad", 0): lambda data: 1 // 0})
            scans = [
                (store.read(), [0, 1, 2]),
                (store.read_stream("a"), [0, 1, 2]),
                (store.read(reverse=True), [4]),
                (store.follow(timeout=0), [0, 1, 2]),
            ]
            for scan, expected in scans:
                self.assertEqual([next(scan).position for _ in expected], expected)
                for _ in range(2):
                    with self.assertRaises(ZeroDivisionError):
                        next(scan)
            follower = store.follow(timeout=0)
            self.assertEqual((len(follower.poll(0)), follower.position), (3, 3))
            with self.assertRaises(ZeroDivisionError):
                follower.poll(0)

    def test_an_upcaster_cannot_use_the_iterator_that_calls_it(self) -> None:
        self.fill(3)
        users: list[Any] = []

        def upcast(data: bytes) -> bytes:
            next(users[-1])
            return data

        with fulgurite.open(self.path) as db:
            store = events.open_in(db, durability="log", upcasters={("t0", 0): upcast})
            for user in (store.read(), store.follow(timeout=0)):
                users.append(user)
                with self.assertRaisesRegex(fulgurite.InvalidError, "upcaster"):
                    next(user)

    def test_a_stream_that_does_not_exist_is_named_as_text(self) -> None:
        for name in ("x", b"x"):
            with self.assertRaises(fulgurite.errors.StreamNotFoundError) as raised:
                self.store.stream(name)
            self.assertEqual(raised.exception.stream, "x")
            self.assertIn("'x'", str(raised.exception))

    def test_what_is_no_event_is_refused_with_a_hint(self) -> None:
        text: Any = "x"
        for wrong, expected in ((text, "NewEvent"), ([b"x"], "NewEvent"), (NewEvent("a", text), "^data of")):
            with self.assertRaisesRegex(TypeError, expected):
                self.store.append("s", wrong)  # type: ignore[arg-type]
        self.assertEqual(self.store.head, 0)

    def test_a_group_without_members_is_refused(self) -> None:
        with self.assertRaisesRegex(fulgurite.InvalidError, "1 member or more, not 0"):
            self.store.follow(partition=(0, 0))

    def test_tables_of_a_view_have_its_types(self) -> None:
        self.fill(3)
        mine = self.store.table("mine", key=str, value=int)
        mine["kept"] = 7
        view = events.View("v").table("mine", key=int, value=int)

        def fold(txn: events.ViewTransaction, event: events.Event) -> None:
            txn["mine"][event.position] = 1

        with self.assertRaises(fulgurite.Error) as mismatch:
            self.store.run_view(view, fold)
        self.assertEqual(mismatch.exception.kind, "TABLE_MISMATCH")
        self.assertEqual((dict(mine), self.store.consumer_position("v")), ({"kept": 7}, 0))
        # Without types, the view uses the table as it is. A rebuild makes tables with the types of the view.
        self.assertEqual(self.store.run_view(events.View("w").table("mine"), lambda txn, event: None).events, 3)
        self.assertEqual(self.store.rebuild_view(view, fold).events, 3)
        self.assertEqual(dict(self.store.table("mine")), {0: 1, 1: 1, 2: 1})
        self.assertEqual(self.store.run_view(view, fold).events, 0)

    def test_a_store_is_created_only_where_this_is_allowed(self) -> None:
        path = self.path.with_name("other.ful")
        with self.assertRaises(fulgurite.DatabaseNotFoundError):
            events.open(path, create=False)
        with fulgurite.open(path) as db:
            db.table("t")
        for _ in range(2):
            with self.assertRaisesRegex(fulgurite.Error, "other.ful: .* no event store `x`") as missing:
                events.open(path, name="x", create=False)
            self.assertEqual(missing.exception.kind, "NOT_A_DATABASE")
        self.assertEqual([entry.name for entry in path.parent.glob("other.ful*")], ["other.ful"])
        with fulgurite.open(path) as db:
            with self.assertRaises(fulgurite.Error):
                events.open(path, name="x", create=False)
            # The refused opening has not closed the database.
            self.assertEqual(db.tables(), ["t"])
        events.open(path, name="x").close()
        with events.open(path, name="x", create=False) as store:
            self.assertEqual(store.head, 0)

    def test_a_view_has_the_names_that_it_declares(self) -> None:
        self.fill(1)
        self.store.table("other")
        view = events.View("v").table("counts")
        seen: list[list[str]] = []

        def fold(txn: events.ViewTransaction, event: events.Event) -> None:
            self.assertIn("counts", txn)
            seen.append([name for name in txn.tables() if not name.startswith("events")])

        self.store.run_view(view, fold)
        self.store.rebuild_view(view, fold)
        self.assertEqual(seen, [["counts", "other"]] * 2)

    def test_many_threads_use_everything_at_once(self) -> None:
        view = events.View("counts", batch_events=50).table("counts", key=str, value=int)
        requests = self.store.table("requests", key=str, value=int)
        failures: list[BaseException] = []
        shared = self.store.read()

        def fold(txn: events.ViewTransaction, event: events.Event) -> None:
            counts = txn["counts"]
            counts[event.stream] = counts.get(event.stream, 0) + 1

        def run(number: int) -> None:
            def both(txn: events.Transaction) -> None:
                txn.append("both", NewEvent("y"))
                table = txn["requests"]
                table["n"] = table.get("n", 0) + 1

            try:
                for _ in range(20):
                    self.store.append(f"s{number}", [NewEvent("x")] * 3)
                    self.store.transact(both)
                    positions = [event.position for event in self.store.read()]
                    self.assertEqual(positions, list(range(len(positions))))
                    next(shared, None)
                    self.store.run_view(view, fold)
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        def follow() -> None:
            try:
                seen = [next(follower).position for _ in range(320)]
                self.assertEqual(seen, list(range(320)))
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        follower = self.store.follow()
        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        threads.append(threading.Thread(target=follow))
        for thread in threads:
            thread.start()
        for thread in threads[:-1]:
            thread.join()
        if failures:
            # Events are missing, for which the follower would wait.
            follower.close()
        threads[-1].join()
        self.assertEqual(failures, [])
        self.store.run_view(view, fold)
        self.assertEqual(dict(self.store.table("counts")), {"both": 80, **{f"s{n}": 60 for n in range(4)}})
        self.assertEqual((requests["n"], self.store.head), (80, 320))


if __name__ == "__main__":
    unittest.main()
