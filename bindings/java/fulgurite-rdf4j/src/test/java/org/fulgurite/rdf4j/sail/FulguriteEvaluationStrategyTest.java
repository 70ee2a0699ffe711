package org.fulgurite.rdf4j.sail;

import org.eclipse.rdf4j.sail.base.config.BaseSailConfig;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;

/** RDF4J's {@code EvaluationStrategyTest}. */
class FulguriteEvaluationStrategyTest extends org.eclipse.rdf4j.testsuite.sail.EvaluationStrategyTest {
    @Override
    protected BaseSailConfig getBaseSailConfig() {
        return new FulguriteStoreConfig();
    }
}
