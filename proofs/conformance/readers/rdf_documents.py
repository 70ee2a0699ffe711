"""Random documents of RDF/XML, with every production that rdflib reads as the specification says."""

import random

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TEXTS = ["text", "a &amp; b", " ", "\n  ", "\u00e9<!-- c -->t", "<![CDATA[<x>]]>", "&#13;", "&ent;", "1\r\n2", "&lt;&#62;"]
IRIS = ["", "x", "#f", "../y", "//h/z", "/r", "?q=1&amp;r", "http://o/", "http://o/a#b", "urn:x:y", "&ent;"]


class Document:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.ids = 0

    def new_id(self) -> str:
        self.ids += 1
        return f"id{self.ids}"

    def quoted(self, value: str) -> str:
        quote = self.rng.choice("'\"")
        return f"{quote}{value}{quote}"

    def scope(self) -> str:
        out = ""
        if self.rng.random() < 0.15:
            out += " xml:lang=" + self.quoted(self.rng.choice(["en", "de-at", ""]))
        if self.rng.random() < 0.1:
            out += " xml:base=" + self.quoted(self.rng.choice(["http://b/c/", "http://b/d/e", "http://b/f#g"]))
        return out

    def iri(self) -> str:
        return self.quoted(self.rng.choice(IRIS))

    def attributes(self) -> str:
        names = self.rng.sample(["e:q", "f:r", "e:s"], self.rng.randrange(3))
        out = "".join(f" {name}=" + self.quoted(self.rng.choice(["v", "a&amp;b", "", "x\ty"])) for name in names)
        if self.rng.random() < 0.2:
            out += " rdf:type=" + self.iri()
        return out

    def node(self, depth: int) -> str:
        name = self.rng.choice(["rdf:Description", "rdf:Description", "e:C", "f:D", "rdf:Bag"])
        identity = self.rng.randrange(4)
        out = f"<{name}{self.scope()}"
        if identity == 0:
            out += " rdf:about=" + self.iri()
        elif identity == 1:
            out += " rdf:nodeID=" + self.quoted(self.rng.choice(["n1", "n2"]))
        elif identity == 2:
            out += " rdf:ID=" + self.quoted(self.new_id())
        out += self.attributes()
        properties = "".join(self.property(depth) for _ in range(self.rng.randrange(4)))
        return f"{out}>\n{properties}</{name}>\n" if properties else out + "/>"

    def property(self, depth: int) -> str:
        name = self.rng.choice(["e:p", "f:q", "rdf:li", "rdf:_3", "e:p"])
        start = f"<{name}{self.scope()}"
        if self.rng.random() < 0.1:
            start += " rdf:ID=" + self.quoted(self.new_id())
        kind = self.rng.randrange(8 if depth else 5)
        if kind == 0:
            return f"{start} rdf:resource={self.iri()}/>"
        if kind == 1:
            return f"{start} rdf:datatype={self.quoted('http://t/x')}>{self.rng.choice(TEXTS)}</{name}>"
        if kind == 2:
            return f"{start} rdf:nodeID={self.quoted('n1')}/>"
        if kind in (3, 4):
            return f"{start}>{''.join(self.rng.choice(TEXTS) for _ in range(self.rng.randrange(3)))}</{name}>"
        if kind == 5:
            return f"{start}>\n{self.node(depth - 1)}</{name}>"
        if kind == 6:
            inner = "".join(self.property(depth - 1) for _ in range(self.rng.randrange(3)))
            return f"{start} rdf:parseType='Resource'>{inner}</{name}>"
        inner = "".join(self.node(depth - 1) for _ in range(self.rng.randrange(3)))
        return f"{start} rdf:parseType='Collection'>{inner}</{name}>"

    def text(self) -> str:
        nodes = "".join(self.node(3) for _ in range(self.rng.randrange(1, 4)))
        head = f"<!DOCTYPE rdf:RDF [<!ENTITY ent 'http://ent/'>]>\n<rdf:RDF xmlns:rdf='{RDF}' xmlns:e='http://e/' xmlns:f='http://f#'"
        return f"{head}{self.scope()}>\n{nodes}</rdf:RDF>\n"


def document(rng: random.Random) -> str:
    return Document(rng).text()
