#!/usr/bin/env python3
"""Rebuilds packages.gz beside this script from the package index of a Debian 12 machine.

    rebuild.py          asks `apt-cache dumpavail`, which knows the index after `apt-get update`
    rebuild.py INDEX    the same from an index that is here already, in the same form

Needs Python 3.9 and GNU gzip. The index changes with each point release of Debian: then so does what is written.
../README.md describes it.
"""

import pathlib
import re
import subprocess
import sys

OUTPUT = pathlib.Path(__file__).resolve().parent / "packages.gz"

# What is kept: these, and all that they need or recommend, and so on.
ROOTS = ["gnome", "kde-full", "libreoffice", "task-web-server", "texlive-full"]
NEEDED_BY = ["Pre-Depends", "Depends", "Recommends"]

# No descriptions, which have authors, and no persons.
FIELDS = ["Package", "Source", "Version", "Installed-Size", "Provides", *NEEDED_BY, "Homepage", "Tag", "Section"]


def stanzas(text):
    """The paragraphs of the index, each as a dictionary; a line that begins with a space goes on with the field before it."""
    for paragraph in text.split("\n\n"):
        unfolded = re.sub(r"\n[ \t]+", " ", paragraph.strip())
        if unfolded:
            yield dict(line.split(": ", 1) for line in unfolded.split("\n") if ": " in line)


def first_choices(package):
    """The first alternative of each relation by which a package needs another one."""
    for field in NEEDED_BY:
        for relation in package.get(field, "").split(","):
            name = re.match(r"[a-z0-9][a-z0-9+.-]*", relation.strip())
            if name:
                yield name.group()


def main():
    if len(sys.argv) > 1:
        text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    else:
        text = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, encoding="utf-8").stdout
    packages = {}
    for package in stanzas(text):
        packages.setdefault(package["Package"], package)
    kept, waiting = set(), list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name in packages and name not in kept:
            kept.add(name)
            waiting.extend(first_choices(packages[name]))
    missing = [root for root in ROOTS if root not in kept]
    if missing:
        sys.exit(f"not in this index: {', '.join(missing)}; run `apt-get update`")
    lines = []
    for name in sorted(kept):
        lines += [f"{field}: {packages[name][field]}\n" for field in FIELDS if field in packages[name]] + ["\n"]
    # Without name and time, so that the same text gives the same bytes.
    packed = subprocess.run(["gzip", "-9", "-n"], input="".join(lines).encode(), check=True, stdout=subprocess.PIPE)
    OUTPUT.write_bytes(packed.stdout)
    print(f"{OUTPUT}: {len(kept)} packages, {len(packed.stdout)} bytes")


main()
