package org.fulgurite.rdf4j.values;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Statements with their terms, in the form that {@code crates/java/src/quads/objects/statements.rs} describes. */
public final class StatementBatch {
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int COUNT_AT = 8;
    private static final int TERMS_AT = 12;
    private static final int PREDICATES_AT = 16;
    private static final int PREDICATE_AT = 24;
    private static final int OBJECT_AT = 32;
    private static final int HEAD_BYTES = 40;
    private static final int ROW_BYTES = 16;
    private static final int COLUMNS = 4;

    private final int count;
    private final int length;
    private final long following;
    private final long predicateId;
    private final long objectId;

    /** Four values a row. */
    private final StoredValue[] values;

    /**
     * Reads a batch. The array can be used again after it.
     *
     * @param bytes the batch
     * @param iris the cache of the store
     */
    public StatementBatch(byte[] bytes, IriCache iris) {
        count = number(bytes, COUNT_AT);
        following = id(bytes, 0);
        predicateId = id(bytes, PREDICATE_AT);
        objectId = id(bytes, OBJECT_AT);
        int at = HEAD_BYTES + ROW_BYTES * count;
        StoredValue[] predicates = new StoredValue[number(bytes, PREDICATES_AT)];
        for (int index = 0; index < predicates.length; index++, at += Long.BYTES) {
            predicates[index] = iris.predicate(id(bytes, at));
        }
        StoredValue[] terms = new StoredValue[number(bytes, TERMS_AT)];
        TermReader reader = new TermReader(bytes, at + Long.BYTES * terms.length);
        for (int index = 0; index < terms.length; index++, at += Long.BYTES) {
            terms[index] = iris.read(id(bytes, at), reader);
        }
        length = reader.position();
        values = new StoredValue[COLUMNS * count];
        int cell = HEAD_BYTES;
        for (int index = 0; index < values.length; index += COLUMNS, cell += ROW_BYTES) {
            values[index] = value(terms, number(bytes, cell));
            values[index + 1] = value(predicates, number(bytes, cell + 4));
            values[index + 2] = value(terms, number(bytes, cell + 8));
            values[index + 3] = value(terms, number(bytes, cell + 12));
        }
    }

    /** The value at a position. A negative one stands for the default graph, or for what the pattern gives. */
    private static StoredValue value(StoredValue[] known, int position) {
        return position < 0 ? null : known[position];
    }

    private static int number(byte[] bytes, int at) {
        return (int) INT.get(bytes, at);
    }

    private static long id(byte[] bytes, int at) {
        return (long) LONG.get(bytes, at);
    }

    /**
     * Returns the number of statements.
     *
     * @return the number of statements
     */
    public int count() {
        return count;
    }

    /**
     * Returns the number of bytes that the batch takes.
     *
     * @return the number of bytes
     */
    public int length() {
        return length;
    }

    /**
     * Returns what follows the batch.
     *
     * @return in the first batch the handle of an iterator, in later ones 1; 0 if nothing follows
     */
    public long following() {
        return following;
    }

    /**
     * Returns the id of the predicate of the pattern.
     *
     * @return the id, or 0 if it was not given
     */
    public long predicateId() {
        return predicateId;
    }

    /**
     * Returns the id of the object of the pattern.
     *
     * @return the id, or 0 if it was not given
     */
    public long objectId() {
        return objectId;
    }

    /**
     * Returns a value of a statement.
     *
     * @param row the position of the statement
     * @param column 0 to 3: subject, predicate, object or graph
     * @return the value; null for the default graph, and for subjects and predicates that the pattern gives
     */
    public StoredValue value(int row, int column) {
        return values[COLUMNS * row + column];
    }
}
