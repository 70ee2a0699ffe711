package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.util.Set;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Model;
import org.eclipse.rdf4j.model.Triple;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.LinkedHashModel;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.query.MalformedQueryException;
import org.eclipse.rdf4j.query.QueryEvaluationException;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.query.TupleQuery;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.query.Update;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.RepositoryException;
import org.eclipse.rdf4j.repository.config.RepositoryConfig;
import org.eclipse.rdf4j.repository.http.HTTPRepository;
import org.eclipse.rdf4j.repository.http.config.HTTPRepositoryConfig;
import org.eclipse.rdf4j.repository.manager.RemoteRepositoryManager;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.rio.RDFParseException;
import org.eclipse.rdf4j.rio.UnsupportedRDFormatException;
import org.junit.jupiter.api.Test;

/** What RDF4J's suites do not ask of a server. */
class ServedTest {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final IRI S = VALUES.createIRI("http://example.org/s");
    private static final IRI P = VALUES.createIRI("http://example.org/p");
    private static final IRI G = VALUES.createIRI("http://example.org/g");

    private final HTTPRepository repository = ServedRepository.empty();

    @Test
    void theWorkbenchFindsTheRepository() {
        String url = repository.getRepositoryURL();
        RemoteRepositoryManager manager = new RemoteRepositoryManager(url.replaceFirst("/repositories/.*", ""));
        manager.init();
        assertEquals(Set.of("served"), manager.getRepositoryIDs());
        assertEquals(url, manager.getRepositoryInfo("served").getLocation().toString());
        RepositoryConfig config = manager.getRepositoryConfig("served");
        assertEquals("served", config.getID());
        assertEquals(url, ((HTTPRepositoryConfig) config.getRepositoryImplConfig()).getURL());
        Repository found = manager.getRepository("served");
        assertNotNull(found);
        try (RepositoryConnection connection = found.getConnection()) {
            assertEquals(0, connection.size());
        }
        assertThrows(RepositoryException.class, () -> manager.removeRepository("served"));
        manager.shutDown();
        assertTrue(repository.getConnection().getRepository().isWritable());
    }

    @Test
    void triplesAreResultsOfQueries() {
        Triple triple = VALUES.createTriple(S, P, VALUES.createLiteral("ü", "de"));
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.add(S, P, triple, G);
            connection.add(triple, P, VALUES.createLiteral(7));
            try (TupleQueryResult results =
                    connection.prepareTupleQuery("SELECT ?o ?g { GRAPH ?g { ?s ?p ?o } }").evaluate()) {
                assertEquals(triple, results.next().getValue("o"));
                assertFalse(results.hasNext());
            }
            Model model = new LinkedHashModel();
            connection.getStatements(null, null, null).forEach(model::add);
            assertEquals(2, model.size());
            assertTrue(model.contains(triple, P, VALUES.createLiteral(7)));
            assertTrue(model.contains(S, P, triple, G));
            Model constructed = QueryResults.asModel(
                    connection.prepareGraphQuery("CONSTRUCT WHERE { ?s <" + P + "> ?o . }").evaluate());
            assertTrue(constructed.contains(S, P, triple));
        }
    }

    @Test
    void manyStatementsOfATransactionAreSentInParts() {
        int statements = 250_000;
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.begin(IsolationLevels.NONE);
            for (int number = 0; number < statements; number++) {
                connection.add(S, P, VALUES.createLiteral(number));
            }
            connection.commit();
            assertEquals(statements, connection.size());
            assertEquals(statements, connection.getStatements(S, P, null).stream().count());
        }
    }

    @Test
    void transactionsThatAddTheSameTermsBothCommit() {
        for (IsolationLevels level : IsolationLevels.values()) {
            IRI added = VALUES.createIRI("http://example.org/" + level);
            try (RepositoryConnection first = repository.getConnection();
                    RepositoryConnection second = repository.getConnection()) {
                first.begin(level);
                second.begin(level);
                first.add(added, P, VALUES.createLiteral("a first " + level));
                second.add(added, P, VALUES.createLiteral("a second " + level));
                assertEquals(1, second.getStatements(added, null, null).stream().count());
                first.commit();
                if (level == IsolationLevels.SERIALIZABLE) {
                    RepositoryException conflict = assertThrows(RepositoryException.class, second::commit);
                    assertTrue(conflict.getMessage().contains("repeat it"), conflict::getMessage);
                    second.rollback();
                } else {
                    second.commit();
                    assertEquals(2, second.getStatements(added, null, null).stream().count(), level::toString);
                }
            }
        }
    }

    @Test
    void errorsHaveTheClassesThatClientsExpect() {
        try (RepositoryConnection connection = repository.getConnection()) {
            QueryEvaluationException malformed = assertThrows(
                    QueryEvaluationException.class,
                    () -> connection.prepareTupleQuery("SELECT nothing").evaluate());
            assertInstanceOf(MalformedQueryException.class, malformed.getCause());
            assertThrows(
                    RDFParseException.class, () -> connection.add(new StringReader("<a> <b>"), "", RDFFormat.TURTLE));
            assertThrows(
                    UnsupportedRDFormatException.class,
                    () -> connection.add(new StringReader("{}"), "", RDFFormat.RDFJSON));
        }
    }

    @Test
    void queriesThatTakeTooLongAreInterrupted() {
        try (RepositoryConnection connection = ServedRepository.empty("--timeout", "2").getConnection()) {
            connection.begin(IsolationLevels.NONE);
            for (int number = 0; number < 300; number++) {
                connection.add(S, P, VALUES.createLiteral(number));
            }
            connection.commit();
            TupleQuery query =
                    connection.prepareTupleQuery("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }");
            assertThrows(QueryInterruptedException.class, query::evaluate);
            // RDF4J's client waits no longer than this for an answer, so it or the server ends the query.
            query.setMaxExecutionTime(1);
            assertThrows(QueryEvaluationException.class, query::evaluate);
        }
    }

    @Test
    void updatesTakeBindings() {
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.add(S, P, VALUES.createLiteral(1), G);
            connection.add(G, P, VALUES.createLiteral(2));
            Update update = connection.prepareUpdate("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }");
            update.setBinding("s", S);
            update.execute();
            assertEquals(1, connection.size());
            assertEquals(0, connection.size(G));
        }
    }
}
