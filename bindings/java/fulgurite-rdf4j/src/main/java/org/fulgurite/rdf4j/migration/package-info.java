/** Copies stores of RDF4J into Fulgurite stores. */
package org.fulgurite.rdf4j.migration;
