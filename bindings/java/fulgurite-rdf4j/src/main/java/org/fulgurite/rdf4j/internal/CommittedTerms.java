package org.fulgurite.rdf4j.internal;

import org.fulgurite.internal.Handle;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.values.IdScope;
import org.fulgurite.rdf4j.values.TermReader;
import org.fulgurite.rdf4j.values.TermSource;
import org.fulgurite.rdf4j.values.ValueCache;
import org.fulgurite.rdf4j.values.ValueGroup;

/** The committed terms of a store. Their ids keep their meaning until a sweep, or until the store is closed. */
public final class CommittedTerms implements TermSource {
    private final Handle store;
    private final ValueCache cache;
    private final IdScope scope = IdScope.ofStore();
    private final ValueGroup.Unread unread = new ValueGroup.Unread();

    /** The cache is null if no values are kept. */
    public CommittedTerms(Handle store, ValueCache cache) {
        this.store = store;
        this.cache = cache;
    }

    @Override
    public TermReader terms(long[] ids, int count) {
        return SailErrors.convert(() -> new TermReader(NativeQuads.currentTerms(store.raw(), ids, count)));
    }

    @Override
    public IdScope scope() {
        return scope;
    }

    @Override
    public ValueCache cache() {
        return cache;
    }

    @Override
    public ValueGroup.Unread unread() {
        return unread;
    }
}
