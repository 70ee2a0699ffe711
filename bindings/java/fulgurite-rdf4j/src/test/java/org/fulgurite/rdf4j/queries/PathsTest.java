package org.fulgurite.rdf4j.queries;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.memory.MemoryStore;
import org.fulgurite.rdf4j.FulguriteStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Queries with paths, compared with those of a MemoryStore. */
class PathsTest {
    private static final String EX = "http://example.org/";
    private static final int GRAPHS = 30;
    private static final int NODES = 9;

    private static final List<String> QUERIES = Stream.of(
                    "{ :n0 :p+ ?x }",
                    "{ :n0 :p* ?x }",
                    "{ ?x :p+ :n1 }",
                    "{ ?x :p* :n1 }",
                    "{ :n0 :p+ :n2 }",
                    "{ :n3 :p* :n3 }",
                    "{ :n0 ^:p+ ?x }",
                    "{ ?x :p+ ?y }",
                    "{ ?x :p+ ?x }",
                    "{ ?a :q ?b . ?b :p+ ?c }",
                    "{ ?a :q ?b . ?b :p* ?a }",
                    "{ ?a :q ?b . ?a :p* ?b }",
                    "{ VALUES ?a { :n0 :n1 :none } ?a :p* ?b }",
                    "{ :n0 :p+ ?x . ?x :p+ :n1 }",
                    "{ :n0 :p+ ?x FILTER NOT EXISTS { ?x :p+ :n0 } }",
                    "{ :n0 :p+ ?x OPTIONAL { ?x :none* ?y } }",
                    "{ ?a :q ?x MINUS { :n0 :p+ ?x } }",
                    "{ :n0 :none+ ?x }",
                    "{ :none :p+ ?x }",
                    "{ GRAPH ?g { :n0 :p+ ?x } }",
                    "{ :n0 (:p|:q)+ ?x }")
            .map(pattern -> "PREFIX : <" + EX + "> SELECT * " + pattern)
            .collect(Collectors.toList());

    private final SailRepository own = new SailRepository(new FulguriteStore());

    @AfterEach
    void close() {
        own.shutDown();
    }

    private static IRI iri(String name) {
        return Values.iri(EX, name);
    }

    /** Some nodes are blank. */
    private static Resource node(int number) {
        return number % 4 == 3 ? Values.bnode("n" + number) : iri("n" + number);
    }

    private static Value object(Random random) {
        switch (random.nextInt(8)) {
            case 0:
                return Values.literal(random.nextInt(3));
            case 1:
                return Values.literal("text", random.nextBoolean() ? "de" : "en");
            default:
                return node(random.nextInt(NODES));
        }
    }

    private static void fill(SailRepositoryConnection target, long seed) {
        Random random = new Random(seed);
        int statements = 4 + random.nextInt(24);
        boolean hasNamedGraphs = random.nextBoolean();
        target.begin();
        target.clear();
        for (int index = 0; index < statements; index++) {
            Resource subject = node(random.nextInt(NODES));
            IRI predicate = iri(random.nextInt(3) == 0 ? "q" : "p");
            Value object = object(random);
            if (hasNamedGraphs && random.nextInt(3) == 0) {
                target.add(subject, predicate, object, iri("g" + random.nextInt(2)));
            } else {
                target.add(subject, predicate, object);
            }
        }
        target.commit();
    }

    private static Map<BindingSet, Integer> solutions(SailRepositoryConnection from, String query) {
        Map<BindingSet, Integer> counts = new HashMap<>();
        try (TupleQueryResult result = from.prepareTupleQuery(query).evaluate()) {
            result.forEach(row -> counts.merge(row, 1, Integer::sum));
        }
        return counts;
    }

    @Test
    void pathsHaveTheSolutionsOfAMemoryStore() {
        SailRepository memory = new SailRepository(new MemoryStore());
        try (SailRepositoryConnection first = own.getConnection();
                SailRepositoryConnection second = memory.getConnection()) {
            for (long seed = 0; seed < GRAPHS; seed++) {
                fill(first, seed);
                fill(second, seed);
                for (String query : QUERIES) {
                    assertEquals(solutions(second, query), solutions(first, query), query + ", seed " + seed);
                }
            }
        } finally {
            memory.shutDown();
        }
    }

    @Test
    void aPathOfATransactionSeesItsChanges() {
        try (SailRepositoryConnection connection = own.getConnection()) {
            connection.add(iri("n0"), iri("p"), iri("n1"));
            String query = "SELECT ?x { <" + EX + "n0> <" + EX + "p>+ ?x }";
            connection.begin();
            connection.add(iri("n1"), iri("p"), iri("n2"));
            assertEquals(2, solutions(connection, query).size());
            connection.rollback();
            assertEquals(1, solutions(connection, query).size());
        }
    }

    @Test
    void longPathsAndNodesWithManyNeighboursAreRead() {
        int nodes = 3000;
        try (SailRepositoryConnection connection = own.getConnection()) {
            connection.begin();
            for (int number = 1; number < nodes; number++) {
                connection.add(iri("n" + (number - 1)), iri("next"), iri("n" + number));
                connection.add(iri("n0"), iri("all"), iri("n" + number));
            }
            connection.add(iri("n" + (nodes - 1)), iri("next"), iri("n0"));
            connection.commit();
            String prefix = "PREFIX : <" + EX + "> SELECT ?x ";
            assertEquals(nodes, solutions(connection, prefix + "{ :n0 :next+ ?x }").size());
            assertEquals(nodes, solutions(connection, prefix + "{ ?x :next* :n0 }").size());
            assertEquals(nodes - 1, solutions(connection, prefix + "{ :n0 :all+ ?x }").size());
            assertEquals(1, solutions(connection, prefix + "{ ?x :all+ :n7 }").size());
        }
    }
}
