package org.fulgurite.rdf4j;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.Value;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.internal.Exceptions;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.Native;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.internal.Room;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.internal.TermPositions;
import org.fulgurite.rdf4j.values.IdScope;
import org.fulgurite.rdf4j.values.StoredValue;
import org.fulgurite.rdf4j.values.TermBytes;
import org.fulgurite.rdf4j.values.TermReader;
import org.fulgurite.rdf4j.values.TermSource;
import org.fulgurite.rdf4j.values.ValueCache;
import org.fulgurite.rdf4j.values.ValueGroup;

/** One state of a store: a snapshot, or a transaction with its own changes. */
final class StoreView implements AutoCloseable, TermSource {
    /** The maximum number of ids that {@link #triples} returns; after fewer, there are no more. */
    static final int TRIPLES_MAX = 512;

    private static final int CACHED_IDS = 1024;

    private final Handle store;
    private final Set<Handle> siblings;
    private final Handle handle;
    private final boolean isSerializable;
    private final IdScope scope;

    /** The committed terms; null for a transaction, whose ids are its own. */
    private final TermSource committed;

    /** The view that has the handle; null if it is this one. */
    private final StoreView parent;

    /** Views that use the handle, and one for the owner; for the view that has the handle. */
    private final AtomicInteger users = new AtomicInteger(1);

    /** Ids that were looked up, by a hash of their values. */
    private final AtomicReferenceArray<CachedId> cachedIds;

    private final Set<Long> iterators = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean isClosed = new AtomicBoolean();

    private static final class CachedId {
        final Value value;
        final long id;

        CachedId(Value value, long id) {
            this.value = value;
            this.id = id;
        }
    }

    private StoreView(
            Handle store, Set<Handle> siblings, long raw, boolean isSerializable, IdScope scope, TermSource committed) {
        this.store = store;
        this.siblings = siblings;
        this.isSerializable = isSerializable;
        this.scope = scope;
        this.committed = committed;
        this.parent = null;
        this.cachedIds = new AtomicReferenceArray<>(CACHED_IDS);
        this.handle = new Handle(this, raw, isTransaction() ? "transaction" : "snapshot", false, siblings);
        handle.checkParent(store);
    }

    private StoreView(StoreView parent) {
        this.store = parent.store;
        this.siblings = parent.siblings;
        this.isSerializable = parent.isSerializable;
        this.scope = parent.scope;
        this.committed = parent.committed;
        this.parent = parent;
        this.cachedIds = parent.cachedIds;
        this.handle = parent.handle;
    }

    /**
     * Returns a view of the same state for one read. Closing it ends the read. The state is closed with the last view
     * of it.
     */
    StoreView forRead() {
        users.incrementAndGet();
        return new StoreView(this);
    }

    /** Returns a view of the newest state. */
    static StoreView snapshot(Handle store, Set<Handle> siblings, TermSource committed) {
        return new StoreView(
                store, siblings, NativeQuads.snapshot(store.raw()), false, committed.scope(), committed);
    }

    static StoreView transaction(Handle store, Set<Handle> siblings, IdScope committed, IsolationLevels level) {
        long raw = NativeQuads.begin(store.raw(), level.ordinal());
        boolean isSerializable = level == IsolationLevels.SERIALIZABLE;
        return new StoreView(store, siblings, raw, isSerializable, committed.ofTransaction(), null);
    }

    /** Returns whether a snapshot is of the newest state. */
    boolean isNewest() {
        return NativeQuads.isNewest(raw());
    }

    /**
     * Before a read of a transaction: if others have committed and its isolation allows that it sees their changes,
     * returns a new view that does. This view is at its end then. Otherwise returns this view.
     */
    StoreView refreshed() {
        if (!NativeQuads.refresh(handle.raw())) {
            return this;
        }
        // Ids of terms that the transaction added may have changed.
        return new StoreView(store, siblings, handle.release(), isSerializable, scope.ofTransaction(), null);
    }

    long raw() {
        if (isClosed.get()) {
            throw Exceptions.of(ErrorKind.CLOSED, "the result is closed");
        }
        return handle.raw();
    }

    boolean isTransaction() {
        return scope.isOfTransaction();
    }

    /** Returns whether the commit fails if others change what is read. */
    boolean isSerializable() {
        return isSerializable;
    }

    /**
     * Returns the id of a value, or {@link IdRows#UNKNOWN}. Ids of committed terms are valid in every view of the
     * store. Ids of a transaction are valid in it only.
     */
    long id(Value value) {
        long id = knownId(value);
        if (id != IdRows.UNKNOWN) {
            return id;
        }
        TermBytes terms = new TermBytes().number(1).term(value);
        id = NativeQuads.ids(raw(), terms.array(), terms.length())[0];
        if (id != IdRows.UNKNOWN) {
            remember(value, id);
        }
        return id;
    }

    /** Returns the id of a value if it is known without a native call, or {@link IdRows#UNKNOWN}. */
    long knownId(Value value) {
        if (value instanceof StoredValue) {
            StoredValue stored = (StoredValue) value;
            if (scope.covers(stored.scope())) {
                return stored.id();
            }
        }
        CachedId cached = cachedIds.get(place(value));
        return cached != null && cached.value.equals(value) ? cached.id : IdRows.UNKNOWN;
    }

    /** Keeps the id of a value for later questions. */
    void remember(Value value, long id) {
        cachedIds.set(place(value), new CachedId(value, id));
    }

    private static int place(Value value) {
        return TermPositions.hashCodeOf(value) & CACHED_IDS - 1;
    }

    @Override
    public IdScope scope() {
        return scope;
    }

    @Override
    public ValueCache cache() {
        return committed == null ? null : committed.cache();
    }

    @Override
    public ValueGroup.Unread unread() {
        return committed == null ? null : committed.unread();
    }

    @Override
    public TermReader terms(long[] ids, int count) {
        return SailErrors.convert(() -> new TermReader(termBytes(ids, count)));
    }

    private byte[] termBytes(long[] ids, int count) {
        if (handle.isOpen()) {
            try {
                return NativeQuads.terms(handle.raw(), ids, count);
            } catch (ClosedException closed) {
                // Another thread has closed it.
            }
        }
        // Ids of committed terms keep their meaning.
        return NativeQuads.currentTerms(store.raw(), ids, count);
    }

    /**
     * Reads quads: puts the first ones into {@code rows}, and their number into its last element. This may be 0
     * although others follow. Returns an iterator for the others, 0 if there are none, or {@link IdRows#UNSORTED} if no
     * index has the order.
     */
    long open(long subject, long predicate, long object, long graph, int kinds, int sortedBy, long[] rows) {
        return opened(Room.quads(raw(), subject, predicate, object, graph, kinds, sortedBy, rows));
    }

    /**
     * As {@link #open}, of several graphs, whose quads are merged by the order. Requires: no graph is repeated; a
     * repeated graph returns its quads twice.
     */
    long openSorted(
            long subject, long predicate, long object, long[] graphs, int kinds, int sortedBy, long[] rows) {
        return opened(NativeQuads.sortedQuads(raw(), subject, predicate, object, graphs, kinds, sortedBy, rows));
    }

    /** Begins to join patterns of a snapshot: see {@link NativeQuads#join}. */
    long join(long[] patterns, int kinds, long[] rows) {
        return opened(NativeQuads.join(raw(), patterns, kinds, rows));
    }

    /** Keeps an iterator, if there is one, so that it is closed with this view. */
    private long opened(long iterator) {
        if (iterator != 0 && iterator != IdRows.UNSORTED) {
            iterators.add(iterator);
            if (isClosed.get() || !handle.isOpen()) {
                close(iterator);
            }
        }
        return iterator;
    }

    /** Returns whether an index has the quads of a pattern in an order. */
    boolean sorts(long subject, long predicate, long object, long graph, int kinds, int sortedBy) {
        return NativeQuads.sorts(raw(), subject, predicate, object, graph, kinds, sortedBy);
    }

    void close(long iterator) {
        if (iterators.remove(iterator)) {
            Native.close(iterator);
        }
    }

    long count(long subject, long predicate, long object, long graph, int kinds) {
        return NativeQuads.count(raw(), subject, predicate, object, graph, kinds);
    }

    /** As {@link #count} of a snapshot, for an order of joins. It reads few keys, and is exact if an index counts. */
    long estimatedCount(long subject, long predicate, long object, long graph, int kinds) {
        return NativeQuads.estimatedCount(raw(), subject, predicate, object, graph, kinds);
    }

    /**
     * Returns the ids of triple terms at a position of quads (0 for subjects, 2 for objects), in ascending order from
     * {@code first} on, at most {@link #TRIPLES_MAX}. Returns null if no index has the order.
     */
    long[] triples(int position, int kinds, long first) {
        return NativeQuads.triples(raw(), position, kinds, first, TRIPLES_MAX);
    }

    long[] graphs() {
        return NativeQuads.graphs(raw());
    }

    /** Returns the namespaces by their prefixes, in the order of the store. */
    Map<String, String> namespaces() {
        TermReader texts = new TermReader(NativeQuads.namespaces(raw()));
        Map<String, String> namespaces = new LinkedHashMap<>();
        while (texts.hasMore()) {
            String prefix = texts.text();
            namespaces.put(prefix, texts.text());
        }
        return namespaces;
    }

    /** Closes the view and its iterators. A transaction that was not committed is rolled back. */
    @Override
    public void close() {
        if (!isClosed.compareAndSet(false, true)) {
            return;
        }
        for (Long iterator : iterators) {
            close(iterator);
        }
        StoreView owner = parent == null ? this : parent;
        boolean isLast = owner.users.decrementAndGet() == 0;
        // Closing a transaction rolls it back, even if results still read it.
        if (isLast || isTransaction() && parent == null) {
            handle.close();
        }
    }
}
