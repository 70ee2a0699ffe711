"""Random statements with terms that some form must escape, or cannot say."""

import random
import re

import rdflib

IRIS = ["http://e/p", "http://e/x,y", "http://e/'q'", "http://e/?a=1&b=2", "http://e/a.b", "http://d/y1", "http://e/%41", "http://e/(x)", "http://e/x;y",
        "http://e/-a", "http://e/\u00e9", "urn:x:y", "http://e/p#f", "http://e/x~y!$*+z", "tag:e,2026:x", "http://www.w3.org/1999/02/22-rdf-syntax-ns#_2"]
# More predicates that have no name for an element of XML.
NAMELESS = ["http://e/x/1", "http://e/", "http://www.w3.org/1999/02/22-rdf-syntax-ns#li"]
PIECES = ["a", " ", "\\t", "\\n", "\\r", "\\\"", "'", "\\\\", "<", ">", "&", "]]>", "&amp;", ",", ";", "\u00e9", "\U0001f600", "\u007f", "\u0085", "\u2028", "\ufeff",
          "{", "}", "@", "^^", "<!--", "\ue000"]
CONTROLS = ["\\u0000", "\\u0008", "\\u000B", "\\u001F", "\\uFFFE", "\\uFFFF"]
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def literal(rng: random.Random, controls: list[str]) -> str:
    text = "".join(rng.choice(PIECES + controls) for _ in range(rng.randrange(6)))
    kind = rng.randrange(5)
    if kind == 0:
        return f'"{text}"@{rng.choice(["en", "de-at", "zh-hant-tw"])}'
    if kind == 1:
        return f'"{text}"^^<{rng.choice(IRIS)}>'
    return f'"{text}"'


def statements(rng: random.Random) -> str:
    controls = CONTROLS if rng.random() < 0.3 else []
    predicates = IRIS + (NAMELESS if rng.random() < 0.3 else [])
    lines = []
    for _ in range(rng.randrange(1, 6)):
        subject = rng.choice(["<" + rng.choice(IRIS) + ">", "_:b1", "_:c"])
        predicate = "<" + rng.choice(predicates) + ">"
        object = rng.choice([literal(rng, controls), literal(rng, controls), "<" + rng.choice(IRIS) + ">", "_:c"])
        lines.append(f"{subject} {predicate} {object} .\n")
    return "".join(lines)


def is_unsayable(verb: str, form: str, graph: rdflib.Graph) -> bool:
    """Whether a form has no way to write some term of a graph."""
    if form != "xml":
        return False
    has_illegal = any(isinstance(term, rdflib.Literal) and ILLEGAL.search(term) for term in graph.objects())
    return has_illegal or (verb != "select" and any(is_nameless(predicate) for predicate in graph.predicates()))


def is_nameless(predicate: str) -> bool:
    """Whether a predicate ends with no name of XML, or is part of RDF/XML's own syntax."""
    return not re.search(r"[^\W\d][\w.\-]*\Z", predicate) or predicate.endswith("rdf-syntax-ns#li")


def as_csv(term: rdflib.term.Node) -> str:
    """What CSV says of a term, without the labels of blank nodes."""
    return "_:" if isinstance(term, rdflib.BNode) else str(term)
