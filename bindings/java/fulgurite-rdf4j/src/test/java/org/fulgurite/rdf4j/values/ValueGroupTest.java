package org.fulgurite.rdf4j.values;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.junit.jupiter.api.Test;

/** When the texts of values are read, and which values are kept. */
class ValueGroupTest {
    private static final long IRI = 1L << 56;
    private static final long TRIPLE = 4L << 56;
    private static final long LITERAL = 5L << 56;
    private static final long STRING = 6L << 56;
    private static final int TEXT_CHARS_MAX = 512;

    /** No term has this id. */
    private static final long MISSING = IRI + Integer.MAX_VALUE;

    /** Terms that are made of their ids. It notes how many terms each call reads. */
    private static final class Source implements TermSource {
        private final List<Integer> reads = new ArrayList<>();
        private final IdScope scope;
        private final ValueCache cache;
        private final ValueGroup.Unread unread = new ValueGroup.Unread();

        Source(IdScope scope, ValueCache cache) {
            this.scope = scope;
            this.cache = cache;
        }

        @Override
        public TermReader terms(long[] ids, int count) {
            reads.add(count);
            TermBytes bytes = new TermBytes();
            for (int index = 0; index < count; index++) {
                if (ids[index] == MISSING) {
                    throw new IllegalStateException("no term has the id");
                }
                bytes.term(term(ids[index]));
            }
            return new TermReader(bytes.array());
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

    private static Value term(long id) {
        int number = (int) id;
        if (id >= STRING) {
            return Values.literal("x".repeat(number));
        }
        if (id >= LITERAL) {
            return Values.literal("text", number % 2 == 0 ? "de" : "DE");
        }
        if (id >= TRIPLE) {
            return Values.triple(Values.iri("urn:s"), Values.iri("urn:p"), Values.literal(number));
        }
        return Values.iri("http://example.org/" + number);
    }

    private static List<StoredValue> add(ValueGroup group, long first, int count) {
        List<StoredValue> values = new ArrayList<>();
        for (int index = 0; index < count; index++) {
            values.add(group.add(first + index));
        }
        return values;
    }

    @Test
    void groupsAreKnownUntilAllTheirValuesAreRead() {
        Source source = new Source(IdScope.ofStore(), null);
        List<StoredValue> values = add(new ValueGroup(source, null), IRI, 12);
        ValueGroup whole = ValueGroup.whole(source);
        add(whole, IRI, 2);
        values.get(0).stringValue();
        assertEquals(2, source.unread.count());
        values.get(8).stringValue();
        assertEquals(1, source.unread.count());
        StoredValue later = whole.add(IRI + 5);
        source.unread.readAll();
        assertTrue(later.isRead());
        assertEquals(0, source.unread.count());
        add(whole, IRI, 1);
        assertEquals(1, source.unread.count());
    }

    @Test
    void aTermThatCannotBeReadIsReportedAfterTheOthersAreRead() {
        Source source = new Source(IdScope.ofStore(), null);
        List<StoredValue> values = new ArrayList<>();
        for (long id : new long[] {IRI, MISSING, IRI + 1}) {
            values.add(new ValueGroup(source, null).add(id));
        }
        assertThrows(IllegalStateException.class, source.unread::readAll);
        assertEquals(List.of(1, 1, 1), source.reads);
        assertTrue(values.get(0).isRead());
        assertFalse(values.get(1).isRead());
        assertTrue(values.get(2).isRead());
        assertEquals(1, source.unread.count());
    }

    @Test
    void valuesThatAreNeededInOrderAreReadInGrowingWindows() {
        Source source = new Source(IdScope.ofStore(), null);
        ValueGroup group = new ValueGroup(source, null);
        List<StoredValue> values = add(group, IRI, 40);
        for (int index = 0; index < values.size(); index++) {
            assertEquals("http://example.org/" + index, values.get(index).stringValue());
        }
        assertEquals(List.of(8, 16, 16), source.reads);
        // The next group goes on where this one has ended.
        ValueGroup next = new ValueGroup(source, group);
        List<StoredValue> others = add(next, IRI + 100, 100);
        assertEquals("http://example.org/100", others.get(0).stringValue());
        assertEquals(List.of(8, 16, 16, 64), source.reads);
        assertTrue(others.get(63).isRead());
        assertFalse(others.get(64).isRead());
    }

    @Test
    void aValueBeyondTheWindowIsReadWithFewOthers() {
        Source source = new Source(IdScope.ofStore(), null);
        ValueGroup group = new ValueGroup(source, null);
        List<StoredValue> values = add(group, IRI, 100);
        values.get(50).stringValue();
        values.get(58).stringValue();
        values.get(90).stringValue();
        values.get(0).stringValue();
        values.get(52).stringValue();
        assertEquals(List.of(8, 16, 8, 8), source.reads);
        assertEquals("http://example.org/49", values.get(49).stringValue());
        // Of eight values from there on, seven were read before.
        assertEquals(List.of(8, 16, 8, 8, 1), source.reads);
        group.readAll();
        assertTrue(values.stream().allMatch(StoredValue::isRead));
        assertEquals(100, source.reads.stream().mapToInt(Integer::intValue).sum());
    }

    @Test
    void valuesThatWereReadAreKeptUnlessTheyAreLong() {
        ValueCache cache = new ValueCache(64);
        ValueGroup group = new ValueGroup(new Source(IdScope.ofStore(), cache), null);
        StoredValue iri = group.add(IRI + 7);
        StoredValue small = group.add(STRING + TEXT_CHARS_MAX);
        StoredValue large = group.add(STRING + TEXT_CHARS_MAX + 1);
        StoredValue triple = group.add(TRIPLE + 1);
        assertNull(cache.get(iri.id()));
        group.readAll();
        assertSame(iri, cache.get(iri.id()));
        assertSame(small, cache.get(small.id()));
        assertNull(cache.get(large.id()));
        assertNull(cache.get(triple.id()));
        assertNull(cache.get(IRI + 8));
    }

    @Test
    void aCacheOfAnySizeFindsWhatItHas() {
        for (int size : new int[] {1, 2, 3, 1000, 1 << 14}) {
            ValueCache cache = new ValueCache(size);
            ValueGroup group = new ValueGroup(new Source(IdScope.ofStore(), cache), null);
            List<StoredValue> values = add(group, IRI, 3000);
            group.readAll();
            long kept = values.stream().filter(value -> cache.get(value.id()) == value).count();
            assertTrue(kept > 0 && kept <= Math.max(2, Integer.highestOneBit(2 * size - 1)), kept + " of " + size);
            assertTrue(values.stream().allMatch(value -> {
                StoredValue found = cache.get(value.id());
                return found == null || found == value;
            }));
        }
    }

    @Test
    void idsTellValuesApartUnlessTheyMayDifferInTheCaseOfALanguage() {
        Source source = new Source(IdScope.ofStore(), null);
        ValueGroup group = new ValueGroup(source, null);
        StoredValue first = group.add(IRI + 1);
        StoredValue second = group.add(IRI + 2);
        assertNotEquals(first, second);
        assertEquals(first, new ValueGroup(source, null).add(IRI + 1));
        assertNotEquals(group.add(STRING + 1), group.add(LITERAL));
        assertEquals(List.of(), source.reads);
        assertEquals(group.add(LITERAL), group.add(LITERAL + 1));
        assertEquals(Values.iri("http://example.org/1"), first);
    }

    @Test
    void idsOfTransactionsAndOfOtherStoresDoNotTellValuesApart() {
        IdScope store = IdScope.ofStore();
        Source committed = new Source(store, null);
        Source transaction = new Source(store.ofTransaction(), null);
        Source other = new Source(IdScope.ofStore(), null);
        StoredValue value = new ValueGroup(committed, null).add(IRI + 1);
        assertEquals(value, new ValueGroup(transaction, null).add(IRI + 1));
        assertEquals(value, new ValueGroup(other, null).add(IRI + 1));
        assertNotEquals(value, new ValueGroup(other, null).add(IRI + 2));
        assertEquals(1, committed.reads.size());
    }
}
