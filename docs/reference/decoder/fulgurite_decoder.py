#!/usr/bin/env python3
"""Prints the tables of a Fulgurite database, what its log holds included, as NDJSON; keys and values in hexadecimal.

Written from docs/reference/file-format.md alone, whose sections it names, to prove that the document suffices.
It refuses damage. Needs Python 3.9 or later and `pip install xxhash`."""
import io, json, pathlib, struct, sys
from xxhash import xxh3_64_intdigest as xxh3

# What is raised for bytes that are no database of format version 1, or have changed since they were written.
DAMAGE = ValueError, LookupError, struct.error

OPERATORS = "add", "max", "append", "add-saturating", "add-checked", "min", "and", "or", "xor"

def check(holds, message):
    if not holds:
        raise ValueError(message)

def numbers(form, data, offset):
    return struct.unpack_from("<" + form, data, offset)

def mix(x):  # Hash
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31

def varint(stream):  # Operations
    byte = stream.read(1)[0]
    return byte if byte < 128 else byte % 128 + 128 * varint(stream)

def align(x, a):
    return -(-x // a) * a

class Database:  # `tables` maps names to ids and descriptions, `contents` maps ids to keys and values.
    def __init__(self, path):
        self.path, self.tables, self.contents = path, {}, {}
        self.file = pathlib.Path(path).read_bytes()
        root, entries = self.read_meta()
        for name, description in self.tree(root, entries).items():
            self.describe(name, description)
        number, last, before = self.first_segment, self.sequence, None  # Reading a log
        while (segment := pathlib.Path(f"{path}-log.{number}")).exists():
            last, before = self.segment(segment.read_bytes(), number, last, before)
            number += 1
        check(number > self.first_segment or not self.flags, "the first segment of the log is missing")

    def read_meta(self):  # Meta, Extents
        slots = self.file[:512], self.file[4096:4608]
        valid = [m for m in slots if m[:8] == b"FULGURIT" and xxh3(m[:504], 0) == numbers("Q", m, 504)[0]]
        check(valid, "no meta is valid")
        meta = max(valid, key=lambda slot: numbers("Q", slot, 56))
        version, self.page_size, low, high, _, _, incompatible = numbers("IIQQQQQ", meta, 8)
        check(version == 1 and incompatible < 4, "written by a newer Fulgurite")
        self.uuid, self.tag_seed = meta[16:32], low ^ high
        self.sequence, self.first_segment, self.flags = numbers("QQ12xI", meta, 72)
        *root, present, entries, first, pages, count, birth, checksum = numbers("IIBB6xQQIIQQ", meta, 112)
        table = b""
        for i in range(pages):
            page = self.page(first + i, 2**32 - 1, i, birth)
            kind, n, start = numbers("BxHI", page, 0)
            check(kind == 6 and start == len(table) // 64, "this is not a page of the extent table")
            table += page[64:64 + 64 * n]
        holds = not count or xxh3(table, self.tag_seed) == checksum
        check(holds and len(table) == 64 * count, "the extent table is not the meta's")
        self.extents = list(struct.iter_unpack("<QIBBxxQQQ24x", table))
        return root if present else None, entries

    def place(self, extent, slot, kind):
        first, pages, its_kind, single, birth, *live = self.extents[extent]
        alive = live[0] & 1 if single else live[slot // 64] >> slot % 64 & 1
        check(its_kind == kind and slot < pages and alive, "a page of its kind is not live")
        return first + slot, pages - slot, birth  # The page, the number of pages from there to the extent's end.

    def page(self, number, extent, slot, birth):  # Page
        page = self.file[number * self.page_size:][:self.page_size]
        its_birth, checksum = numbers("QQ", page, self.page_size - 16)
        check(xxh3(page[:-8], self.tag_seed ^ mix(extent * 2**32 + slot)) == checksum, f"page {number} is damaged")
        check(its_birth == birth, f"page {number} is older or younger than its extent")
        return page

    def overflow(self, reference, first=None):  # Overflow reference
        extent, slot, length, checksum = numbers("III4xQ", reference, 0)
        first, pages, _ = self.place(extent, slot, 2) if first is None else (first, length, 0)
        data = self.file[first * self.page_size:][:length]
        check(length <= pages * self.page_size and xxh3(data, self.tag_seed) == checksum, "an overflow is damaged")
        return data

    def whole_key(self, stored, is_overflow):  # Keys and values
        whole = self.overflow(stored[1032:1056]) if is_overflow else stored
        check(is_overflow == (len(whole) > 1024) and whole[:1024] == stored[:1024], "a key is malformed")
        return whole

    def tree(self, root, count):
        entries, net, _ = self.node(*root) if root else ([], 0, 0)
        check(net == count and all(operation == 0 for *_, operation in entries), "a tree's count is wrong")
        return {key: value for key, value, _ in entries}

    def ranges(self, text, contents, counted):  # Ranges and runs
        at, lows, runs = 0, [], []
        while at < len(text):
            length, = numbers("I", text, at)
            lows.append(text[at + 4:at + 4 + length])
            first, n = at + 5 + length, text[at + 4 + length]
            at = first + 44 * n
            runs.append([text[start:start + 44] for start in range(first, at, 44)])
            check(n <= 48 and at <= len(text), "a range is malformed")
        rise = all(a < b for a, b in zip(lows, lows[1:]))
        check(rise and not lows[0] and any(runs) and len(lows) <= 65536, "ranges do not cover all keys, or have no runs")
        for low, high, its_runs in zip(lows, [*lows[1:], None], runs):
            for run in reversed(its_runs):  # The oldest first: of the newer ones each has the last word.
                entries = self.run(run, (0, 1, 2) if counted else (1, 3))
                within = all(low <= key and (high is None or key < high) for key, *_ in entries)
                check(within, "a run has keys outside its range")
                known = all((key in contents) == (operation > 0) for key, _, operation in entries)
                check(known or not counted, "a run counts keys wrongly")
                contents.update((key, value) for key, value, _ in entries)
                for key, _, operation in entries:
                    if operation > 1:
                        del contents[key]

    def run(self, text, operations):
        flags, level, extent, slot, count = numbers("BBxxIIQ", text, 0)
        entries, net, found = self.node(extent, slot, level)
        known = all(operation in operations for *_, operation in entries)
        check(len(entries) == count and known and flags == 1 | found << 1, "a run is malformed, or not what its root says")
        if any(text[20:]):
            known = self.overflow(text[20:])
            check(known and known == self.filter([key for key, *_ in entries], len(known) // 64), "a filter is wrong")
        return entries

    def filter(self, keys, n):  # Filters
        lines = bytearray(64 * n)
        for h in (xxh3(key, self.tag_seed) for key in keys):
            for i in range(1, 8):
                bit = (h * 0x9E3779B97F4A7C15 % 2**64 >> 64 - 9 * i) % 512
                lines[64 * ((h >> 32) * n >> 32) + bit // 8] |= 1 << bit % 8
        return lines

    def node(self, extent, slot, level):
        """Keys, values and operations below a node, their net count, and whether there is an overflow among them."""
        number, _, birth = self.place(extent, slot, 1)
        page = self.page(number, extent, slot, birth)
        check([*page[:2]] == [2, level] if level else page[0] in (1, 3), f"page {number} is of another kind or level")
        leaf = self.leaf if page[0] == 1 else self.packed_leaf
        entries, *rest = self.branch(page, level) if level else leaf(page)
        check(all(a[0] < b[0] for a, b in zip(entries, entries[1:])), f"page {number} has keys out of order")
        return entries, *rest

    def leaf(self, page):  # Leaf
        (n, blocks, net, logarithm), entries, found = numbers("H4xH2xhB", page, 2), [], 0
        for i in range(n):
            slot, = numbers("H", page, blocks + i // 16 * 64 + 32 + i % 16 * 2)
            key_field, value_field = numbers("HH", page, slot % 2**14)
            key_at = slot % 2**14 + 4
            value_at = align(key_at + key_field % 2**15, 1 << logarithm)
            key = self.whole_key(page[key_at:key_at + key_field % 2**15], key_field >> 15)
            value = page[value_at:value_at + value_field % 2**15]
            entries.append((key, self.overflow(value) if value_field >> 15 else value, slot >> 14))
            found |= (key_field | value_field) >> 15
        check(sum((1, 0, -1, 0)[operation] for _, _, operation in entries) == net, "a leaf's count is wrong")
        return entries, net, found

    def packed_leaf(self, page):  # Packed leaf
        (n, value_length, at), entries, key, found = numbers("H2xHH", page, 2), [], b"", 0
        for i in range(n):
            shared, rest, rest_at = page[at] >> 4, page[at] & 15, at + 1
            if shared == 15:
                more, rest_at = self.length(page, rest_at)
                shared += more
            if rest == 15:
                more, rest_at = self.length(page, rest_at)
                rest += more
            field, rest_at = self.length(page, rest_at) if value_length == 0xFFFF else (2 * value_length, rest_at)
            key, value_at = key[:shared] + page[rest_at:rest_at + rest], rest_at + rest
            at, found = value_at + field // 2, found | field & 1
            entries.append((key, self.overflow(page[value_at:at]) if field & 1 else page[value_at:at], 0))
        return entries, n, found

    def length(self, page, at):  # Packed entry
        return (page[at], at + 1) if page[at] < 128 else (page[at] % 128 | page[at + 1] << 7, at + 2)

    def branch(self, page, level):  # Branch
        n, p, children, counts, slots, prefix = numbers("HH4xHHHH", page, 2)
        entries, found, nets = [], 0, numbers(f"{n + 1}" + ("h" if level == 1 else "q"), page, counts)
        bounds = [b""] + [self.separator(page, at, page[prefix:prefix + p]) for at in numbers(f"{n}H", page, slots)]
        for i, child in enumerate(numbers(f"{n + 1}Q", page, children)):
            below, net, overflow = self.node(child % 2**32, child >> 32 & 0xFFFFFF, level - 1)
            check((net, overflow) == (nets[i], child >> 56), "a branch does not agree with its child")
            check(all(bounds[i] <= key and (i == n or key < bounds[i + 1]) for key, *_ in below), "a key is misplaced")
            entries, found = entries + below, found | overflow
        return entries, sum(nets), found

    def separator(self, page, at, prefix):
        field, = numbers("H", page, at)
        stored = page[at + 2:at + 2 + field % 2**15]
        return self.whole_key(stored if field >> 15 else prefix + stored, field >> 15)

    def describe(self, name, text):  # Catalog
        version, flags, alignment, merge, table, root, level, extent, slot, count, at = numbers("BBBBIBBxxIIQH", text, 0)
        end = 32 + at + numbers("H", text, 30 + at)[0]
        key_type, value_type = text[30:30 + at].decode(), text[32 + at:end].decode()
        check(merge <= 10 and not (merge and flags & 1), "a table's merge operator is unknown")
        merging = {"merge": OPERATORS[merge - 1]} if 0 < merge < 10 else {}
        if merge == 10:  # A function of the program
            start, end = end + 2, end + 2 + numbers("H", text, end)[0]
            check(start < end <= len(text), "a table's merge function has no name")
            merging = {"merge_function": text[start:end].decode()}
        check(version == 1 and flags < 16 and (end < len(text) if flags & 4 else end == len(text)), "a table is badly described")
        self.tables[name] = table, {"table": name.decode(), "multimap": bool(flags & 1), "counted": bool(flags & 2),
                                    **({"packed": True} if flags & 8 else {}), "value_align": alignment, "key_type": key_type, "value_type": value_type,
                                    **merging}
        if table not in self.contents:
            self.contents[table] = self.tree((extent, slot, level) if root & 1 else None, count)
            if flags & 4:
                self.ranges(text[end:], self.contents[table], flags >> 1 & 1)

    def segment(self, data, number, last, before):
        if len(data) < 64 or data[:8] != b"FULGULOG" or xxh3(data[:56], 0) != numbers("Q", data, 56)[0]:
            check(number >= self.first_segment + self.flags and not any(data[64:]), "a segment's header is damaged")
            return last, before
        version, features, uuid, its_number, salt = numbers("II16sQQ", data, 8)
        check((version, features & ~3, uuid, its_number) == (1, 0, self.uuid, number), f"segment {number} is of another log")
        end, at, part, commit, current, link = 64, 64, 0, [], last + 1, before
        while at + 56 <= len(data):
            checksum, length, kind, previous, sequence, _, payload, count, its_part = numbers("QIB3xQQQQII", data, at)
            holds = xxh3(data[at + 8:at + 56], salt) == checksum and xxh3(data[at + 56:at + length], 0) == payload
            follows = (sequence, previous) == (current, link) if link is not None else sequence <= current
            if not (holds and at + length <= len(data) and its_part == part and follows):
                break
            commit += self.operations(data[at + 56:at + length], count)
            at, part, current, link = align(at + length, 8), part + 1, sequence, checksum
            if kind == 1:
                for operation in commit if sequence > self.sequence else []:
                    self.apply(*operation)
                last, before = (sequence, checksum) if sequence >= self.sequence else (last, before)
                end, part, commit, current, link = at, 0, [], last + 1, before
        for offset in range(end, len(data) - 55, 8):
            checksum, synced = numbers("Q24xQ", data, offset)
            check(synced <= last or xxh3(data[offset + 8:offset + 56], salt) != checksum, "durable commits are missing")
        return last, before

    def operations(self, data, count):  # Operations
        rest, found = io.BytesIO(data), []
        for _ in range(count):
            kind, table, key_length = rest.read(1), varint(rest), varint(rest)
            known = kind in (b"\1", b"\2", b"\3", b"\x08") or (kind, key_length) == (b"\7", 0)
            check(known, "an operation is unknown")
            value_length = varint(rest) if kind in (b"\1", b"\x08") else 0
            large = rest.read(36) if kind == b"\2" else None
            key, value = rest.read(key_length), rest.read(value_length) if value_length or kind == b"\1" else None
            if kind == b"\x08":
                found.append((0, key, (table, value)))
            elif kind != b"\7":
                found.append((table, key, self.overflow(large, *numbers("Q", large, 24)) if large else value))
        check(rest.tell() == len(data), "a record's operations do not fill it")
        return found

    def apply(self, table, key, value):
        if value is None:
            (self.contents[table] if table else self.tables).pop(key, None)
        elif table:
            self.contents[table][key] = value
        elif isinstance(value, tuple):
            (table, after), (its_table, description) = value, self.tables.pop(key)
            check(table == its_table and after and after not in self.tables, "a table is renamed wrongly")
            self.tables[after] = table, {**description, "table": after.decode()}
        else:
            self.describe(key, value)

    def lines(self):
        for name, (table, description) in sorted(self.tables.items()):
            yield {**description, "entries": len(self.contents[table])}
            for key, value in sorted(self.contents[table].items()):
                yield {"table": name.decode(), "key": key.hex(), "value": value.hex()}

if __name__ == "__main__":
    try:
        for line in Database(sys.argv[1]).lines():
            print(json.dumps(line, ensure_ascii=False))
    except DAMAGE as damage:
        sys.exit(f"{sys.argv[1]}: {damage}")
