package org.fulgurite.rdf4j.queries;

import org.eclipse.rdf4j.model.Value;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.values.TermSource;

/** Statements that can be joined by the ids of their terms: {@code crates/java/src/quads/joins.rs}. */
public interface JoinSource {
    /** Returns whether it can join patterns. */
    boolean joins();

    /** Returns the id of a value, or {@link IdRows#UNKNOWN}. */
    long id(Value value);

    /** Returns where the terms of ids are read. */
    TermSource terms();

    /**
     * Begins to join patterns of four numbers each. Puts the first rows into {@code rows}, an id for each variable, and
     * their number into its last element; these may be none although others follow. Returns a join for {@link #next},
     * or 0 if these were all.
     */
    long join(long[] patterns, long[] rows);

    /** Puts the next rows into {@code rows}, as {@link #join}. Returns whether others may follow. */
    boolean next(long join, long[] rows);

    /** Ends a join. */
    void close(long join);
}
