package org.fulgurite.rdf4j.queries;

import static org.fulgurite.rdf4j.queries.GraphQueries.EX;
import static org.fulgurite.rdf4j.queries.GraphQueries.iri;
import static org.fulgurite.rdf4j.queries.GraphQueries.solutions;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.fulgurite.rdf4j.FulguriteStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Queries with paths, compared with those of a MemoryStore. */
class PathsTest {
    private static final int GRAPHS = 30;

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

    @Test
    void pathsHaveTheSolutionsOfAMemoryStore() {
        GraphQueries.compare(own, QUERIES, GRAPHS, false);
    }

    @Test
    void aPathOfATransactionSeesItsChanges() {
        GraphQueries.assertSeesTransaction(own, "{ :n0 :p+ ?x }", 1, 2);
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
