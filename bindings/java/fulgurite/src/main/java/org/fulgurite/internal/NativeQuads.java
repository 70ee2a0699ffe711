package org.fulgurite.internal;

/**
 * The native methods for RDF stores, which {@code crates/java/src/quads} implements. A view is the handle of a snapshot
 * or of a transaction. Quads are four term ids: subject, predicate, object, graph; the graph is 0 for the default graph.
 * {@code crates/java/src/quads/objects/terms.rs} describes terms as bytes, and {@code recorded.rs} batches of quads.
 */
public final class NativeQuads {
    static {
        NativeLibrary.load();
    }

    private NativeQuads() {}

    public static native long openStore(String path, long[] options, String indexes);

    public static native long snapshot(long store);

    public static native boolean isNewest(long snapshot);

    public static native long begin(long store, int level);

    public static native long commit(long txn);

    public static native void prepare(long txn);

    public static native boolean refresh(long txn);

    public static native long sweep(long store);

    public static native void observe(long txn, int given, byte[] terms, int length);

    public static native byte[] currentTerms(long store, long[] ids, int count);

    public static native byte[] find(
            long snapshot, byte[] pattern, int length, int kinds, int count, byte[] room);

    public static native int has(long snapshot, byte[] pattern, int length, int kinds);

    public static native byte[] nextStatements(long statements, int count, byte[] room);

    public static native long query(
            long snapshot, String sparql, String base, byte[] given, int length, int kinds, long memory);

    public static native byte[] nextSolutions(long query);

    public static native long[] ids(long view, byte[] terms, int length);

    public static native byte[] terms(long view, long[] ids, int count);

    static native long quads(
            long view,
            long subject,
            long predicate,
            long object,
            long graph,
            int kinds,
            int sortedBy,
            long[] rows);

    /** For the class Room only: it takes the address of its memory. */
    static native long quadsInRoom(
            long view,
            long subject,
            long predicate,
            long object,
            long graph,
            int kinds,
            int sortedBy,
            long room,
            int size,
            int length);

    public static native long sortedQuads(
            long view,
            long subject,
            long predicate,
            long object,
            long[] graphs,
            int kinds,
            int sortedBy,
            long[] rows);

    public static native boolean sorts(
            long view, long subject, long predicate, long object, long graph, int kinds, int sortedBy);

    public static native boolean next(long quads, long[] rows);

    public static native long join(long snapshot, long[] patterns, int kinds, long[] rows);

    public static native boolean nextJoined(long join, long[] rows);

    public static native long count(long view, long subject, long predicate, long object, long graph, int kinds);

    public static native long estimatedCount(
            long snapshot, long subject, long predicate, long object, long graph, int kinds);

    public static native long[] triples(long view, int position, int kinds, long first, int count);

    public static native long[] graphs(long view);

    public static native byte[] namespaces(long view);

    public static native long insert(long txn, byte[] batch, int length, boolean inferred);

    public static native long remove(long txn, int given, byte[] terms, int length, boolean inferred);

    public static native long newLoad();

    public static native void load(
            long store, long load, String[] files, String graph, boolean lenient, long[] report);

    public static native String loadProgress(long load, long[] progress);

    public static native void cancelLoad(long load);

    public static native void setNamespace(long txn, String prefix, String iri);
}
