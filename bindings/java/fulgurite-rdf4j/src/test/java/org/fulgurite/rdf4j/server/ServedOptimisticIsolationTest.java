package org.fulgurite.rdf4j.server;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.config.RepositoryImplConfig;
import org.eclipse.rdf4j.repository.http.HTTPRepository;
import org.eclipse.rdf4j.repository.http.config.HTTPRepositoryFactory;
import org.eclipse.rdf4j.testsuite.repository.OptimisticIsolationTest;
import org.junit.BeforeClass;

/** RDF4J's {@code OptimisticIsolationTest}. */
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
}
