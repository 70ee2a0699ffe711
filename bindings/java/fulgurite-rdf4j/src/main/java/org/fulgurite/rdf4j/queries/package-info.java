/** Queries that the store evaluates, and the changes of SPARQL updates. */
package org.fulgurite.rdf4j.queries;
