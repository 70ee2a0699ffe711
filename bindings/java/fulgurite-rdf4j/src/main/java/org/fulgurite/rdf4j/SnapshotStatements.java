package org.fulgurite.rdf4j;

import java.util.NoSuchElementException;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.sail.InterruptedSailException;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.internal.Interrupts;
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.values.IriCache;
import org.fulgurite.rdf4j.values.StatementBatch;
import org.fulgurite.rdf4j.values.TermBytes;

/**
 * The statements of a pattern in the newest state, for a caller that reads all terms. One native call looks up the terms
 * of the pattern, and reads the first statements and their terms. Batches grow from 32 statements to 4096: a batch has
 * each term once, so larger ones have fewer terms. They shrink while their terms are large.
 *
 * <p>One thread reads it. Another thread may close it: then the reading thread gets no more statements, or an exception.
 */
final class SnapshotStatements implements CloseableIteration<Statement> {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final int FIRST_ROWS = 32;
    private static final int ROWS_MAX = 4096;

    /** A batch with as many bytes is followed by a smaller one, and only one with less than half by a larger one. */
    private static final int BATCH_BYTES = 1 << 20;

    private static final int ROOM_BYTES = 1 << 14;

    /** The result of a native call that has looked at its maximum of statements, and has found none. */
    private static final int PAUSED = 2;

    /** The arrays of a thread for a pattern and a first batch, which are read before its next call. */
    private static final class ThreadRoom {
        private final byte[] batch = new byte[ROOM_BYTES];
        private TermBytes pattern = new TermBytes();

        /** An empty pattern. The array of a large one is not kept. */
        TermBytes pattern() {
            if (pattern.array().length > ROOM_BYTES) {
                pattern = new TermBytes();
            }
            return pattern.clear();
        }
    }

    private static final ThreadLocal<ThreadRoom> ROOM = ThreadLocal.withInitial(ThreadRoom::new);

    /** The IRIs of the scope in which the ids of this result are valid. */
    private final IriCache iris;

    private final Resource subject;
    private final IRI predicate;

    /** Null if there are no statements. */
    private StatementBatch batch;

    private int row;
    private int rows = FIRST_ROWS;

    /** The iterator for the statements after the batch; null if there are none. */
    private final Handle following;

    /** The array for batches after the first one. */
    private byte[] room = {};

    private volatile boolean isClosed;

    private SnapshotStatements(
            FulguriteStore store, IriCache iris, Resource subject, IRI predicate, StatementBatch first) {
        this.iris = iris;
        this.subject = subject;
        this.predicate = predicate;
        this.batch = first;
        long handle = first == null ? 0 : first.following();
        this.following = handle == 0 ? null : store.result(this, handle);
    }

    /**
     * Reads a pattern.
     *
     * @param kinds as in {@link QuadPattern}
     * @param contexts at most one context; none for all
     */
    static SnapshotStatements find(
            FulguriteStore store, Resource subject, IRI predicate, Value object, int kinds, Resource... contexts) {
        return store.read(view -> {
            ThreadRoom room = ROOM.get();
            TermBytes pattern = room.pattern();
            appendAll(pattern, view, subject, predicate, object, contexts);
            byte[] found = NativeQuads.find(
                    view.raw(), pattern.array(), pattern.length(), kinds, FIRST_ROWS, room.batch);
            if (found == null) {
                return null;
            }
            IriCache iris = store.iris();
            if (found.length == 0) {
                return new SnapshotStatements(store, iris, subject, predicate, null);
            }
            StatementBatch first = new StatementBatch(found, iris);
            remember(view, predicate, first.predicateId());
            remember(view, object, first.objectId());
            return new SnapshotStatements(store, iris, subject, predicate, first);
        });
    }

    /**
     * Returns whether a pattern has statements. One native call is enough, unless no index has the pattern and there
     * are many statements. The parameters are those of {@link #find}.
     */
    static boolean has(
            FulguriteStore store, Resource subject, IRI predicate, Value object, int kinds, Resource... contexts) {
        int known = store.read(view -> {
            TermBytes pattern = ROOM.get().pattern();
            appendAll(pattern, view, subject, predicate, object, contexts);
            int found = NativeQuads.has(view.raw(), pattern.array(), pattern.length(), kinds);
            return found < 0 ? null : Integer.valueOf(found);
        });
        if (known != PAUSED) {
            return known > 0;
        }
        try (SnapshotStatements statements = find(store, subject, predicate, object, kinds, contexts)) {
            return statements.hasNext();
        }
    }

    private static void appendAll(
            TermBytes pattern,
            StoreView view,
            Resource subject,
            IRI predicate,
            Value object,
            Resource... contexts) {
        append(pattern, view, subject);
        append(pattern, view, predicate);
        append(pattern, view, object);
        if (contexts.length > 0 && contexts[0] == null) {
            pattern.defaultGraph();
        } else {
            append(pattern, view, contexts.length == 0 ? null : contexts[0]);
        }
    }

    private static void append(TermBytes pattern, StoreView view, Value value) {
        if (value == null) {
            pattern.any();
            return;
        }
        long id = view.knownId(value);
        if (id == IdRows.UNKNOWN) {
            pattern.term(value);
        } else {
            pattern.id(id);
        }
    }

    private static void remember(StoreView view, Value value, long id) {
        if (value != null && view.knownId(value) == IdRows.UNKNOWN) {
            view.remember(value, id);
        }
    }

    @Override
    public boolean hasNext() {
        if (isClosed || batch == null) {
            return false;
        }
        while (row == batch.count()) {
            if (batch.following() == 0) {
                close();
                return false;
            }
            fetch();
        }
        return true;
    }

    private void fetch() {
        Interrupts.check(InterruptedSailException::new);
        if (batch.length() >= BATCH_BYTES) {
            // The batch may have fewer statements than it was asked for.
            rows = Math.max(FIRST_ROWS, batch.count() / 2);
        } else if (batch.length() < BATCH_BYTES / 2) {
            rows = Math.min(ROWS_MAX, rows * 2);
        }
        row = 0;
        byte[] found = SailErrors.convert(() -> NativeQuads.nextStatements(following.raw(), rows, room));
        batch = new StatementBatch(found, iris);
        if (found != room && found.length < BATCH_BYTES) {
            room = new byte[found.length + found.length / 4];
        }
        if (batch.following() == 0) {
            following.close();
        }
    }

    @Override
    public Statement next() {
        if (isClosed) {
            throw new SailException("the result is closed");
        }
        if (!hasNext()) {
            throw new NoSuchElementException("there are no more statements");
        }
        Resource statementSubject = subject != null ? subject : (Resource) batch.value(row, 0);
        IRI statementPredicate = predicate != null ? predicate : (IRI) batch.value(row, 1);
        // The object is not taken from the pattern: the store may have a literal with another case of its language.
        Value object = batch.value(row, 2);
        Resource context = (Resource) batch.value(row, 3);
        row++;
        return context == null
                ? VALUES.createStatement(statementSubject, statementPredicate, object)
                : VALUES.createStatement(statementSubject, statementPredicate, object, context);
    }

    @Override
    public void remove() {
        throw new UnsupportedOperationException("statements are removed by a connection");
    }

    @Override
    public void close() {
        isClosed = true;
        if (following != null) {
            following.close();
        }
    }
}
