"""The RDF store."""

import tempfile
import threading
import time
import unittest
from pathlib import Path

import fulgurite
from fulgurite import rdf

PEOPLE = b"""
@prefix : <http://example.org/> .
:ann :knows :bob, [ :age 7 ] ; :name "Ann"@en .
:bob :age 39 ; :height 1.83 ; :score 1e3 ; :is true ; :name "Bob" .
"""
PREFIX = "PREFIX : <http://example.org/> "


_TASKS = Path("/proc/self/task")


def _threads() -> int:
    """The number of threads of the process, also of those that Python does not know."""
    return len(list(_TASKS.iterdir()))


class RdfTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = Path(self.directory.name) / "rdf.ful"
        self.store = rdf.open(self.path)
        self.addCleanup(self.store.close)
        self.assertEqual(self.store.load_bytes(PEOPLE, "ttl"), 9)

    def test_select_returns_terms(self) -> None:
        solutions = self.store.select(PREFIX + "SELECT ?p ?o { :bob ?p ?o } ORDER BY ?p")
        self.assertEqual(solutions.variables, ["p", "o"])
        values = {row["p"].removeprefix("http://example.org/"): row["o"].to_python() for row in solutions}
        self.assertEqual({name: str(value) for name, value in values.items()},
                         {"age": "39", "height": "1.83", "score": "1000.0", "is": "True", "name": "Bob"})
        self.assertEqual(list(solutions), [])
        [row] = self.store.select(PREFIX + "SELECT ?n ?x { :ann :name ?n OPTIONAL { :ann :no ?x } }")
        self.assertEqual(row, {"n": rdf.Literal("Ann", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "en")})
        [row] = self.store.select(PREFIX + "SELECT ?k { :ann :knows ?k FILTER(isIRI(?k)) }")
        self.assertEqual(row["k"], rdf.IRI("http://example.org/bob"))

    def test_ask_construct_and_update(self) -> None:
        self.assertTrue(self.store.ask(PREFIX + "ASK { :bob :age 39 }"))
        self.store.update(PREFIX + "DELETE { ?x :age 39 } INSERT { ?x :age 40 } WHERE { ?x :age 39 }")
        self.assertFalse(self.store.ask(PREFIX + "ASK { :bob :age 39 }"))
        [triple] = self.store.construct(PREFIX + "CONSTRUCT { ?x :old ?a } { ?x :age ?a FILTER(?a > 30) }")
        self.assertEqual((triple.subject, triple.object.to_python()), ("http://example.org/bob", 40))
        self.assertEqual(len(self.store), 9)
        with self.assertRaises(ValueError):
            self.store.select("ASK {}")
        with self.assertRaises(ValueError):
            self.store.ask("SELECT * {}")

    def test_files_and_graphs(self) -> None:
        file = Path(self.directory.name) / "more.nt"
        file.write_text("<http://a/s> <http://a/p> <http://a/o> .\n")
        self.assertEqual(self.store.load(file, graph="http://a/g"), 1)
        [row] = self.store.select("SELECT ?g { GRAPH ?g { ?s ?p ?o } }")
        self.assertEqual(row["g"], "http://a/g")
        with self.assertRaises(fulgurite.Error) as missing:
            self.store.load(file.with_name("none.nt"))
        self.assertEqual(missing.exception.kind, "IO")

    def test_errors(self) -> None:
        with self.assertRaises(fulgurite.errors.SyntaxInputError):
            self.store.select("SELECT nonsense")
        with self.assertRaises(fulgurite.errors.SyntaxInputError):
            list(self.store.select("SELECT (<http://a/none>(1) AS ?x) {}"))
        self.store.update("CREATE GRAPH <http://a/g>")
        for refused in ("CREATE GRAPH <http://a/g>", "LOAD <http://a/document>"):
            with self.assertRaises(fulgurite.InvalidError):
                self.store.update(refused)
        with self.assertRaisesRegex(fulgurite.errors.SyntaxInputError, "line 1|1:"):
            self.store.load_bytes(b"<a> nonsense", "ttl")
        with self.assertRaises(fulgurite.InvalidError):
            self.store.load_bytes(b"", "pdf")
        many = " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(12))
        with self.assertRaises(fulgurite.StoppedError):
            list(self.store.select(f"SELECT (COUNT(*) AS ?n) {{ {many} }}", timeout=0.2))

    def test_use_after_close(self) -> None:
        solutions = self.store.select("SELECT * { ?s ?p ?o }")
        self.store.close()
        self.store.close()
        self.assertEqual(len(list(solutions)), 9)
        for use in (lambda: self.store.ask("ASK {}"), lambda: len(self.store), lambda: self.store.update("CLEAR ALL")):
            with self.assertRaises(fulgurite.ClosedError):
                use()

    def test_results_that_are_not_read_stop_their_query(self) -> None:
        if not _TASKS.exists():
            self.skipTest("the threads of a process are not in /proc")
        before = _threads()
        for _ in range(50):
            next(iter(self.store.select("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }")))
        deadline = time.monotonic() + 60
        while _threads() > before and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertLessEqual(_threads(), before)

    def test_threads_read_one_result(self) -> None:
        solutions = self.store.select("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }")
        counts: list[int] = []
        threads = [threading.Thread(target=lambda: counts.append(sum(1 for _ in solutions))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(counts), 9**3)


if __name__ == "__main__":
    unittest.main()
