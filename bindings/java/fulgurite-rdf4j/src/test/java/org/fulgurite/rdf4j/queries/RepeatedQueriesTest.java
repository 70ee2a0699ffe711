package org.fulgurite.rdf4j.queries;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.XSD;
import org.eclipse.rdf4j.query.MalformedQueryException;
import org.eclipse.rdf4j.query.Query.QueryType;
import org.eclipse.rdf4j.query.QueryLanguage;
import org.eclipse.rdf4j.query.TupleQuery;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.query.algebra.SingletonSet;
import org.eclipse.rdf4j.query.algebra.TupleExpr;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.fulgurite.rdf4j.FulguriteStore;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Queries with a text that was evaluated before. */
class RepeatedQueriesTest {
    private static final String BASE = "http://example.org/";
    private static final String OBJECTS = "SELECT ?o { <s> ?p ?o }";

    /** Each parse gives its anonymous variables other names. So two queries that are equal are from one parse. */
    private static final String ANONYMOUS = "SELECT ?o { [] <p>/<q> ?o }";

    private static final int QUERIES_MAX = 256;
    private static final int LENGTH_MAX = 16 * 1024;

    private final SailRepository repository =
            new SailRepository(new FulguriteStore(new FulguriteStoreConfig().setQueryEngine(QueryEngine.STORE)));
    private SailRepositoryConnection connection;

    @BeforeEach
    void open() {
        connection = repository.getConnection();
    }

    @AfterEach
    void close() {
        connection.close();
        repository.shutDown();
    }

    private static IRI iri(String name) {
        return Values.iri(BASE, name);
    }

    private static Set<Value> objects(TupleQuery query) {
        try (TupleQueryResult rows = query.evaluate()) {
            return rows.stream().map(row -> row.getValue("o")).collect(Collectors.toSet());
        }
    }

    private TupleQuery prepare(String base) {
        return connection.prepareTupleQuery(QueryLanguage.SPARQL, OBJECTS, base);
    }

    @Test
    void dataBasesAndBindingsAreThoseOfEachQuery() {
        connection.add(iri("s"), iri("p"), iri("a"));
        connection.add(Values.iri("http://example.com/s"), iri("p"), iri("other"));
        assertEquals(Set.of(iri("a")), objects(prepare(BASE)));
        assertEquals(Set.of(iri("other")), objects(prepare("http://example.com/")));
        connection.add(iri("s"), iri("q"), iri("b"));
        assertEquals(Set.of(iri("a"), iri("b")), objects(prepare(BASE)));
        TupleQuery bound = prepare(BASE);
        bound.setBinding("p", iri("q"));
        assertEquals(Set.of(iri("b")), objects(bound));
        assertEquals(Set.of(iri("a"), iri("b")), objects(prepare(BASE)));
    }

    @Test
    void aQueryThatAProgramChangesIsNotTheNextOne() {
        ParsedQueries queries = new ParsedQueries();
        StoreQuery first = parse(queries, QueryType.TUPLE, OBJECTS).orElseThrow();
        TupleExpr expected = first.clone();
        first.setArg(new SingletonSet());
        StoreQuery second = parse(queries, QueryType.TUPLE, OBJECTS).orElseThrow();
        assertEquals(expected, second);
        assertNotSame(second, parse(queries, QueryType.TUPLE, OBJECTS).orElseThrow());
    }

    private static StoreQuery anonymous(ParsedQueries queries, int length) {
        String text = ANONYMOUS + " ".repeat(length - ANONYMOUS.length());
        return parse(queries, QueryType.TUPLE, text).orElseThrow();
    }

    @Test
    void aTextIsParsedOnceUnlessItIsLong() {
        ParsedQueries queries = new ParsedQueries();
        StoreQuery first = anonymous(queries, LENGTH_MAX);
        assertNotEquals(first, anonymous(new ParsedQueries(), LENGTH_MAX));
        assertEquals(first, anonymous(queries, LENGTH_MAX));
        assertNotEquals(anonymous(queries, LENGTH_MAX + 1), anonymous(queries, LENGTH_MAX + 1));
    }

    @Test
    void theTextsThatWereUsedLastAreKept() {
        ParsedQueries queries = new ParsedQueries();
        StoreQuery first = anonymous(queries, LENGTH_MAX);
        parseOthers(queries, 0, QUERIES_MAX - 1);
        assertEquals(first, anonymous(queries, LENGTH_MAX));
        parseOthers(queries, QUERIES_MAX, QUERIES_MAX);
        assertNotEquals(first, anonymous(queries, LENGTH_MAX));
    }

    private static void parseOthers(ParsedQueries queries, int first, int count) {
        for (int number = first; number < first + count; number++) {
            parse(queries, QueryType.TUPLE, "SELECT ?o { VALUES ?o { " + number + " } }").orElseThrow();
        }
    }

    @Test
    void otherTypesAndWrongQueriesStayWhatTheyAre() {
        ParsedQueries queries = new ParsedQueries();
        for (int round = 0; round < 2; round++) {
            assertTrue(parse(queries, QueryType.TUPLE, OBJECTS).isPresent());
            assertTrue(parse(queries, QueryType.BOOLEAN, OBJECTS).isEmpty());
            assertTrue(parse(queries, QueryType.TUPLE, "SELECT * FROM <g> { ?s ?p ?o }").isEmpty());
            assertThrows(MalformedQueryException.class, () -> parse(queries, QueryType.TUPLE, "SELECT ?o {"));
        }
    }

    @Test
    void moreTextsThanAreKept() {
        for (int round = 0; round < 2; round++) {
            for (int number = 0; number < 600; number++) {
                TupleQuery query = connection.prepareTupleQuery("SELECT ?o { VALUES ?o { " + number + " } }");
                Value expected = Values.literal(Integer.toString(number), XSD.INTEGER);
                assertEquals(Set.of(expected), objects(query));
            }
        }
    }

    private static Optional<StoreQuery> parse(ParsedQueries queries, QueryType type, String text) {
        return queries.parse(QueryLanguage.SPARQL, type, text, BASE);
    }
}
