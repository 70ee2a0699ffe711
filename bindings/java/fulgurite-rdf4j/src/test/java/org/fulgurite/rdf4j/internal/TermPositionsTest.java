package org.fulgurite.rdf4j.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.junit.jupiter.api.Test;

class TermPositionsTest {
    /** Values that are equal to few others, and some that have the same hash code. */
    private static Value value(Random random) {
        int number = random.nextInt(3000);
        switch (random.nextInt(5)) {
            case 0:
                return Values.bnode("n" + number);
            case 1:
                return Values.literal("n" + number, random.nextBoolean() ? "de" : "DE");
            case 2:
                return Values.literal(number % 50);
            case 3:
                return Values.literal("http://example.org/n" + number);
            default:
                // "Aa" and "BB" have one hash code.
                return Values.iri("http://example.org/n" + number + (random.nextBoolean() ? "Aa" : "BB"));
        }
    }

    @Test
    void termsHaveTheirPositionsUntilTheyAreRemoved() {
        TermPositions positions = new TermPositions();
        for (long seed = 0; seed < 3; seed++) {
            Random random = new Random(seed);
            Map<Value, Integer> expected = new HashMap<>();
            for (int step = 0; step < 20_000; step++) {
                Value value = value(random);
                Integer known = expected.get(value);
                int found = positions.find(value);
                assertEquals(known == null ? TermPositions.NONE : known, found, "seed " + seed + ": " + value);
                if (known == null) {
                    assertEquals(expected.size(), positions.add(value));
                    expected.put(value, expected.size());
                }
                assertEquals(expected.size(), positions.count());
            }
            positions.clear();
            assertEquals(0, positions.count());
            assertEquals(TermPositions.NONE, positions.find(Values.literal(1)));
        }
    }

    @Test
    void theHashCodeIsThatOfTheTerm() {
        for (long seed = 0; seed < 1000; seed++) {
            Value value = value(new Random(seed));
            assertEquals(value.hashCode(), TermPositions.hashCodeOf(value), value::toString);
        }
    }

    @Test
    void termsAreTheSameIfTheyAreEqual() {
        Value iri = Values.iri("http://example.org/a");
        assertTrue(TermPositions.isSame(iri, Values.iri("http://example.org/", "a")));
        assertFalse(TermPositions.isSame(iri, Values.literal("http://example.org/a")));
        assertFalse(TermPositions.isSame(Values.literal("http://example.org/a"), iri));
        assertFalse(TermPositions.isSame(null, iri));
        assertTrue(TermPositions.isSame(Values.bnode("a"), Values.bnode("a")));
        assertFalse(TermPositions.isSame(Values.bnode("a"), Values.bnode("b")));
    }
}
