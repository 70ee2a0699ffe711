package fulgurite.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class BarsTest {
    private final Figures figures = new Figures();

    private void add(String benchmark, String engine, double nanoseconds) {
        figures.add("1000", benchmark, engine, nanoseconds);
    }

    @Test
    void aRivalMustTakeSoManyTimesTheTime() {
        add("get", "fulgurite", 100);
        add("get", "lmdbjava", 300);
        add("putBatch", "fulgurite", 100);
        add("putBatch", "rocksdbjni", 299);
        Bars bars = new Bars(figures);
        assertTrue(bars.lines.get(0).startsWith("met    get, 1000 records, beside lmdbjava: 3.00 × (bar ≥ 3.0"));
        assertTrue(bars.lines.get(1).startsWith("MISSED putBatch, 1000 records, beside rocksdbjni: 2.99 ×"));
        assertEquals("bars: 1 of 2 met (4 more not measured)", bars.lines.get(2));
        assertFalse(bars.allMet());
    }

    @Test
    void aCrossingIsTheDifferenceToTheMeanFromRust() {
        add("get", "fulgurite", 130);
        add("get", "rust", 90);
        add("get", "rust", 110);
        add("scan", "fulgurite", 13.5);
        add("scan", "rust", 10);
        Bars bars = new Bars(figures);
        assertTrue(bars.lines.get(0).startsWith("met    crossing of get, 1000 records: 30.00 ns (bar ≤ 30.0; 130"));
        assertTrue(bars.lines.get(1).startsWith("MISSED crossing of scan, 1000 records: 3.50 ns (bar ≤ 3.0"));
    }

    @Test
    void everyNumberOfRecordsIsJudgedAndRivalsWithoutBarsAreNot() {
        for (String records : new String[] {"1000", "2000"}) {
            figures.add(records, "scan", "fulgurite", 10);
            figures.add(records, "scan", "lmdbjava", 20);
            figures.add(records, "scan", "rocksdbjni", 1);
        }
        Bars bars = new Bars(figures);
        assertEquals(3, bars.lines.size());
        assertEquals("bars: 2 of 2 met (10 more not measured)", bars.lines.get(2));
        assertTrue(bars.allMet());
    }
}
