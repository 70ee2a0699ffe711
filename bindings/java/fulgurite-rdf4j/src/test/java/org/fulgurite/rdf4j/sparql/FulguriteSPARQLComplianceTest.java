package org.fulgurite.rdf4j.sparql;

import org.eclipse.rdf4j.repository.config.RepositoryImplConfig;
import org.eclipse.rdf4j.repository.sail.config.SailRepositoryConfig;
import org.eclipse.rdf4j.repository.sail.config.SailRepositoryFactory;
import org.eclipse.rdf4j.testsuite.sparql.RepositorySPARQLComplianceTestSuite;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;

/** RDF4J's {@code RepositorySPARQLComplianceTestSuite}. */
class FulguriteSPARQLComplianceTest extends RepositorySPARQLComplianceTestSuite {
    FulguriteSPARQLComplianceTest() {
        super(new SailRepositoryFactory() {
            @Override
            public RepositoryImplConfig getConfig() {
                return new SailRepositoryConfig(new FulguriteStoreConfig());
            }
        });
    }
}
