/** An RDF4J store on Fulgurite: use {@link org.fulgurite.rdf4j.FulguriteStore} as any other Sail. */
package org.fulgurite.rdf4j;
