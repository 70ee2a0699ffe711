#!/usr/bin/env python3
"""Reads a SCIP index from standard input, and writes it with the project root `file:///`.

Indexers write the directory in which they ran. Without it, indexes of the same sources are the same bytes.
"""

import sys

LENGTH_DELIMITED = 2
METADATA, PROJECT_ROOT = 1, 3


def number(data: bytes, at: int) -> tuple[int, int]:
    """A varint, and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes):
    """The fields of a message: each with its number, all its bytes, and those of its value if it has a length."""
    at = 0
    while at < len(data):
        begin = at
        key, at = number(data, at)
        if key & 7 == LENGTH_DELIMITED:
            length, at = number(data, at)
            value = data[at : at + length]
            at += length
        elif key & 7 == 0:
            value = b""
            _, at = number(data, at)
        else:
            raise SystemExit(f"the index has a field of wire type {key & 7}, which SCIP does not use here")
        yield key >> 3, data[begin:at], value


def delimited(field: int, value: bytes) -> bytes:
    """A field with a length. Lengths here fit into one or two bytes."""
    length = len(value)
    size = bytes([length]) if length < 0x80 else bytes([length & 0x7F | 0x80, length >> 7])
    return bytes([field << 3 | LENGTH_DELIMITED]) + size + value


def main() -> None:
    out = sys.stdout.buffer
    for field, whole, value in fields(sys.stdin.buffer.read()):
        if field != METADATA:
            out.write(whole)
            continue
        rest = b"".join(inner for number, inner, _ in fields(value) if number != PROJECT_ROOT)
        out.write(delimited(METADATA, rest + delimited(PROJECT_ROOT, b"file:///")))


main()
