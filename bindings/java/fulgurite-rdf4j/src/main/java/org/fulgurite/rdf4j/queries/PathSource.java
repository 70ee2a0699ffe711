package org.fulgurite.rdf4j.queries;

import org.eclipse.rdf4j.model.IRI;

/** Where paths of one predicate are read. */
public interface PathSource {
    /**
     * Returns the reads of a path from subjects to objects, or in the other direction. Returns null in a transaction,
     * which must note every pattern that it reads.
     */
    PathReads paths(IRI predicate, boolean isForward);
}
