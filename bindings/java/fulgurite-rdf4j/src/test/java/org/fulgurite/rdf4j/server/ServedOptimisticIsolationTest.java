package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertThrows;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryException;
import org.eclipse.rdf4j.repository.config.RepositoryImplConfig;
import org.eclipse.rdf4j.repository.http.HTTPRepository;
import org.eclipse.rdf4j.repository.http.config.HTTPRepositoryFactory;
import org.eclipse.rdf4j.testsuite.repository.OptimisticIsolationTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.DeadLockTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.DeleteInsertTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.IsolationLevelTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.LinearTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.ModificationTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.MonotonicTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.RemoveIsolationTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.SerializableTest;
import org.eclipse.rdf4j.testsuite.repository.optimistic.SnapshotTest;
import org.junit.BeforeClass;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Suite;

/** RDF4J's {@code OptimisticIsolationTest}. */
@RunWith(Suite.class)
@Suite.SuiteClasses({
    DeadLockTest.class,
    DeleteInsertTest.class,
    LinearTest.class,
    ModificationTest.class,
    RemoveIsolationTest.class,
    IsolationLevelTest.class,
    MonotonicTest.class,
    SnapshotTest.class,
    ServedOptimisticIsolationTest.Serializable.class
})
public class ServedOptimisticIsolationTest extends OptimisticIsolationTest {
    @BeforeClass
    public static void setUpClass() throws Exception {
        // The tests clear the repository, so that one server is enough.
        String url = ServedRepository.empty().getRepositoryURL();
        setRepositoryFactory(new HTTPRepositoryFactory() {
            @Override
            public Repository getRepository(RepositoryImplConfig config) {
                return new HTTPRepository(url);
            }
        });
    }

    /** RDF4J's {@code SerializableTest}. */
    public static class Serializable extends SerializableTest {
        /** Must fail: to plan the query, the server counts the statements of the pattern that the other one changes. */
        @Test
        @Override
        public void test_safeQuery() {
            assertThrows(RepositoryException.class, super::test_safeQuery);
        }

        /** Must fail: as {@link #test_safeQuery}. */
        @Test
        @Override
        public void test_safeOptionalQuery() {
            assertThrows(RepositoryException.class, super::test_safeOptionalQuery);
        }

        /** Must fail: as {@link #test_safeQuery}. */
        @Test
        @Override
        public void test_safeInsert() {
            assertThrows(RepositoryException.class, super::test_safeInsert);
        }
    }
}
