package org.fulgurite.rdf4j.sparql;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SPARQLUpdateTest}. */
class FulguriteSPARQLUpdateTest extends org.eclipse.rdf4j.testsuite.query.parser.sparql.SPARQLUpdateTest {
    @Override
    protected Repository newRepository() {
        FulguriteStore store = new FulguriteStore();
        // Two tests leave a connection open. The shutdown would wait 20 seconds for each.
        store.setConnectionTimeOut(100);
        return new SailRepository(store);
    }
}
