/** Values of a store: they have the id of their term, and read its text when it is needed. */
package org.fulgurite.rdf4j.values;
