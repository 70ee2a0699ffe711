package org.fulgurite.rdf4j.queries;

import static org.fulgurite.rdf4j.queries.GraphQueries.EX;
import static org.fulgurite.rdf4j.queries.GraphQueries.iri;
import static org.fulgurite.rdf4j.queries.GraphQueries.solutions;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.model.vocabulary.SESAME;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.TupleQuery;
import org.eclipse.rdf4j.query.explanation.Explanation;
import org.eclipse.rdf4j.query.impl.SimpleDataset;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.memory.MemoryStore;
import org.fulgurite.rdf4j.FulguriteStore;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Queries and updates over several graphs, compared with those of a MemoryStore. Merge joins lost solutions, because
 * the statements of each graph were sorted alone.
 */
class DatasetsTest {
    private static final String PREFIXES = "PREFIX : <" + EX + "> PREFIX rdf4j: <" + RDF4J.NAMESPACE
            + "> PREFIX sesame: <" + SESAME.NAMESPACE + "> ";

    private static final List<String> GRAPHS = List.of(":g0", ":g1", ":g2", "rdf4j:nil");

    private static final List<String> JOINS = List.of(
            "{ ?s :p ?a . ?a :p ?o }",
            "{ ?s :p ?a . ?a :q ?o }",
            "{ ?s :p ?a . ?s :q ?o }",
            "{ ?a :p ?x . ?b :q ?x FILTER(?a != ?b) }",
            "{ ?s :p ?a . ?a :p ?o . ?o :q ?s }",
            "{ ?s :p ?a . ?a :q ?o OPTIONAL { ?o :p ?s } }");

    private static final List<String> NAMED_JOINS = List.of(
            "{ GRAPH ?g { ?s :p ?a } GRAPH ?h { ?a :q ?o } }", "{ GRAPH :g1 { ?s :p ?a } GRAPH ?g { ?a :q ?o } }");

    /** Joins within one graph. For the default graph, RDF4J leaves ?g unbound, and the order of joins decides. */
    private static final List<String> JOINS_OF_ONE_GRAPH =
            List.of("{ GRAPH ?g { ?s :p ?a . ?a :q ?o } }", "{ GRAPH ?g { ?s :p ?a . ?s :q ?o } }");

    private final SailRepository memory = new SailRepository(new MemoryStore());
    private SailRepository own;
    private SailRepositoryConnection expected;
    private SailRepositoryConnection found;

    @BeforeEach
    void open() {
        expected = memory.getConnection();
    }

    private void open(QueryEngine engine) {
        own = new SailRepository(new FulguriteStore(new FulguriteStoreConfig().setQueryEngine(engine)));
        found = own.getConnection();
    }

    @AfterEach
    void close() {
        expected.close();
        memory.shutDown();
        found.close();
        own.shutDown();
    }

    private void fill(long seed, int statements, int nodes, boolean areInSeveralGraphs) {
        for (SailRepositoryConnection target : List.of(expected, found)) {
            target.begin();
            add(target, seed, statements, nodes, areInSeveralGraphs);
            target.commit();
        }
    }

    private static void add(
            SailRepositoryConnection target, long seed, int statements, int nodes, boolean areInSeveralGraphs) {
        Random random = new Random(seed);
        Resource[] graphs = {iri("g0"), iri("g1"), iri("g2"), null};
        for (int index = 0; index < statements; index++) {
            int from = random.nextInt(nodes);
            int to = random.nextInt(nodes);
            IRI predicate = iri(random.nextInt(3) == 0 ? "q" : "p");
            // If it depends on the nodes, no statement is in two graphs.
            int graph = areInSeveralGraphs ? random.nextInt(4) : (from + to) % 4;
            target.add(iri("n" + from), predicate, iri("n" + to), graphs[graph]);
            if (areInSeveralGraphs && random.nextInt(4) == 0) {
                target.add(iri("n" + from), predicate, iri("n" + to), graphs[random.nextInt(4)]);
            }
        }
    }

    /** Lists of two graphs, and of the same three, in each order, and lists with graphs that are repeated or empty. */
    private static List<List<String>> graphLists() {
        List<List<String>> lists = new ArrayList<>();
        for (String first : GRAPHS) {
            for (String second : GRAPHS) {
                if (first.equals(second)) {
                    continue;
                }
                lists.add(List.of(first, second));
                for (String third : GRAPHS) {
                    List<String> list = List.of(first, second, third);
                    if (!third.equals(first) && !third.equals(second) && !list.contains(":g1")) {
                        lists.add(list);
                    }
                }
            }
        }
        lists.add(List.of(":g1", ":g1", ":g0"));
        lists.add(List.of("sesame:nil", ":g2", "rdf4j:nil"));
        lists.add(List.of(":none", ":g2", ":g0"));
        lists.add(List.of(":none", ":g2"));
        return lists;
    }

    private static String clauses(String keyword, List<String> graphs) {
        StringBuilder clauses = new StringBuilder();
        graphs.forEach(graph -> clauses.append(keyword).append(' ').append(graph).append(' '));
        return clauses.toString();
    }

    private void compare(String query) {
        Map<BindingSet, Integer> solutions = solutions(expected, PREFIXES + query);
        // Not assertEquals, whose message would have all solutions.
        assertTrue(solutions.equals(solutions(found, PREFIXES + query)), query);
    }

    private void compareAll(List<List<String>> graphLists) {
        for (List<String> graphs : graphLists) {
            for (String join : JOINS) {
                compare("SELECT * " + clauses("FROM", graphs) + join);
            }
            for (String join : NAMED_JOINS) {
                compare("SELECT * " + clauses("FROM NAMED", graphs) + join);
            }
            if (graphs.stream().noneMatch(graph -> graph.endsWith(":nil"))) {
                for (String join : JOINS_OF_ONE_GRAPH) {
                    compare("SELECT * " + clauses("FROM NAMED", graphs) + join);
                }
            }
            String both = clauses("FROM", graphs) + clauses("FROM NAMED", List.of(":g2", ":g1"));
            compare("SELECT * " + both + "{ ?s :p ?a GRAPH ?g { ?a :q ?o } }");
        }
    }

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void joinsOverSeveralGraphsHaveTheSolutionsOfAMemoryStore(QueryEngine engine) {
        open(engine);
        fill(1, 200, 40, true);
        compareAll(graphLists());
    }

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void joinsOverGraphsWithManyStatementsHaveAllSolutions(QueryEngine engine) {
        open(engine);
        fill(2, 4000, 1000, true);
        String from = PREFIXES + "SELECT * " + clauses("FROM", List.of(":g0", ":g1"));
        String plan = found.prepareTupleQuery(from + JOINS.get(0)).explain(Explanation.Level.Executed).toString();
        assertTrue(plan.contains("InnerMergeJoinIterator"), plan);
        for (String join : JOINS) {
            compare("SELECT (COUNT(*) AS ?n) FROM :g0 FROM :g1 " + join);
            compare("SELECT (COUNT(*) AS ?n) FROM :g2 FROM rdf4j:nil FROM :g0 " + join);
        }
    }

    /** A merge join on the variable of the graph threw a NullPointerException. */
    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void patternsThatShareOnlyTheVariableOfTheGraphAreJoinedInTheDefaultGraph(QueryEngine engine) {
        open(engine);
        for (SailRepositoryConnection target : List.of(expected, found)) {
            target.begin();
            for (Resource graph : new Resource[] {null, iri("g0")}) {
                for (int number = 0; number < 10; number++) {
                    target.add(iri("a" + number), iri("p"), iri("b" + number), graph);
                    target.add(iri("c" + number), iri("q"), iri("d" + number), graph);
                }
            }
            target.commit();
        }
        String join = "{ GRAPH ?g { ?a :p ?b . ?c :q ?d } }";
        for (List<String> graphs : List.of(List.of("rdf4j:nil", ":g0"), List.of(":g0", "rdf4j:nil"))) {
            String query = PREFIXES + "SELECT * " + clauses("FROM NAMED", graphs) + join;
            // Both graphs and predicates have 10 statements, so that the order of joins does not change the number.
            int solutions = count(expected, query);
            assertTrue(solutions >= 10 * 10, solutions + " solutions of " + query);
            assertEquals(solutions, count(found, query), query);
        }
    }

    private static int count(SailRepositoryConnection from, String query) {
        return solutions(from, query).values().stream().mapToInt(Integer::intValue).sum();
    }

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void joinsInATransactionSeeItsChangesInSeveralGraphs(QueryEngine engine) {
        open(engine);
        fill(3, 150, 40, true);
        List<List<String>> lists =
                List.of(List.of(":g0", ":g1"), List.of("rdf4j:nil", ":g2", ":g0"), List.of(":g2", ":g1"));
        // At lower levels, a MemoryStore does not roll all changes back.
        for (IsolationLevels level : EnumSet.range(IsolationLevels.READ_COMMITTED, IsolationLevels.SERIALIZABLE)) {
            for (SailRepositoryConnection target : List.of(expected, found)) {
                target.begin(level);
                add(target, 4, 150, 40, true);
                target.remove(iri("n1"), null, null);
            }
            compareAll(lists);
            expected.rollback();
            found.rollback();
        }
        compareAll(lists);
    }

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void aDatasetThatIsSetHasTheSolutionsOfAMemoryStore(QueryEngine engine) {
        open(engine);
        // The store's engine returns a statement of two graphs once.
        fill(5, 300, 40, engine == QueryEngine.RDF4J);
        IRI[] graphs = {iri("g2"), RDF4J.NIL, iri("g0"), iri("g1")};
        for (int count = 1; count <= graphs.length; count++) {
            SimpleDataset dataset = new SimpleDataset();
            for (int index = 0; index < count; index++) {
                dataset.addDefaultGraph(graphs[index]);
                dataset.addNamedGraph(graphs[graphs.length - 1 - index]);
            }
            for (String join : JOINS) {
                String query = PREFIXES + "SELECT * " + join;
                assertTrue(
                        solutions(with(dataset, expected, query)).equals(solutions(with(dataset, found, query))),
                        query + " over " + dataset);
            }
        }
    }

    private static TupleQuery with(SimpleDataset dataset, SailRepositoryConnection connection, String text) {
        TupleQuery query = connection.prepareTupleQuery(text);
        query.setDataset(dataset);
        return query;
    }

    /** How often each statement is there, with its context. */
    private static Map<String, Integer> statements(SailRepositoryConnection from, Resource... contexts) {
        Map<String, Integer> counts = new HashMap<>();
        from.getStatements(null, null, null, true, contexts)
                .forEach(statement -> counts.merge(statement.toString(), 1, Integer::sum));
        return counts;
    }

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void updatesOfSeveralGraphsChangeWhatAMemoryStoreChanges(QueryEngine engine) {
        open(engine);
        fill(6, 400, 100, true);
        for (List<String> graphs : graphLists()) {
            for (String update : List.of(
                    "DELETE { ?s :p ?a } " + clauses("USING", graphs) + "WHERE { ?s :p ?a . ?a :p ?o }",
                    "INSERT { GRAPH :new { ?s :r ?o } } " + clauses("USING", graphs)
                            + "WHERE { ?s :p ?a . ?a :q ?o }",
                    "INSERT { GRAPH :new { ?s :r ?o } } " + clauses("USING NAMED", graphs)
                            + "WHERE { GRAPH ?g { ?s :p ?a } GRAPH ?h { ?a :q ?o } }")) {
                for (SailRepositoryConnection target : List.of(expected, found)) {
                    target.begin();
                    target.prepareUpdate(PREFIXES + update).execute();
                }
                assertTrue(statements(expected).equals(statements(found)), update);
                expected.rollback();
                found.rollback();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void statementsOfSeveralContextsAreThoseOfAMemoryStore(QueryEngine engine) {
        open(engine);
        fill(7, 400, 40, true);
        IRI g0 = iri("g0");
        IRI g1 = iri("g1");
        for (Resource[] contexts : new Resource[][] {
            {}, {null}, {g0, g1}, {g1, g0}, {null, g1}, {g1, null}, {g0, g0}, {null, null}, {g1, iri("none"), null, g1},
        }) {
            assertEquals(statements(expected, contexts), statements(found, contexts));
            assertEquals(expected.size(contexts), found.size(contexts));
        }
    }
}
