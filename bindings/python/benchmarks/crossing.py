"""What a call costs from Python, beside py-lmdb and rocksdict.

    crossing.py [--records N] [--rounds N]

All engines have the same small records, which fit memory, and their commits survive the process, not a power cut. Writes
include the work that merges them into the file. The engines take turns, and the first one rotates. Times are those of
the processor, of all threads. Events of 100 bytes are appended, one or a thousand in a transaction, read, and followed
from the first one on; the rivals have no events.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fulgurite
import lmdb
import rocksdict
from fulgurite import events

OPERATIONS = ["put", "put_many", "get", "get_many", "scan"]
BATCH = 1000

Entries = list[tuple[bytes, bytes]]


class Fulgurite:
    def __init__(self, directory: Path) -> None:
        self.db = fulgurite.open(directory / "a.ful", durability="log")
        self.table = self.db.table("t")

    def put(self, entries: Entries) -> None:
        with self.db.write() as txn:
            table = txn["t"]
            for key, value in entries:
                table[key] = value

    def put_many(self, entries: Entries) -> None:
        with self.db.write() as txn:
            txn["t"].put_many(entries)

    def get(self, keys: list[bytes]) -> int:
        with self.db.read() as txn:
            table = txn["t"]
            return sum(len(table[key]) for key in keys)

    def get_many(self, keys: list[bytes]) -> int:
        with self.db.read() as txn:
            table = txn["t"]
            return sum(len(value) for batch in batches(keys) for value in table.get_many(batch))

    def scan(self) -> int:
        with self.db.read() as txn:
            return sum(len(value) for _, value in txn["t"].items())

    def settle(self) -> None:
        self.db.checkpoint()

    def close(self) -> None:
        self.db.close()


class Lmdb:
    def __init__(self, directory: Path) -> None:
        self.db = lmdb.open(str(directory / "lmdb"), map_size=4 << 30, sync=False, metasync=False)

    def put(self, entries: Entries) -> None:
        with self.db.begin(write=True) as txn:
            for key, value in entries:
                txn.put(key, value)

    def put_many(self, entries: Entries) -> None:
        with self.db.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti(entries)

    def get(self, keys: list[bytes]) -> int:
        with self.db.begin() as txn:
            return sum(len(txn.get(key)) for key in keys)

    def get_many(self, keys: list[bytes]) -> int:
        with self.db.begin() as txn, txn.cursor() as cursor:
            return sum(len(value) for batch in batches(keys) for _, value in cursor.getmulti(batch))

    def scan(self) -> int:
        with self.db.begin() as txn, txn.cursor() as cursor:
            return sum(len(value) for _, value in cursor)

    def settle(self) -> None:
        pass

    def close(self) -> None:
        self.db.close()


class Rocksdict:
    def __init__(self, directory: Path) -> None:
        self.db = rocksdict.Rdict(str(directory / "rocks"), rocksdict.Options(raw_mode=True))

    def put(self, entries: Entries) -> None:
        for key, value in entries:
            self.db[key] = value

    def put_many(self, entries: Entries) -> None:
        for batch in batches(entries):
            write = rocksdict.WriteBatch(raw_mode=True)
            for key, value in batch:
                write.put(key, value)
            self.db.write(write)

    def get(self, keys: list[bytes]) -> int:
        return sum(len(self.db[key]) for key in keys)

    def get_many(self, keys: list[bytes]) -> int:
        return sum(len(value) for batch in batches(keys) for value in self.db.get(batch))

    def scan(self) -> int:
        return sum(len(value) for _, value in self.db.items())

    def settle(self) -> None:
        self.db.flush()

    def close(self) -> None:
        self.db.close()


def batches(of: list[Any]) -> Iterator[list[Any]]:
    return (of[start : start + BATCH] for start in range(0, len(of), BATCH))


def measured(run: Callable[[], object]) -> tuple[float, object]:
    begun = time.process_time()
    result = run()
    return time.process_time() - begun, result


def round_of(engine: Any, entries: Entries, keys: list[bytes]) -> dict[str, float]:
    """The seconds of each operation."""
    values = sum(len(value) for _, value in entries)
    half = len(entries) // 2
    seconds = {
        "put": 2 * measured(lambda: (engine.put(entries[:half]), engine.settle()))[0],
        "put_many": 2 * measured(lambda: (engine.put_many(entries[half:]), engine.settle()))[0],
    }
    for name, read in (
        ("get", lambda: engine.get(keys)),
        ("get_many", lambda: engine.get_many(keys)),
        ("scan", engine.scan),
    ):
        seconds[name], found = measured(read)
        if found != values:
            raise SystemExit(f"{type(engine).__name__}: {name} has read {found} bytes of values, not {values}")
    return seconds


def event_round(directory: Path, count: int) -> dict[str, float]:
    """The seconds of each operation of an event store."""
    event = events.NewEvent("measured", bytes(100))
    half = count // 2
    with fulgurite.open(directory / "events.ful", durability="log") as db:
        store = events.open_in(db, durability="log")

        def append() -> None:
            for _ in range(half):
                store.append("stream", event)
            db.checkpoint()

        def append_many() -> None:
            for batch in batches([event] * (count - half)):
                store.append("stream", batch)
            db.checkpoint()

        def read() -> int:
            return sum(len(event.data) for event in store.read())

        def follow() -> int:
            found = 0
            with store.follow() as follower:
                while follower.position < count:
                    found += sum(len(event.data) for event in follower.poll(1.0))
            return found

        seconds = {"append": 2 * measured(append)[0], "append_many": 2 * measured(append_many)[0]}
        for name, run in (("read", read), ("follow", follow)):
            seconds[name], found = measured(run)
            if found != 100 * count:
                raise SystemExit(f"{name} has read {found} bytes of events, not {100 * count}")
    return seconds


def print_events(count: int, rounds: int) -> None:
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as directory:
            for operation, took in event_round(Path(directory), count).items():
                seconds.setdefault(operation, []).append(took)
    print(f"{count} events of 100 bytes, ns of processor time for each, median of {rounds}")
    for operation, took in seconds.items():
        print(f"{operation:11} {statistics.median(took) / count * 1e9:>9.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    chance = random.Random(1)
    entries = [(b"%016x" % chance.getrandbits(64), chance.randbytes(100)) for _ in range(arguments.records)]
    keys = [key for key, _ in entries]
    chance.shuffle(keys)
    engines: list[Any] = [Fulgurite, Lmdb, Rocksdict]
    seconds: dict[tuple[str, str], list[float]] = {}
    for number in range(arguments.rounds):
        for engine in engines[number % 3 :] + engines[: number % 3]:
            with tempfile.TemporaryDirectory() as directory:
                opened = engine(Path(directory))
                for operation, took in round_of(opened, entries, keys).items():
                    seconds.setdefault((engine.__name__, operation), []).append(took)
                opened.close()
    print(f"{arguments.records} records of 16 and 100 bytes, ns of processor time for each, median of {arguments.rounds}")
    print(f"{'':10} {'fulgurite':>10} {'py-lmdb':>16} {'rocksdict':>16}")
    for operation in OPERATIONS:
        ns = [statistics.median(seconds[engine.__name__, operation]) / len(entries) * 1e9 for engine in engines]
        rivals = "".join(f" {rival:>8.0f} ({rival / ns[0]:.2f}×)" for rival in ns[1:])
        print(f"{operation:10} {ns[0]:>10.0f}{rivals}")
    print_events(arguments.records, arguments.rounds)


if __name__ == "__main__":
    main()
