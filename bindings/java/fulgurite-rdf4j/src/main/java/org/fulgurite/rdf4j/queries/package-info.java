/** Queries that the store evaluates, paths that are searched by ids, and the changes of SPARQL updates. */
package org.fulgurite.rdf4j.queries;
