package org.fulgurite.rdf4j.queries;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.TupleQuery;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.memory.MemoryStore;

/** Random graphs of the predicates {@code :p} and {@code :q}, and comparisons with RDF4J's MemoryStore. */
final class GraphQueries {
    static final String EX = "http://example.org/";
    private static final int NODES = 9;

    private GraphQueries() {}

    static IRI iri(String name) {
        return Values.iri(EX, name);
    }

    /** Some nodes are blank. */
    private static Resource node(int number) {
        return number % 4 == 3 ? Values.bnode("n" + number) : iri("n" + number);
    }

    private static Value object(Random random, int nodes) {
        switch (random.nextInt(8)) {
            case 0:
                return Values.literal(random.nextInt(3));
            case 1:
                return Values.literal("text", random.nextBoolean() ? "de" : "en");
            default:
                return node(random.nextInt(nodes));
        }
    }

    /** Replaces all statements by those of a random graph. */
    private static void fill(SailRepositoryConnection target, long seed, boolean isLarge) {
        Random random = new Random(seed);
        int statements = isLarge ? 300 : 4 + random.nextInt(24);
        int nodes = isLarge ? 20 : NODES;
        boolean hasNamedGraphs = random.nextBoolean();
        target.begin();
        target.clear();
        for (int index = 0; index < statements; index++) {
            Resource subject = node(random.nextInt(nodes));
            IRI predicate = iri(random.nextInt(3) == 0 ? "q" : "p");
            Value object = object(random, nodes);
            if (hasNamedGraphs && random.nextInt(3) == 0) {
                target.add(subject, predicate, object, iri("g" + random.nextInt(2)));
            } else {
                target.add(subject, predicate, object);
            }
        }
        target.commit();
    }

    /** Returns the solutions of a query and how often each one is there. */
    static Map<BindingSet, Integer> solutions(SailRepositoryConnection from, String query) {
        return solutions(from.prepareTupleQuery(query));
    }

    static Map<BindingSet, Integer> solutions(TupleQuery query) {
        Map<BindingSet, Integer> counts = new HashMap<>();
        try (TupleQueryResult result = query.evaluate()) {
            result.forEach(row -> counts.merge(row, 1, Integer::sum));
        }
        return counts;
    }

    /**
     * Asserts how many solutions a query has where only {@code :n0 :p :n1} is committed, and how many it has in a
     * transaction that adds {@code :n1 :p :n2}.
     */
    static void assertSeesTransaction(SailRepository own, String query, int committed, int inTransaction) {
        String text = "PREFIX : <" + EX + "> SELECT * " + query;
        try (SailRepositoryConnection connection = own.getConnection()) {
            connection.add(iri("n0"), iri("p"), iri("n1"));
            connection.begin();
            connection.add(iri("n1"), iri("p"), iri("n2"));
            assertEquals(inTransaction, solutions(connection, text).size());
            connection.rollback();
            assertEquals(committed, solutions(connection, text).size());
        }
    }

    /**
     * Asserts that a repository and a MemoryStore have the same solutions over random graphs. With {@code hasLarge}, one
     * graph in 16 has patterns with more statements than the store reads at once.
     */
    static void compare(SailRepository own, List<String> queries, int graphs, boolean hasLarge) {
        SailRepository memory = new SailRepository(new MemoryStore());
        try (SailRepositoryConnection first = own.getConnection();
                SailRepositoryConnection second = memory.getConnection()) {
            for (long seed = 0; seed < graphs; seed++) {
                boolean isLarge = hasLarge && seed % 16 == 15;
                fill(first, seed, isLarge);
                fill(second, seed, isLarge);
                for (String query : queries) {
                    assertEquals(solutions(second, query), solutions(first, query), query + ", seed " + seed);
                }
            }
        } finally {
            memory.shutDown();
        }
    }
}
