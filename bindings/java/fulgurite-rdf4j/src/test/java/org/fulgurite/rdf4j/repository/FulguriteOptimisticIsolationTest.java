package org.fulgurite.rdf4j.repository;

import org.eclipse.rdf4j.repository.config.RepositoryImplConfig;
import org.eclipse.rdf4j.repository.sail.config.SailRepositoryConfig;
import org.eclipse.rdf4j.repository.sail.config.SailRepositoryFactory;
import org.eclipse.rdf4j.testsuite.repository.OptimisticIsolationTest;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.junit.BeforeClass;

/** RDF4J's {@code OptimisticIsolationTest}. */
public class FulguriteOptimisticIsolationTest extends OptimisticIsolationTest {
    @BeforeClass
    public static void setUpClass() throws Exception {
        setRepositoryFactory(new SailRepositoryFactory() {
            @Override
            public RepositoryImplConfig getConfig() {
                return new SailRepositoryConfig(new FulguriteStoreConfig());
            }
        });
    }
}
