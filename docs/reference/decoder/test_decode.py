#!/usr/bin/env python3
"""Tests of the decoder: it reads the golden files as the engine does, they are what the document says, damage is refused.

Run it with `cargo xtask test --only decoder`, or as a program where `xxhash` is installed.
"""
import gzip, json, random, tempfile, unittest
from os.path import commonprefix
from pathlib import Path
from xxhash import xxh3_64_intdigest as xxh3
from fulgurite_decoder import DAMAGE, Database, align, numbers

GOLDEN = Path(__file__).resolve().parents[3] / "crates" / "engine" / "tests" / "golden" / "format-1"
NAMES = "empty", "closed", "crashed", "merging", "kept", "runs", "counted", "packed", "operators"
SEED = 1


class Strict(Database):
    """Reads as the decoder does, and checks what it does without: the layout of pages, hints, heads and tags."""

    def __init__(self, path):
        self.kinds, self.places = set(), []
        super().__init__(path)

    def page(self, number, extent, slot, birth):
        page = super().page(number, extent, slot, birth)
        self.kinds.add((page[0], page[1] if page[0] == 2 else 0))
        self.places.append((number * self.page_size, self.page_size))
        assert not any(page[-48:-16]), "reserved bytes are used"
        return page

    def overflow(self, reference, first=None):
        data = super().overflow(reference, first)
        page = self.place(*numbers("II", reference, 0), 2)[0] if first is None else first
        self.places.append((page * self.page_size, len(data)))
        self.kinds.add(("overflow", first is not None))
        return data

    def leaf(self, page):
        entries, net, found = super().leaf(page)
        flags, n, p, b, blocks, cells, its_net, logarithm, reserved = numbers("BHHHHHhBB", page, 1)
        assert n >= 1 and b == align(n, 16) // 16 and not reserved and logarithm in (0, 2, 3, 4)
        assert blocks == align(16 + 4 * b, 64) and cells == blocks + 64 * b and net == its_net
        keys = [key for key, *_ in entries]
        tags, slots, at = [], [], cells
        for i in range(b):
            tags += numbers("16H", page, blocks + 64 * i)
            slots += numbers("16H", page, blocks + 64 * i + 32)
        assert tags == [xxh3(key, self.tag_seed) >> 48 for key in keys] + [0] * (16 * b - n)
        for slot in slots[:n]:
            key_field, value_field = numbers("HH", page, at)
            key_end = at + 4 + key_field % 2**15
            value_at = align(key_end, 1 << logarithm)
            assert slot & 0x3FFF == at and not any(page[key_end:value_at])
            at = value_at + value_field % 2**15
        assert not any(slots[n:]) and not any(page[at:-48]) and flags == found | any(slot >> 14 for slot in slots) << 1
        self.expect_prefix(keys, p)
        assert [*numbers(f"{b}I", page, 16)] == heads(keys[15:n - 1:16] + keys[-1:], p)
        assert not page[16 + 4 * b:blocks].strip(b"\xff")
        return entries, net, found

    def packed_leaf(self, page):
        entries, net, found = super().packed_leaf(page)
        flags, n, p, value_length, start, end, reserved = numbers("BHHHHHI", page, 1)
        b, keys, at, places = align(n, 16) // 16, [key for key, *_ in entries], start, []
        lengths = {len(value) for _, value, _ in entries}
        assert n == len(entries) >= 1 and not reserved and start == 16 + 10 * b and flags == found
        assert value_length == (lengths.pop() if len(lengths) == 1 and not found else 0xFFFF)
        for i, (key, value, _) in enumerate(entries):
            places += [at] * (i % 16 == 0)
            shared = len(commonprefix([keys[i - 1], key])) if i % 16 else 0
            head, more = min(shared, 15) << 4 | min(len(key) - shared, 15), [shared - 15, len(key) - shared - 15]
            is_apart = len(value) > 4096
            field = 2 * 24 + 1 if is_apart else 2 * len(value)
            more = [length for length in more if length >= 0] + [field] * (value_length == 0xFFFF)
            stored = bytes([head]) + b"".join(map(length_bytes, more)) + key[shared:] + value * (not is_apart)
            assert page[at:at + len(stored)] == stored
            at += len(stored) + 24 * is_apart
        assert at == end and not any(page[at:-48])
        self.expect_prefix(keys, p)
        assert [*numbers(f"{b}Q", page, 16)] == heads(keys[::16], p, 8)
        assert [*numbers(f"{b}H", page, 16 + 8 * b)] == places
        return entries, net, found

    def branch(self, page, level):
        its_level, n, p, h, at_heads, children, counts, slots, prefix, at, flags = numbers("BHHHHHHHHHB", page, 1)
        w = 2 if level == 1 else 8
        assert its_level == level and h == align(n, 16) // 16 and at_heads == 64 + 64 * max(1, align(h, 16) // 16)
        assert (children, counts, slots) == (at_heads + 64 * h, children + 8 * (n + 1), counts + w * (n + 1))
        assert (prefix, at) == (slots + 2 * n, prefix + p) and not any(page[21:24])
        assert page[24:64] == page[prefix:at][:40].ljust(40, b"\0")
        keys, overflow = [], 0
        for slot in numbers(f"{n}H", page, slots):
            field, = numbers("H", page, at)
            keys.append(self.separator(page, at, page[prefix:prefix + p]))
            assert slot == at
            at, overflow = at + 2 + field % 2**15, overflow | field >> 15
        assert not any(page[at:-48]) and flags == overflow and keys == sorted(set(keys))
        self.expect_prefix(keys, p)
        its_heads = [*numbers(f"{n}I", page, at_heads)]
        assert its_heads == heads(keys, p) and not page[at_heads + 4 * n:children].strip(b"\xff")
        assert [*numbers(f"{h}I", page, 64)] == its_heads[15:n - 1:16] + its_heads[-1:]
        assert not page[64 + 4 * h:at_heads].strip(b"\xff")
        return super().branch(page, level)

    def run(self, text, operations):
        entries = super().run(text, operations)
        length, = numbers("I", text, 28)
        assert length == (0 if len(entries) < 64 else 64 * (align(12 * len(entries), 512) // 512))
        self.kinds.add(("run", length > 0))
        self.kinds |= {("in a run", operation, len(value) > 4096) for _, value, operation in entries}
        return entries

    def expect_prefix(self, keys, p):
        assert p == (len(commonprefix([keys[0][:1024], keys[-1][:1024]])) if len(keys) > 1 else 0)


def heads(keys, p, width=4):
    return [int.from_bytes(key[:1024][p:p + width].ljust(width, b"\0"), "big") for key in keys]


def length_bytes(length):
    return bytes([length] if length < 128 else [length % 128 | 128, length >> 7])


class Decoder(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory, self.random = Path(directory.name), random.Random(SEED)
        for packed in GOLDEN.glob("*.gz"):
            (self.directory / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))

    def path(self, name):
        return self.directory / f"{name}.ful"

    def lines(self, name):
        """What a database holds; `None` if it is refused."""
        try:
            return [json.dumps(line, ensure_ascii=False) for line in Database(self.path(name)).lines()]
        except DAMAGE:
            return None

    def expected(self, name):
        return (self.directory / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()

    def flipped(self, name, path, at):
        """What a database holds, one bit of one of its files being flipped."""
        sound = path.read_bytes()
        damaged = bytearray(sound)
        damaged[at] ^= 1 << self.random.randrange(8)
        path.write_bytes(damaged)
        lines = self.lines(name)
        path.write_bytes(sound)
        return lines

    def test_golden_files_hold_what_is_written_beside_them(self):
        for name in NAMES:
            self.assertEqual(self.lines(name), self.expected(name), name)

    def test_golden_files_are_built_as_the_document_says(self):
        kinds = set().union(*(Strict(self.path(name)).kinds for name in NAMES))
        # Leaves of both forms, branches of two levels, the extent table; overflows to which trees refer, and one to which the log does; runs
        # without and with filters, and in them short and long values, and deletes, those that are counted and others.
        self.assertEqual(kinds, {(1, 0), (3, 0), (2, 1), (2, 2), (6, 0), ("overflow", False), ("overflow", True),
                                 ("run", False), ("run", True), ("in a run", 0, False), ("in a run", 0, True),
                                 ("in a run", 1, False), ("in a run", 1, True), ("in a run", 2, False),
                                 ("in a run", 3, False)})

    def test_a_flipped_bit_in_a_live_page_is_refused(self):
        for name in "closed", "runs", "packed":
            for start, length in Strict(self.path(name)).places:
                at = start + self.random.randrange(length)
                self.assertIsNone(self.flipped(name, self.path(name), at), f"seed {SEED}, {name}, byte {at}")

    def test_a_filter_that_misses_a_key_of_its_run_or_knows_another_is_refused(self):
        class Wrong(Database):
            def filter(self, keys, n):
                return super().filter(self.changed(keys), n)

        for changed in lambda keys: keys[1:], lambda keys: [*keys, b"another"]:
            Wrong.changed = staticmethod(changed)
            with self.assertRaisesRegex(ValueError, "filter"):
                Wrong(self.path("runs"))

    def test_a_run_that_counts_a_key_wrongly_is_refused(self):
        class Wrong(Database):
            def tree(self, root, count):
                return dict(list(super().tree(root, count).items())[::2])

        with self.assertRaisesRegex(ValueError, "a run counts keys wrongly"):
            Wrong(self.path("counted"))

    def test_the_example_of_a_description_with_a_merge_function_is_read_and_others_are_refused(self):
        document = (Path(__file__).resolve().parents[1] / "file-format.md").read_text(encoding="utf-8")
        example = document.split("### Example of a description with a merge function")[1].split("```")[1]
        text = bytes.fromhex("".join(line[6:53] for line in example.strip().splitlines()))

        def description(text):
            database = Database(self.path("empty"))
            database.describe(b"t", text)
            return database.tables[b"t"]

        table, described = description(text)
        self.assertEqual((table, described["key_type"], described["merge_function"]), (7, "string", "word set"))
        # Without a name, with one that ends too soon or goes on, with an unknown operator, and in a multimap.
        multimap, unknown = (text[:at] + bytes([byte]) + text[at + 1:] for at, byte in ((1, 1), (3, 11)))
        for wrong in text[:-10], text[:-10] + bytes(2), text[:-1], text + b"s", unknown, multimap:
            with self.assertRaises(DAMAGE):
                description(wrong)

    def test_a_database_without_a_valid_meta_is_refused(self):
        file = bytearray(self.path("closed").read_bytes())
        for slot in 0, 4096:
            file[slot + self.random.randrange(512)] ^= 1
        self.path("closed").write_bytes(file)
        self.assertIsNone(self.lines("closed"))

    def test_a_flipped_bit_in_commits_that_were_durable_is_refused(self):
        segment = self.directory / "crashed.ful-log.2"
        for _ in range(300):
            at = self.random.randrange(segment.stat().st_size)
            # Padding between records is not checked, and means nothing.
            lines = self.flipped("crashed", segment, at)
            self.assertIn(lines, (None, self.expected("crashed")), f"seed {SEED}, byte {at}")
        segment.unlink()
        self.assertIsNone(self.lines("crashed"))

    def test_a_log_that_is_cut_or_damaged_at_its_end_holds_a_beginning_of_its_commits(self):
        segment = self.directory / "crashed.ful-log.3"
        sound, beginnings = segment.read_bytes(), []
        for length in range(0, len(sound) + 1, 8):
            segment.write_bytes(sound[:length])
            lines = self.lines("crashed")
            self.assertIsNotNone(lines, f"{length} bytes")
            if lines not in beginnings:
                beginnings.append(lines)
        self.assertEqual((len(beginnings), beginnings[-1]), (11, self.expected("crashed")))
        for at in range(64, len(sound), 5):
            self.assertIn(self.flipped("crashed", segment, at), [None, *beginnings], f"seed {SEED}, byte {at}")


if __name__ == "__main__":
    unittest.main()
