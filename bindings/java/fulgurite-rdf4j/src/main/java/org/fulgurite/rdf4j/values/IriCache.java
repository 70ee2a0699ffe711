package org.fulgurite.rdf4j.values;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * IRIs that were read lately: predicates, and other IRIs that were read twice, such as classes. Their ids keep their
 * meaning until a sweep. Threads share the cache without locks, so an entry may be lost.
 */
public final class IriCache {
    private static final int SIZE = 1 << 12;
    private static final int SHIFT = Long.SIZE - 12;
    private static final long HASH = 0x9E3779B97F4A7C15L;

    /** The id that was read last, by place. */
    private final long[] seen = new long[SIZE];

    /** The value of an id that was seen when it was read. */
    private final AtomicReferenceArray<StoredValue> recent = new AtomicReferenceArray<>(SIZE);
    private final AtomicReferenceArray<StoredValue> predicates = new AtomicReferenceArray<>(SIZE);
    private final TermSource source;
    private final IdScope scope;

    /**
     * Creates an empty cache.
     *
     * @param source the committed terms of a store
     */
    public IriCache(TermSource source) {
        this.source = source;
        this.scope = source.scope();
    }

    /**
     * Reads the next term, and returns its value.
     *
     * @param id the id of the term
     * @param terms the terms
     * @return the value
     */
    StoredValue read(long id, TermReader terms) {
        if (id >>> 56 != StoredValue.IRI_KIND) {
            return StoredValue.read(id, scope, terms);
        }
        int place = place(id);
        if (seen[place] != id) {
            seen[place] = id;
            return new StoredIri(id, scope, terms);
        }
        StoredValue cached = recent.getAcquire(place);
        if (cached != null && cached.id() == id) {
            terms.skipIri();
            return cached;
        }
        StoredValue value = new StoredIri(id, scope, terms);
        recent.setRelease(place, value);
        return value;
    }

    /**
     * Returns a predicate.
     *
     * @param id its id
     * @return the value
     */
    StoredValue predicate(long id) {
        int place = place(id);
        StoredValue cached = predicates.getAcquire(place);
        if (cached == null || cached.id() != id) {
            cached = StoredValue.read(id, scope, source.terms(new long[] {id}, 1));
            predicates.setRelease(place, cached);
        }
        return cached;
    }

    private static int place(long id) {
        return (int) (id * HASH >>> SHIFT);
    }
}
