package org.fulgurite.rdf4j.queries;

import static org.fulgurite.rdf4j.queries.GraphQueries.EX;
import static org.fulgurite.rdf4j.queries.GraphQueries.iri;
import static org.fulgurite.rdf4j.queries.GraphQueries.solutions;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.model.vocabulary.SESAME;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.TupleQuery;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.QueryEvaluationContext;
import org.eclipse.rdf4j.query.explanation.Explanation;
import org.eclipse.rdf4j.query.impl.EmptyBindingSet;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.fulgurite.rdf4j.FulguriteStore;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.values.IdScope;
import org.fulgurite.rdf4j.values.StoredValue;
import org.fulgurite.rdf4j.values.TermReader;
import org.fulgurite.rdf4j.values.TermSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Queries with joins, compared with those of a MemoryStore. */
class JoinsTest {
    private static final int GRAPHS = 16;

    private static final List<String> QUERIES = Stream.of(
                    "{ ?a :p ?b . ?b :p ?c }",
                    "{ ?a :p ?b . ?b :q ?c . ?c :p ?a }",
                    "{ ?a :p ?a . ?a :q ?b }",
                    "{ ?a ?p ?b . ?b ?p ?c }",
                    "{ ?a ?p ?p . ?a :p ?b }",
                    "{ :n0 :p ?b . :n0 :p ?c }",
                    "{ :n0 :p :n1 . ?a :p ?b }",
                    "{ ?a :p 1 . ?a :q ?b }",
                    "{ ?a :p \"text\"@EN . ?a ?p ?b }",
                    "{ ?a :p \"text\"@de . ?b :p \"text\"@de }",
                    "{ ?a :p ?l . ?b :q ?l . FILTER(isLiteral(?l)) }",
                    "{ ?a :p ?b . ?l :p ?c . ?a :q ?l }",
                    "{ ?a :none ?b . ?b :p ?c }",
                    "{ ?a :p _:x . _:x :p ?b }",
                    "{ ?a :p [ :q ?b ] }",
                    "{ GRAPH ?g { ?a :p ?b . ?b :p ?c } }",
                    "{ GRAPH ?g { ?a :p ?b } GRAPH ?h { ?b :p ?c } }",
                    "{ GRAPH :g0 { ?a :p ?b . ?b ?p ?c } }",
                    "{ GRAPH ?g { ?a :p ?b } ?b :p ?c . ?c ?q ?d }",
                    "{ GRAPH ?g { ?a :p ?g . ?a ?p ?b } }",
                    "{ ?a :p ?b . ?b :p ?c FILTER(?c != :n0) }",
                    "{ ?a :p ?b FILTER(?b != :n0) ?b :p ?c . ?c ?p ?d }",
                    "{ ?a :p ?b . ?b :p ?c OPTIONAL { ?c :q ?d . ?d ?e ?f } }",
                    "{ ?a :p ?b . ?b :p ?c MINUS { ?a :q ?d . ?d :p ?c } }",
                    "{ ?a :p ?b . ?b :q ?c FILTER EXISTS { ?c :p ?d . ?d ?e ?a } }",
                    "{ { ?a :p ?b . ?b :q ?c } UNION { ?a :q ?b . ?b :p ?c } }",
                    "{ VALUES ?a { :n0 :n1 :none } ?a :p ?b . ?b ?p ?c }",
                    "{ VALUES (?a ?b) { (UNDEF :n1) (:n0 UNDEF) } ?a :p ?b . ?b ?p ?c }",
                    "{ BIND(:n0 AS ?a) ?a :p ?b . ?b ?p ?c }",
                    "{ BIND(1 AS ?a) ?a :p ?b . ?b ?p ?c }",
                    "{ ?a :p ?b . ?b ?p ?c BIND(?x AS ?y) }",
                    "{ BIND(?none + 1 AS ?a) ?b :p ?a . ?a ?p ?c }",
                    "{ { SELECT ?a (COUNT(*) AS ?n) { ?a :p ?b . ?b ?p ?c } GROUP BY ?a } ?a :q ?d . ?d ?r ?e }",
                    "{ ?a :p ?b { ?b :q ?c . ?c ?p ?d } }",
                    "{ :n0 :p :n1 . :n1 :p :n2 }",
                    "{ ?y :p ?a . ?y :q ?b . ?y ?p ?c FILTER(?a != ?b) }",
                    "{ ?a :p ?y . ?b :p ?y . ?c :q ?y FILTER(?a != ?b) }",
                    "{ ?y :p ?a . ?y :q ?b OPTIONAL { ?a :p ?o } ?y ?p ?c }",
                    "{ VALUES ?g { rdf4j:nil sesame:nil :g0 } GRAPH ?g { ?a :p ?b . ?b :p ?c } }",
                    "{ GRAPH rdf4j:nil { ?a :p ?b . ?b :q ?c } }",
                    "{ GRAPH :none { ?a :p ?b . ?b :q ?c } }",
                    "{ ?a :p/:q ?b . ?b :p+ ?c }")
            .map(pattern -> "PREFIX : <" + EX + "> PREFIX rdf4j: <" + RDF4J.NAMESPACE + "> PREFIX sesame: <"
                    + SESAME.NAMESPACE + "> SELECT * " + pattern)
            .collect(Collectors.toList());

    private final SailRepository own = new SailRepository(new FulguriteStore());

    @AfterEach
    void close() {
        own.shutDown();
    }

    @Test
    void joinsHaveTheSolutionsOfAMemoryStore() {
        GraphQueries.compare(own, QUERIES, GRAPHS, true);
    }

    @Test
    void joinsHaveTheSameSolutionsWithAllIndexesAndWithOne(@TempDir Path directory) {
        for (String indexes : List.of("spoc,sopc,psoc,posc,ospc,opsc", "spoc")) {
            Path place = directory.resolve(indexes);
            SailRepository other =
                    new SailRepository(new FulguriteStore(place.toFile(), new FulguriteStoreConfig(indexes)));
            try {
                GraphQueries.compare(other, QUERIES, 16, true);
            } finally {
                other.shutDown();
            }
        }
    }

    @Test
    void aJoinOfATransactionSeesItsChanges() {
        GraphQueries.assertSeesTransaction(own, "{ ?a :p ?b . ?b :p ?c }", 0, 1);
    }

    @Test
    void valuesThatAQueryIsGivenAreInItsSolutions() {
        try (SailRepositoryConnection connection = own.getConnection()) {
            connection.add(iri("n0"), iri("p"), iri("n1"));
            connection.add(iri("n1"), iri("p"), Values.literal("text", "en"));
            String text = "SELECT * { ?a <" + EX + "p> ?b . ?b <" + EX + "p> ?c }";
            TupleQuery query = connection.prepareTupleQuery(text);
            query.setBinding("b", iri("n1"));
            assertEquals(List.of(iri("n0"), iri("n1")), values(query, "a", "b"));
            query.setBinding("c", Values.literal("text", "EN"));
            assertEquals(List.of(iri("n0")), values(query, "a"));
            Literal stored = (Literal) values(query, "c").get(0);
            assertEquals("en", stored.getLanguage().orElse(null));
            query.setBinding("a", Values.literal(1));
            assertTrue(solutions(query).isEmpty());
        }
    }

    private static List<Value> values(TupleQuery query, String... names) {
        BindingSet only = solutions(query).keySet().iterator().next();
        return Stream.of(names).map(only::getValue).collect(Collectors.toList());
    }

    /** {@code size} nodes, each with edges to all of them. */
    private void addEdges(int size) {
        try (SailRepositoryConnection connection = own.getConnection()) {
            connection.begin();
            for (int from = 0; from < size; from++) {
                for (int to = 0; to < size; to++) {
                    connection.add(iri("n" + from), iri("p"), iri("n" + to));
                }
            }
            connection.commit();
        }
    }

    @Test
    void manyRowsAreReadInBatches() {
        addEdges(40);
        try (SailRepositoryConnection connection = own.getConnection()) {
            String query = "SELECT ?a ?c { ?a <" + EX + "p> ?b . ?b <" + EX + "p> ?c }";
            assertEquals(1600, solutions(connection, query).size());
            assertTrue(solutions(connection, query).values().stream().allMatch(count -> count == 40));
        }
    }

    @Test
    void aLongJoinTimesOut() {
        addEdges(120);
        // The last pattern has the most statements, and matches none.
        String steps = "?a :p ?b . ?b :p ?c . ?c :p ?d . ?d :p ?e . ?e ?p ?p";
        try (SailRepositoryConnection connection = own.getConnection()) {
            TupleQuery query = connection.prepareTupleQuery("PREFIX : <" + EX + "> SELECT * { " + steps + " }");
            query.setMaxExecutionTime(1);
            assertThrows(QueryInterruptedException.class, () -> {
                try (TupleQueryResult result = query.evaluate()) {
                    result.forEach(row -> {});
                }
            });
        }
    }

    /** A join that finds nothing for a while, and then the row 1, 2. */
    private static final class SlowJoin implements JoinSource, TermSource {
        private int calls;
        private boolean isClosed;

        @Override
        public boolean joins() {
            return true;
        }

        @Override
        public long id(Value value) {
            return IdRows.UNKNOWN;
        }

        @Override
        public TermSource terms() {
            return this;
        }

        @Override
        public TermReader terms(long[] ids, int count) {
            throw new AssertionError("no term is needed");
        }

        @Override
        public IdScope scope() {
            return IdScope.ofStore();
        }

        @Override
        public long join(long[] patterns, long[] rows) {
            return 7;
        }

        @Override
        public boolean next(long join, long[] rows) {
            calls++;
            rows[0] = 1L << 56 | 1;
            rows[1] = 1L << 56 | 2;
            rows[rows.length - 1] = calls / 3;
            return calls < 3;
        }

        @Override
        public void close(long join) {
            isClosed = true;
        }
    }

    private static JoinIteration slow(SlowJoin source) {
        QueryEvaluationContext context = new QueryEvaluationContext.Minimal(null);
        return new JoinIteration(
                source,
                new long[4],
                List.of(context.addBinding("a"), context.addBinding("b")),
                context,
                EmptyBindingSet.getInstance());
    }

    @Test
    void aJoinThatFindsNothingForAWhileGoesOn() {
        SlowJoin source = new SlowJoin();
        try (JoinIteration rows = slow(source)) {
            BindingSet row = rows.next();
            assertEquals(1L << 56 | 2, ((StoredValue) row.getValue("b")).id());
            assertFalse(rows.hasNext());
        }
        assertEquals(3, source.calls);
        assertTrue(source.isClosed);
    }

    @Test
    void aJoinThatFindsNothingForAWhileIsInterrupted() {
        SlowJoin source = new SlowJoin();
        try (JoinIteration rows = slow(source)) {
            Thread.currentThread().interrupt();
            assertThrows(QueryInterruptedException.class, rows::hasNext);
            assertTrue(Thread.interrupted());
        }
        assertTrue(source.isClosed);
    }

    @Test
    void anExplanationHasTheSizesOfTheParts() {
        addEdges(5);
        try (SailRepositoryConnection connection = own.getConnection()) {
            String query = "SELECT ?a ?c { ?a <" + EX + "p> ?b . ?b <" + EX + "p> ?c }";
            TupleQuery explained = connection.prepareTupleQuery(query);
            String executed = explained.explain(Explanation.Level.Executed).toString();
            assertTrue(executed.contains("resultSizeActual=125") && executed.contains("resultSizeActual=25"), executed);
            assertFalse(explained.explain(Explanation.Level.Optimized).toString().contains("resultSizeActual"));
        }
    }
}
