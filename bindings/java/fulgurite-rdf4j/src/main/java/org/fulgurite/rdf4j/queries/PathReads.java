package org.fulgurite.rdf4j.queries;

import org.eclipse.rdf4j.model.Value;

/** The reads of a path of one predicate, in one direction. Nodes are ids of terms. */
public interface PathReads {
    /** The id of a term that the store does not have. */
    long UNKNOWN = -1;

    /** Returns the id of a node, or {@link #UNKNOWN}. */
    long id(Value node);

    /** Adds the nodes that are one step after a node. */
    void addNext(long node, IdSet nodes);

    /** Returns the value of a node. Its text is read when it is needed, with those of values that follow it. */
    Value value(long node);
}
