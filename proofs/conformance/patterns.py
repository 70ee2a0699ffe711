#!/usr/bin/env python3
"""Compares REGEX and REPLACE with another implementation of XPath's functions (elementpath), over random patterns.

Usage: patterns.py COUNT SEED PROGRAM [ARGUMENT]...

COUNT is the number of calls of each function, SEED a number or `random`, and PROGRAM with its first arguments the
command line. What elementpath does otherwise than the specification is not compared: `is_known` lists it.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile

from elementpath import ElementPathError, XPathContext
from elementpath.xpath31 import XPath31Parser

CHARACTERS = ["a", "b", "c", "A", "B", "k", "1", "2", " ", "-", ".", "\n", "é", "É", "я", "_", "$", "\\"]
CLASSES = [
    ".", "\\d", "\\D", "\\s", "\\S", "\\w", "\\W", "\\i", "\\c", "\\p{L}", "\\P{L}", "\\p{Lu}", "\\p{Nd}", "\\p{IsBasicLatin}",
    "\\P{IsBasicLatin}", "\\p{IsCyrillic}", "[abc]", "[^ab]", "[a-c]", "[A-B]", "[a-z-[b]]", "[^a-z-[A]]", "[a-c-[b-c-[c]]]",
    "[-a]", "[a-]", "[\\d\\-]", "[^\\s]", "[\\w-[\\d]]", "[é-я]", "\\.", "\\\\", "\\$", "\\^", "\\n", "\\-",
]
QUANTIFIERS = ["", "", "", "", "?", "*", "+", "??", "*?", "+?", "{2}", "{1,2}", "{0,1}", "{1,}", "{2}?"]
REPLACEMENTS = ["x", "", "[$0]", "$1", "<$1$2>", "$12", "$9", "\\$", "\\\\", "a\\$b$0", "$", "\\", "\\n", "$a"]
BROKEN = ["(", ")", "[", "]", "*", "a**", "a{2,1}", "[b-a]", "\\", "\\b", "(?=a)", "\\1", "[]", "a{", "{", "[a[b]]", "+a", "a|*"]


def pattern(chooser, depth=0, groups=None):
    groups = groups if groups is not None else [0]
    branches = []
    for _ in range(chooser.choice([1, 1, 1, 2])):
        pieces = []
        for _ in range(chooser.randint(0 if depth else 1, 3)):
            kind = chooser.random()
            if kind < 0.45:
                atom = chooser.choice(["a", "b", "c", "A", "k", "1", "é", " ", "-", "_"])
            elif kind < 0.8:
                atom = chooser.choice(CLASSES)
            elif kind < 0.86:
                pieces.append(chooser.choice(["^", "$"]))
                continue
            elif depth < 3:
                is_capturing = chooser.random() < 0.7
                groups[0] += is_capturing
                atom = "(%s%s)" % ("" if is_capturing else "?:", pattern(chooser, depth + 1, groups))
            else:
                atom = "b"
            pieces.append(atom + chooser.choice(QUANTIFIERS))
        branches.append("".join(pieces))
    if depth == 0 and chooser.random() < 0.1:
        # A group that has always matched: elementpath refuses a reference to another.
        return "(%s)%s\\1" % (chooser.choice(["a", ".", "[ab]+", "\\w*?", "a|b"]), branches[0])
    return "|".join(branches)


def repeated_groups(pattern):
    """The contents of groups with a quantifier that allows more than one match."""
    opened, at = [], 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "[":
            depth = 0
            while at < len(pattern):
                at += pattern[at] == "\\"
                depth += {"[": 1, "]": -1}.get(pattern[at : at + 1], 0)
                if depth == 0:
                    break
                at += 1
        elif pattern[at] == "(":
            opened.append(at + 1)
        elif pattern[at] == ")" and opened:
            content = pattern[opened.pop() : at]
            if re.match(r"[*+]|\{\d,\d?\}|\{[2-9]\}", pattern[at + 1 :]):
                yield content.removeprefix("?:")
        at += 1


def can_be_empty(pattern, flags):
    """Whether a pattern matches the empty string, as far as it is one without its surroundings."""
    names = ["text", "pattern", "flags"]
    return theirs("matches($text, $pattern, $flags)", names, ("", "^(?:%s)$" % pattern, flags)) is not False


def is_known(kind, text, pattern, flags, replacement):
    """What elementpath does otherwise than the specification."""
    if "q" in flags and "x" in flags:
        # It refuses this; XPath says that `x` then has no effect.
        return True
    if "\\w" in pattern.lower() and re.search("[_$]", text):
        # It has Python's letters, digits and `_` for `\\w` outside of classes.
        return True
    if "m" in flags and text.endswith("\n") and re.search(r"[$^]", pattern):
        # For it, there is an empty line behind a newline that ends the text.
        return True
    if "x" in flags and re.search(r"[}?*+^$)][ \n]+[?*+{]", pattern):
        # It refuses a quantifier behind white space that is removed. One behind a group makes a reference to a group
        # that may not have matched, which then stands for the empty string; for it, such a reference never matches.
        return True
    if kind == "replace" and re.search(r"\$[1-9]", replacement):
        # The last match of a repeated group may be an empty one. XPath does not say whether it is made: `(a*)+` matches
        # "a" once, or once more at its end.
        if any(can_be_empty(group, flags) for group in repeated_groups(pattern)):
            return True
    if kind == "replace":
        # It takes each pair of backslashes in the result for one, and leaves a variable without a group as it is.
        groups = re.sub(r"\\\\.|\[[^]]*\]", "", pattern).replace("(?:", "").count("(")
        return "\\" in text or "\\\\" in replacement or any(int(digit) > groups for digit in re.findall(r"\$(\d)", replacement))
    return False


def calls(chooser, count):
    rows = []
    while len(rows) < count:
        text = "".join(chooser.choices(CHARACTERS, k=chooser.randint(0, 8)))
        one = chooser.choice(BROKEN) if chooser.random() < 0.05 else pattern(chooser)
        flags = "".join(sorted(set(chooser.choices("smixq", [3, 3, 3, 1, 1], k=chooser.choice([0, 0, 1, 2])))))
        flags = "y" if chooser.random() < 0.01 else flags
        rows.append((text, one, chooser.choice(REPLACEMENTS), flags))
    return rows


def theirs(expression, names, row):
    parser = XPath31Parser(variable_types={name: "xs:string" for name in names})
    context = XPathContext(root=None, item="", variables=dict(zip(names, row)))
    try:
        return parser.parse(expression).evaluate(context)
    except ElementPathError as error:
        code = error.code.rsplit(":", 1)[-1]
        if not code.startswith("FORX"):
            raise
        return None


def literal(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"%s"' % escaped


def ours(program, rows):
    values = "\n".join("(%d %s)" % (number, " ".join(map(literal, row))) for number, row in enumerate(rows))
    text = """SELECT ?n ?m ?r {
      VALUES (?n ?t ?p ?x ?f) { %s }
      BIND(REGEX(?t, ?p, ?f) AS ?m) BIND(REPLACE(?t, ?p, ?x, ?f) AS ?r)
    }""" % values
    with tempfile.TemporaryDirectory() as directory:
        store, query = os.path.join(directory, "a.ful"), os.path.join(directory, "query.rq")
        with open(query, "w", encoding="utf-8") as out:
            out.write(text)
        subprocess.run(program + ["rdf", "update", store, "CLEAR ALL", "--create"], check=True, capture_output=True)
        command = program + ["rdf", "query", store, "--file", query, "--format", "json"]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    answers = [(None, None)] * len(rows)
    for row in answer["results"]["bindings"]:
        value = lambda name: row[name]["value"] if name in row else None
        match = {"true": True, "false": False, None: None}[value("m")]
        answers[int(value("n"))] = (match, value("r"))
    return answers


def main():
    count, seed, program = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    seed = random.randrange(1 << 32) if seed == "random" else int(seed)
    print("to repeat it: patterns.py %d %d %s" % (count, seed, " ".join(program)))
    rows = calls(random.Random(seed), count)
    differences, values = 0, 0
    for (text, one, replacement, flags), (match, replaced) in zip(rows, ours(program, rows)):
        compared = [
            ("matches", theirs("matches($t, $p, $f)", "tpf", (text, one, flags)), match),
            ("replace", theirs("replace($t, $p, $x, $f)", "tpxf", (text, one, replacement, flags)), replaced),
        ]
        for kind, wanted, got in compared:
            values += wanted is not None
            if wanted != got and not is_known(kind, text, one, flags, replacement):
                differences += 1
                print("%s(%r, %r, %r, %r): elementpath %r, ours %r" % (kind, text, one, replacement, flags, wanted, got))
    print("%d calls, %d with a value, %d differences" % (2 * count, values, differences))
    sys.exit(1 if differences else 0)


main()
