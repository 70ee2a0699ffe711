"""Random XML documents: some are well-formed, and most are a small step away from it."""

import random

NAMES = ["a", "b", "e:a", "e:b", "f:c", "_x", "é", "a.b-c", "rdf:li"]
ODD_NAMES = ["", "1a", "-a", ":", "a:", ":a", "e:f:g", "xml", "xmlns", "xmlns:e", "u:n", "a\u00d7", "xml:a", "e:1"]
TEXTS = ["text", " ", "\n", "\r\n", "\r", "\t", "&amp;", "&lt;", "&#60;", "&#x41;", "&#13;", "]", "]]", ">", "]]&gt;", "'", '"',
         "ü", "\U0001f600", "<![CDATA[<&]]]>", "<!-- - -->", "<?p x?>", "<?p?>", "&i;", "&n;"]
ODD_TEXTS = ["&", "&;", "& ", "&u;", "&#;", "&#x;", "&#0;", "&#8;", "&#xD800;", "&#xFFFF;", "&#x110000;", "&#99999999999;", "]]>", "\0", "\x08",
             "\ufffe", "\uffff", "<", "<>", "< a>", "<!-- -- -->", "<!--->", "<!-- --->", "<![CDATA[", "<![cdata[]]>", "<?xml?>", "<?XML x?>", "<?p", "<? p?>",
             "<!a>", "<!DOCTYPE a>", "</a>", "</>", "&r;", "&o;", "&x;", "&m;", "<?a:b?>", "&e:n;", "]]]]>", "<?p  ?x?>", "<a></a >", "<a></ a>", "&l;"]
VALUES = ["", "v", "a  b", "\n\t", "&lt;&amp;&quot;&apos;", "&#10;", "&#x20;", "&i;", ">", "ü", "]]>"]
ODD_VALUES = ["<", "&", "&u;", "&m;", "&#0;", "&x;", "&r;", "\0", "\ufffe", "&l;"]
SUBSET = ['<!ENTITY i "inner">', "<!ENTITY n 'with &#38;i; and &i;'>", '<!ENTITY m "<e:b xmlns:e=\'http://e/\'>t</e:b>">', "<!-- c -->", "<?p?>",
          '<!ELEMENT a (#PCDATA)>', "<!ELEMENT a ANY>", "<!ELEMENT b EMPTY>", "<!ELEMENT c (a|b)*>", "<!ELEMENT d ((a,b?)+,(c|d)*)>",
          "<!ELEMENT e (#PCDATA|a|b)*>", '<!ATTLIST a d CDATA "x&i;">', '<!ATTLIST a t NMTOKENS "  1  2 ">', "<!ATTLIST b k (x|y) #IMPLIED z ID #REQUIRED>",
          "<!ATTLIST a xmlns:e CDATA #FIXED 'http://e/'>", '<!NOTATION n SYSTEM "s">', '<!NOTATION n PUBLIC "p">', '<!NOTATION n PUBLIC "p" \'s\'>',
          '<!ENTITY % p "<!ENTITY v \'w\'>">', "%p;", '<!ENTITY lt "&#38;#60;">', '<!ENTITY gt "&#62;">', "<!ATTLIST a n NOTATION (n|m) #IMPLIED>"]
ODD_SUBSET = ['<!ENTITY r "&r;">', '<!ENTITY o "<a>">', '<!ENTITY x SYSTEM "x">', '<!ENTITY x SYSTEM "x" NDATA n>', "<!ENTITY i>", "<!ENTITY i inner>",
              '<!ENTITY l "<">', '<!ENTITY l "&#60;">', '<!ENTITY i "&">', '<!ENTITY i "%p;">', "<!ELEMENT a>", "<!ELEMENT a (a|b,c)>", "<!ELEMENT a (#PCDATA|a)>",
              "<!ELEMENT a (#PCDATA)*>", "<!ELEMENT a ()>", "<!ELEMENT a (a>", "<!ATTLIST a b>", "<!ATTLIST a b CDATA>", "<!ATTLIST a b CDATA x>", '<!ATTLIST a b CDATA "<">',
              '<!ATTLIST a b WRONG "">', "<!ATTLIST a b (x y) #IMPLIED>", "%u;", "%", "<!entity i ''>", "<![INCLUDE[]]>", '<!NOTATION n "s">', "text", "<a/>",
              '<!ENTITY % q "<!ELEMENT">', "%q;", '<!ENTITY % q SYSTEM "q">', '<!ENTITY lt "<">', '<!ENTITY amp "&#38;">', "<!ATTLIST a b CDATA '&u;'>", "<!ELEMENT a (b,)>",
              "<!ELEMENT a (b)?>", "<!ELEMENT a ((b))>", '<!ENTITY a:b "c">', "<!ATTLIST a>", '<!ENTITY i "a"">', "<!ENTITY%r 'x'>", '<!ENTITY i"x">', "<!--x--y-->", "<!ELEMENT a(b)>",
              '<!NOTATION n PUBLIC "{">', "<!ATTLIST a b CDATA#IMPLIED>", '<!ATTLIST a b ID"x">']
DECLARATIONS = ["", "", '<?xml version="1.0"?>', "<?xml version='1.0' encoding='UTF-8'?>", '<?xml version="1.0" standalone="yes"?>', '<?xml version="1.0" encoding="utf-8" standalone="no" ?>']
ODD_DECLARATIONS = [" <?xml version='1.0'?>", "<?xml?>", '<?xml encoding="UTF-8"?>', '<?xml version="1.0" standalone="maybe"?>', '<?xml version="1.0" standalone="yes" encoding="UTF-8"?>',
                    '<?xml version="1.0"encoding="UTF-8"?>', '<?xml version="2.0"?>', '<?xml version=1.0?>', '<?xml version="1.0">', "<?XML version='1.0'?>", '<?xml version="1.0" encoding=""?>',
                    "\n", "x", "<!-- c --><?xml version='1.0'?>", '<?xml version="1.0" encoding="1"?>', "<?xml version='1.0' ?><?xml version='1.0' ?>", "<?xml  version = '1.0'?>"]


class Document:
    """One document. `odd` is how likely each part is to break a rule."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.odd = rng.choice([0.0, 0.0, 0.02, 0.1])

    def pick(self, usual: list, odd: list) -> str:
        return self.rng.choice(odd if self.rng.random() < self.odd else usual)

    def attributes(self) -> str:
        out = []
        for _ in range(self.rng.choice([0, 0, 1, 2, 3])):
            quote = self.rng.choice("'\"")
            value = "".join(self.pick(VALUES, ODD_VALUES) for _ in range(self.rng.randrange(3)))
            name = self.pick(NAMES, ODD_NAMES)
            equals = self.rng.choice(["=", "=", "=", " = ", "\n="])
            space = self.rng.choice([" ", " ", "\n", "\t"]) if self.rng.random() >= self.odd / 4 else ""
            out.append(f"{space}{name}{equals}{quote}{value.replace(quote, '')}{quote}")
        if self.rng.random() < 0.3:
            namespace = self.pick(["xmlns:e='http://e/'", "xmlns:f='http://e/'", "xmlns=''", "xmlns='http://d/'"],
                                  ["xmlns:e=''", "xmlns:xml='http://x/'", "xmlns:xmlns='http://x/'", "xmlns:xml='http://www.w3.org/XML/1998/namespace'",
                                   "xmlns:p='http://www.w3.org/XML/1998/namespace'", "xmlns='http://www.w3.org/2000/xmlns/'", "xmlns:='x'", "xmlns:e='http://e/' xmlns:e='http://e/'"])
            out.append(" " + namespace)
        return "".join(out)

    def element(self, depth: int) -> str:
        name = self.pick(NAMES, ODD_NAMES)
        start = f"<{name}{self.attributes()}{self.rng.choice(['', '', ' '])}"
        if self.rng.random() < 0.3:
            return start + "/>"
        inner = []
        for _ in range(self.rng.randrange(4)):
            inner.append(self.element(depth - 1) if depth and self.rng.random() < 0.5 else self.pick(TEXTS, ODD_TEXTS))
        end = name if self.rng.random() >= self.odd / 4 else self.pick(NAMES, ODD_NAMES)
        return f"{start}>{''.join(inner)}</{end}{self.rng.choice(['', '', ' '])}>"

    def doctype(self) -> str:
        head = self.pick(["<!DOCTYPE a", "<!DOCTYPE a ", '<!DOCTYPE a SYSTEM "s"', "<!DOCTYPE a PUBLIC 'p' 's'"],
                         ["<!DOCTYPE", "<!doctype a", "<!DOCTYPE a SYSTEM", "<!DOCTYPE a b", '<!DOCTYPE a PUBLIC "p"', "<!DOCTYPEa"])
        # Entities that others refer to come first.
        parts = SUBSET[:3] + [self.pick(SUBSET, ODD_SUBSET) for _ in range(self.rng.randrange(5))]
        subset = f" [{self.rng.choice(['', ' ']).join(parts)}]" if self.rng.random() < 0.9 else ""
        return f"{head}{subset}{self.pick(['>', ' >'], ['', ']>', ' x>'])}"

    def misc(self) -> str:
        usual, odd = ["\n", " ", "<!-- c -->", "<?p x?>"], ["x", "&amp;", "<![CDATA[]]>", "<!-- -- -->", "<a/>"]
        return "".join(self.pick(usual, odd) for _ in range(self.rng.choice([0, 0, 1, 2])))

    def text(self) -> str:
        """An RDF/XML document with one property, whose value is a random piece of XML."""
        prolog = self.pick(DECLARATIONS, ODD_DECLARATIONS) + self.misc()
        if self.rng.random() < 0.6:
            prolog += self.doctype() + self.misc()
        content = "".join(self.element(3) for _ in range(self.rng.randrange(1, 3)))
        epilog = self.misc()
        if self.rng.random() < 0.35:
            which = self.rng.randrange(6)
            if which == 0:
                prolog = mutated(self.rng, prolog)
            elif which == 1:
                epilog = mutated(self.rng, epilog)
            else:
                content = mutated(self.rng, content)
        text = f"{prolog}{BEGIN}{content}{END}{epilog}"
        return text[: self.rng.randrange(len(text))] if self.rng.random() < 0.05 else text


def mutated(rng: random.Random, text: str) -> str:
    """Cut off, or with some characters taken away, doubled, exchanged or added."""
    if not text:
        return text
    at = rng.randrange(len(text))
    kind = rng.randrange(6)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + text[at + 1:]
    if kind == 2:
        return text[:at] + text[at] + text[at:]
    if kind == 3:
        return text[:at] + rng.choice("<>&;\"'=/![]?-% \n\r\0:x#\ufffe") + text[at:]
    if kind == 4:
        end = rng.randrange(at, min(len(text), at + 20))
        return text[:at] + text[end:]
    end = rng.randrange(at, min(len(text), at + 20))
    return text[:end] + text[at:]


def encoded(rng: random.Random, text: str) -> bytes:
    """In one of the encodings that are supported, declared where that is needed."""
    data = text.encode("utf-8", "surrogatepass")
    kind = rng.randrange(12)
    if kind == 0:
        return b"\xef\xbb\xbf" + data
    if kind == 1 and "encoding" not in text:
        return text.encode("utf-16", "surrogatepass")
    if kind == 2 and "encoding" not in text:
        return b"\xfe\xff" + text.encode("utf-16-be", "surrogatepass")
    if kind == 3 and not text.startswith("<?xml"):
        return b'<?xml version="1.0" encoding="ISO-8859-1"?>' + text.encode("latin-1", "xmlcharrefreplace")
    if kind == 4 and not text.startswith("<?xml"):
        return b'<?xml version="1.0" encoding="US-ASCII"?>' + text.encode("ascii", "xmlcharrefreplace")
    begin, end = data.find(BEGIN.encode()) + len(BEGIN), data.find(END.encode())
    if kind == 5 and len(BEGIN) <= begin < end:
        at = rng.randrange(begin, end)
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]
    return data


def document(rng: random.Random) -> bytes:
    return encoded(rng, Document(rng).text())


BEGIN = ("<rdf:RDF xmlns:e='http://e/' xmlns:f='http://f/' xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
         "<rdf:Description rdf:about='http://e/s'><e:p rdf:parseType='Literal'>")
END = "</e:p></rdf:Description></rdf:RDF>"
