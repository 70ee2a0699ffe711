package org.fulgurite.rdf4j.queries;

import org.eclipse.rdf4j.model.Value;
import org.fulgurite.rdf4j.internal.IdRows;

/** The reads of a path of one predicate, in one direction. Nodes are ids of terms. */
public interface PathReads {
    /** Returns the id of a node, or {@link IdRows#UNKNOWN}. */
    long id(Value node);

    /** Adds the nodes that are one step after a node. */
    void addNext(long node, IdSet nodes);

    /** Returns the value of a node. Its text is read when it is needed, with those of values that follow it. */
    Value value(long node);
}
