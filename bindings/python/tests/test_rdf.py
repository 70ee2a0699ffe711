"""The RDF store."""

import os
import signal
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from pathlib import Path

import fulgurite
from fulgurite import rdf

PEOPLE = b"""
@prefix : <http://example.org/> .
:ann :knows :bob, [ :age 7 ] ; :name "Ann"@en .
:bob :age 39 ; :height 1.83 ; :score 1e3 ; :is true ; :name "Bob" .
"""
PREFIX = "PREFIX : <http://example.org/> "
# A pattern without solutions, which takes very long.
LONG = " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(12)) + "FILTER(CONCAT(STR(?a0), STR(?a6), STR(?a11)) = '')"


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
        for term in (triple, triple.subject, rdf.BlankNode("b")):
            self.assertIs(term.to_python(), term)
        self.assertEqual(len(self.store), 9)
        for method, text in (
            (self.store.select, "ASK {}"),
            (self.store.select, "CONSTRUCT WHERE { ?a ?b ?c }"),
            (self.store.ask, "SELECT * {}"),
            (self.store.construct, "SELECT * {}"),
        ):
            with self.assertRaisesRegex(ValueError, "the form of the query is .*; use Store"):
                method(text)
        with self.assertRaisesRegex(fulgurite.errors.SyntaxInputError, "use Store.select"):
            self.store.update("SELECT * {}")
        with self.assertRaisesRegex(fulgurite.errors.SyntaxInputError, "use Store.update"):
            self.store.select("INSERT DATA { <http://a/s> <http://a/p> 1 }")

    def test_a_literal_whose_text_is_not_of_its_datatype_is_a_text(self) -> None:
        xsd = "http://www.w3.org/2001/XMLSchema#"
        for text, kind in (
            ("abc", "integer"), ("1_000", "integer"), ("9" * 6000, "integer"), ("NaN", "decimal"), ("1e1", "decimal"),
            ("infinity", "double"), ("TRUE", "boolean"),
        ):
            self.assertEqual(rdf.Literal(text, xsd + kind).to_python(), text)
        for text, kind, value in (("+.5", "decimal", 0.5), ("-INF", "float", float("-inf")), ("1.E1", "double", 10)):
            self.assertEqual(rdf.Literal(text, xsd + kind).to_python(), value)
        self.assertIs(rdf.Literal("0", xsd + "boolean").to_python(), False)

    def test_an_empty_store_is_true(self) -> None:
        self.store.update("CLEAR ALL")
        self.assertEqual((bool(self.store), len(self.store)), (True, 0))

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
        solutions, begun = self.store.select("SELECT * { ?s ?p ?o }"), iter(self.store.select("SELECT * { ?s ?p ?o }"))
        # All rows of this query have arrived, and its thread ends.
        next(begun)
        self.assertTrue(self.store.ask("ASK {}"))
        self.store.close()
        self.store.close()
        for use in (
            lambda: list(solutions),
            lambda: next(begun),
            lambda: self.store.ask("ASK {}"),
            lambda: len(self.store),
            lambda: self.store.update("CLEAR ALL"),
        ):
            with self.assertRaises(fulgurite.ClosedError):
                use()

    def test_a_query_ends_with_its_result_or_the_store(self) -> None:
        text = f"SELECT * {{ {LONG} }}"
        with self.store.select(text) as rows:
            pass
        with self.assertRaises(fulgurite.ClosedError):
            next(iter(rows))
        with self.store.construct(f"CONSTRUCT {{ ?a0 ?b0 ?c0 }} WHERE {{ {LONG} }}") as triples:
            pass
        with self.assertRaises(fulgurite.ClosedError):
            next(triples)
        dropped, rows = self.store.select(text), self.store.select(text)
        del dropped
        self.store.close()
        with self.assertRaises(fulgurite.ClosedError):
            next(iter(rows))
        # Nothing of the queries keeps the database open.
        with rdf.open(self.path) as store:
            self.assertEqual(len(store), 9)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "needs signals and pipes with names")
    def test_an_interrupt_cancels_queries_updates_and_loads(self) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        # With this interval, a thread runs only when another one waits: this one does so in a call of the store.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1000)
        main, begun = threading.get_ident(), threading.Semaphore(0)

        def send() -> None:
            begun.acquire()
            signal.pthread_kill(main, signal.SIGALRM)

        pipe = self.path.with_name("pipe.nt")
        os.mkfifo(pipe)

        def write() -> None:
            end = os.open(pipe, os.O_WRONLY)
            try:
                # The load reads all of it only if nothing cancels it.
                for n in range(1000):
                    os.write(end, b"".join(b"<http://a/%d> <http://a/%d> <a:a> .\n" % (n, m) for m in range(1000)))
            except BrokenPipeError:
                pass
            finally:
                os.close(end)

        solutions = self.store.select(f"SELECT * {{ {LONG} }}")
        uses: list[Callable[[], object]] = [
            lambda: self.store.ask(f"ASK {{ {LONG} }}"),
            lambda: next(iter(solutions)),
            lambda: self.store.update(f"INSERT {{ ?a0 ?b0 ?c0, 1 }} WHERE {{ {LONG} }}"),
            lambda: self.store.load(pipe),
            # Waits for the query of the solutions.
            self.store.close,
        ]
        threading.Thread(target=write, daemon=True).start()
        for use in uses:
            sender = threading.Thread(target=send)
            sender.start()
            with self.assertRaises(KeyboardInterrupt):
                begun.release()
                use()
            sender.join()
        self.store.close()
        with rdf.open(self.path) as store:
            self.assertEqual(len(store), 9)

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
