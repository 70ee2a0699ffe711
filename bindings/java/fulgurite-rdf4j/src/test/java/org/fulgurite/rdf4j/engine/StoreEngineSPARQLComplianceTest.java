package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.config.RepositoryImplConfig;
import org.eclipse.rdf4j.repository.sail.config.SailRepositoryConfig;
import org.eclipse.rdf4j.repository.sail.config.SailRepositoryFactory;
import org.eclipse.rdf4j.testsuite.sparql.RepositorySPARQLComplianceTestSuite;
import org.junit.jupiter.api.extension.ExtendWith;

/** RDF4J's {@code RepositorySPARQLComplianceTestSuite}, evaluated by the store. */
@ExtendWith(KnownDifferences.class)
class StoreEngineSPARQLComplianceTest extends RepositorySPARQLComplianceTestSuite {
    StoreEngineSPARQLComplianceTest() {
        super(new SailRepositoryFactory() {
            @Override
            public RepositoryImplConfig getConfig() {
                return new SailRepositoryConfig(StoreEngine.config());
            }
        });
    }
}
