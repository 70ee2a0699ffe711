/** The configuration of a store in RDF, as RDF4J's repository managers use it. */
package org.fulgurite.rdf4j.config;
