"""Compares the store's readers and writers with other programs: libxml2 (by lxml) and rdflib.

Usage: compare.py [--seed N] [--documents N] -- PROGRAM [ARGUMENTS]

PROGRAM is the binary `readers` of this crate, or what runs it. Three comparisons, each over random texts that the seed decides:
well-formedness and XML literals against libxml2, triples of RDF/XML against rdflib, and all that the store writes, read by
rdflib, libxml2 and Python's csv and json. A difference is printed with its text, and the exit code is 1.
"""

import csv
import io
import json
import random
import re
import struct
import subprocess
import sys
import warnings

import lxml.etree
import rdflib
import rdflib.compare

import rdf_documents
import terms
import xml_documents

BASE = "http://base.example/doc"
# Rules that libxml2 has and XML has not: namespaces that are no URIs, and declarations that are only invalid twice.
NOT_OF_XML = re.compile("is not a valid URI|edefinition of element|already defined|xmlns: URI|namespace URI")


class Program:
    """The binary, to which many requests are sent at once."""

    def __init__(self, command: list[str]) -> None:
        self.command = command

    def ask(self, kind: str, texts: list[bytes]) -> list[dict]:
        requests = b"".join(kind.encode() + struct.pack(">I", len(text)) + text for text in texts)
        done = subprocess.run(self.command, input=requests, stdout=subprocess.PIPE, check=True)
        answers = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
        assert len(answers) == len(texts)
        return answers


class Differences:
    def __init__(self) -> None:
        self.count = 0

    def report(self, what: str, seed: str, text: object, *particulars: object) -> None:
        self.count += 1
        if self.count <= 10:
            print(f"difference: {what} (seed {seed})", *particulars, text, sep="\n  ")


def read_by_libxml(document: bytes) -> tuple[object, str]:
    """The root element, or None and what is wrong."""
    parser = lxml.etree.XMLParser(resolve_entities=True, no_network=True, load_dtd=False, attribute_defaults=True)
    try:
        root = lxml.etree.fromstring(document, parser)
    except (lxml.etree.XMLSyntaxError, ValueError) as error:
        return None, str(error)
    errors = [entry.message for entry in parser.error_log if entry.level_name in ("ERROR", "FATAL")]
    return (None, errors[0]) if errors else (root, "")


def literal_by_libxml(root: object) -> str | None:
    """What the property holds, in exclusive canonical form: of a copy in which it is alone.

    None if a namespace has a relative name: Canonical XML (1.0, 1.3) gives such a document no form.
    """
    if any(uri and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri) for node in root.iter("*") for uri in node.nsmap.values()):
        return None
    holder = root[0][0]
    out = escaped(holder.text)
    for child in holder:
        tail, child.tail = child.tail, None
        if isinstance(child.tag, str):
            out += lxml.etree.tostring(child, method="c14n", exclusive=True, with_comments=True).decode()
        elif child.tag is lxml.etree.Comment:
            out += f"<!--{child.text}-->"
        else:
            out += f"<?{child.target} {child.text}?>" if child.text else f"<?{child.target}?>"
        out += escaped(tail)
    return out


def escaped(text: str | None) -> str:
    out = (text or "").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return out.replace("\r", "&#xD;")


def compare_xml(program: Program, seed: int, count: int, differences: Differences) -> str:
    seeds = [f"{seed}-xml-{number}" for number in range(count)]
    documents = [xml_documents.document(random.Random(seed)) for seed in seeds]
    sound = skipped = formless = 0
    for seed, document, ours in zip(seeds, documents, program.ask("x", documents)):
        root, wrong = read_by_libxml(document)
        if NOT_OF_XML.search(wrong) or re.search(rb"version\s*=\s*.1\.['\"]", document):
            skipped += 1
            continue
        if root is not None and "cannot be declared to be something else" in ours.get("error", ""):
            # XML 1.0, 4.6: a predefined entity stands for its character only. libxml2 warns, and keeps its meaning.
            skipped += 1
            continue
        if (root is None) == ("quads" in ours):
            differences.report("well-formedness", seed, document, f"libxml2: {wrong or 'sound'}", f"ours: {ours}")
        elif root is not None:
            sound += 1
            graph = rdflib.Graph().parse(data=ours["quads"], format="nt")
            literal = "".join(graph.objects(rdflib.URIRef("http://e/s"), rdflib.URIRef("http://e/p")))
            theirs = literal_by_libxml(root)
            if theirs is None:
                formless += 1
            elif literal != theirs:
                differences.report("XML literal", seed, document, repr(literal), repr(theirs))
        elif not (ours["line"] and ours["column"]):
            differences.report("an error without a place", seed, document, ours)
    assert sound > count // 8 and skipped < count // 4 and formless < sound // 20 + 5
    return f"{count} documents, of which {sound} well-formed, {formless} without a canonical form"


def compare_rdf(program: Program, seed: int, count: int, differences: Differences) -> str:
    seeds = [f"{seed}-rdf-{number}" for number in range(count)]
    documents = [rdf_documents.document(random.Random(seed)).encode() for seed in seeds]
    triples = 0
    for seed, document, ours in zip(seeds, documents, program.ask("x", documents)):
        theirs = rdflib.Graph().parse(data=document, format="xml", publicID=BASE)
        if "quads" not in ours:
            differences.report("a document of RDF/XML", seed, document.decode(), ours)
            continue
        graph = rdflib.Graph().parse(data=ours["quads"], format="nt")
        triples += len(graph)
        if not same(graph, theirs):
            _, one, other = rdflib.compare.graph_diff(graph, theirs)
            differences.report("triples", seed, document.decode(), sorted(one), sorted(other))
    assert triples > count
    return f"{count} documents with {triples} triples"


def same(one: rdflib.Graph, other: rdflib.Graph) -> bool:
    return rdflib.compare.isomorphic(one, other)


def graph_of(form: str, text: str) -> rdflib.Graph:
    if form in ("nquads", "trig", "json-ld"):
        dataset = rdflib.Dataset(default_union=True)
        dataset.parse(data=text, format=form)
        graph = rdflib.Graph()
        for subject, predicate, object, _ in dataset.quads():
            graph.add((subject, predicate, object))
        return graph
    return rdflib.Graph().parse(data=text, format=form)


def rows_of(form: str, text: str) -> rdflib.Graph:
    """The rows of results as triples."""
    graph = rdflib.Graph()
    if form == "tsv":
        lines = text.split("\n")
        assert lines[0] == "?s\t?p\t?o" and lines[-1] == ""
        return rdflib.Graph().parse(data="".join(" ".join(line.split("\t")) + " .\n" for line in lines[1:-1]), format="turtle")
    if form == "xml":
        lxml.etree.fromstring(text.encode())
    result = rdflib.query.Result.parse(io.BytesIO(text.encode()), format=form)
    for row in result:
        graph.add((row["s"], row["p"], row["o"]))
    return graph


def compare_written(program: Program, seed: int, count: int, differences: Differences) -> str:
    seeds = [f"{seed}-written-{number}" for number in range(count)]
    statements = [terms.statements(random.Random(seed)) for seed in seeds]
    refused = 0
    for seed, text, answer in zip(seeds, statements, program.ask("w", [text.encode() for text in statements])):
        expected = rdflib.Graph().parse(data=text, format="nt")
        for name, written in answer.items():
            verb, form = name.split(" ")
            if isinstance(written, dict):
                refused += 1
                if not terms.is_unsayable(verb, form, expected):
                    differences.report(f"{name} was refused", seed, text, written)
                continue
            try:
                if (verb, form) == ("select", "csv"):
                    rows = list(csv.reader(io.StringIO(written, newline="")))[1:]
                    found = sorted(["_:" if field.startswith("_:") else field for field in row] for row in rows)
                    is_same = found == sorted([terms.as_csv(term) for term in triple] for triple in expected)
                else:
                    is_same = same(rows_of(form, written) if verb == "select" else graph_of(form, written), expected)
            except Exception as error:  # Whatever another reader raises says that it cannot read this.
                differences.report(f"{name} cannot be read", seed, written, error)
                continue
            if not is_same:
                differences.report(f"{name} is read as something else", seed, written, text)
    assert 0 < refused < count * 4
    return f"{count} sets of statements in 16 forms, {refused} refused"


def main() -> int:
    arguments = sys.argv[1:]
    options = {"--seed": random.randrange(1 << 32), "--documents": 3000}
    while arguments[0] != "--":
        name = arguments.pop(0)
        options[name] = int(arguments.pop(0))
    program = Program(arguments[1:])
    seed, documents = options["--seed"], options["--documents"]
    warnings.simplefilter("ignore")
    # Literals are compared as they were written.
    rdflib.NORMALIZE_LITERALS = False
    print(f"readers: --seed {seed} --documents {documents}")
    differences = Differences()
    print("libxml2:", compare_xml(program, seed, documents, differences))
    print("rdflib:", compare_rdf(program, seed, documents // 5, differences))
    print("written:", compare_written(program, seed, documents // 30, differences))
    if differences.count:
        print(f"{differences.count} differences; repeat with --seed {seed} --documents {documents}")
    return 1 if differences.count else 0


if __name__ == "__main__":
    sys.exit(main())
