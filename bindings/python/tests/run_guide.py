"""Runs the blocks of Python of a document, one after the other, in an empty directory.

Writes them as one program to a file, whose types can be checked.

    run_guide.py DOCUMENT PROGRAM
"""

import os
import sys
import tempfile
from pathlib import Path


def main() -> None:
    document = Path(sys.argv[1]).resolve()
    lines, is_inside, count = [], False, 0
    for line in document.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_inside = not is_inside and line == "```python"
            count += is_inside
            lines.append("")
        else:
            # Other lines are empty, so that messages have the numbers of lines of the document.
            lines.append(line if is_inside else "")
    assert count > 0, f"{document}: no block of Python"
    program = "\n".join(lines)
    Path(sys.argv[2]).write_text(program + "\n", encoding="utf-8")
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        exec(compile(program, document, "exec"), {"__name__": "__main__"})
        os.chdir(start)
    print(f"{document.name}: {count} blocks")


main()
