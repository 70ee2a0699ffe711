package org.fulgurite.rdf4j.internal;

/** Rows of ids that the native library reads: the numbers that stand for no term, and the sizes of batches. */
public final class IdRows {
    /** The id of a term that the store does not have. */
    public static final long UNKNOWN = -1;

    /** The subject, predicate or object of a pattern that matches every term. */
    public static final long ANY_TERM = 0;

    /** The graph of a pattern that matches all graphs. */
    public static final long ANY_GRAPH = -1;

    /** The graph of a pattern that matches all named graphs. */
    public static final long ANY_NAMED_GRAPH = -2;

    /** The default graph, in patterns and in rows. */
    public static final long DEFAULT_GRAPH = 0;

    /** The number of variable 0 in a pattern of a join. The number of variable n is n less. */
    public static final long VARIABLE = -2;

    /** Instead of the handle of an iterator: no index has the order. */
    public static final long UNSORTED = -1;

    /** How many rows the first batch of a result has. Each further batch has twice as many as the one before. */
    public static final int FIRST_ROWS = 16;

    /** How many rows the largest batch has. */
    public static final int ROWS_MAX = 512;

    private IdRows() {}
}
