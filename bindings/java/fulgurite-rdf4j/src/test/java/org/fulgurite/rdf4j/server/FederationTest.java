package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.QueryEvaluationException;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.http.HTTPRepository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sparql.SPARQLRepository;
import org.fulgurite.rdf4j.FulguriteStore;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;
import org.junit.jupiter.api.Test;

/** Queries of a store that ask a server, which RDF4J reads as a {@code SPARQLRepository}. */
class FederationTest {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final IRI KNOWS = VALUES.createIRI("http://example.org/knows");
    private static final IRI NAME = VALUES.createIRI("http://example.org/name");

    /** RDF4J sends bindings of this many solutions in several requests. */
    private static final int PEOPLE = 100;

    private final HTTPRepository remote = ServedRepository.empty();

    private static IRI person(int number) {
        return VALUES.createIRI("http://example.org/person/" + number);
    }

    private void fillRemote() {
        try (RepositoryConnection connection = remote.getConnection()) {
            connection.begin(IsolationLevels.NONE);
            for (int number = 0; number < PEOPLE; number++) {
                connection.add(person(number), NAME, VALUES.createLiteral("ü " + number, "de"));
            }
            connection.commit();
        }
    }

    private static List<BindingSet> query(RepositoryConnection connection, String query) {
        return QueryResults.asList(connection.prepareTupleQuery(query).evaluate());
    }

    @Test
    void aServiceClauseIsAnsweredByAServer() {
        fillRemote();
        String service = "SERVICE <" + remote.getRepositoryURL() + "> { ?friend <" + NAME + "> ?name }";
        for (QueryEngine engine : QueryEngine.values()) {
            Repository local = new SailRepository(
                    new FulguriteStore(new FulguriteStoreConfig().setQueryEngine(engine)));
            try (RepositoryConnection connection = local.getConnection()) {
                connection.begin();
                for (int number = 0; number < PEOPLE; number += 2) {
                    connection.add(person(number), KNOWS, person(number + 1));
                }
                connection.commit();
                String friends = "SELECT ?friend ?name { ?person <" + KNOWS + "> ?friend " + service + " }";
                Set<String> names = new HashSet<>();
                query(connection, friends).forEach(row -> names.add(row.getValue("name").stringValue()));
                assertEquals(PEOPLE / 2, names.size());
                String friend = "SELECT ?name { <" + person(0) + "> <" + KNOWS + "> ?friend " + service + " }";
                List<BindingSet> rows = query(connection, friend);
                assertEquals(1, rows.size());
                assertEquals(VALUES.createLiteral("ü 1", "de"), rows.get(0).getValue("name"));
                // Nobody listens there.
                String unreachable = "SELECT * { SERVICE <http://127.0.0.1:1/> { ?friend <" + NAME + "> ?name } }";
                assertThrows(QueryEvaluationException.class, () -> query(connection, unreachable));
            } finally {
                local.shutDown();
            }
        }
    }

    @Test
    void aServerIsReadAsASparqlRepository() {
        fillRemote();
        SPARQLRepository client = new SPARQLRepository(remote.getRepositoryURL());
        try (RepositoryConnection connection = client.getConnection()) {
            assertEquals(PEOPLE, query(connection, "SELECT * { ?person <" + NAME + "> ?name }").size());
            assertEquals(1, QueryResults.asList(connection.getStatements(person(7), null, null)).size());
        } finally {
            client.shutDown();
        }
    }
}
