package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** RDF4J's {@code RepositoryTest}. */
class ServedRepositoryTest extends org.eclipse.rdf4j.testsuite.repository.RepositoryTest {
    /** Of each kind. A server has fewer places for connections, queries and transactions, so it must not lose any. */
    private static final int REQUESTS = 2048;

    @Override
    protected Repository createRepository() {
        return ServedRepository.empty();
    }

    /**
     * RDF4J's own test sends 98,304 requests one after another, and fails if they take more than a minute, as on slow
     * machines. {@code FulguriteRepositoryTest} runs it without a server.
     */
    @Override
    @Test
    public void getAllStatements() {
        try (RepositoryConnection connection = testRepository.getConnection()) {
            connection.add(alice, name, nameAlice);
            connection.add(bob, name, nameBob);
            for (int request = 0; request < REQUESTS; request++) {
                assertEquals(2, connection.getStatements(null, null, null).stream().count());
                assertEquals(1, connection.getStatements(bob, null, null).stream().count());
                assertEquals(2, connection.getStatements(null, name, null).stream().count());
            }
        }
    }

    /** A debug log has dozens of lines for each request. It made the tests twice as slow. */
    @Test
    void requestsAreNotLogged() {
        for (String logger : new String[] {"org.apache.http.wire", "org.eclipse.rdf4j"}) {
            assertFalse(LoggerFactory.getLogger(logger).isDebugEnabled(), logger);
        }
    }
}
