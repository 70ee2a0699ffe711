package org.fulgurite;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The result of {@link Database#check()}. */
public final class CheckReport {
    private final long[] counts;
    private final List<String> damages;

    CheckReport(long[] counts, String[] damages) {
        this.counts = counts;
        this.damages = Collections.unmodifiableList(Arrays.asList(damages));
    }

    /**
     * Returns whether no damage was found.
     *
     * @return whether the database is sound
     */
    public boolean isSound() {
        return damages.isEmpty();
    }

    /**
     * Returns the damaged places, each as a text that says where it is and what is wrong.
     *
     * @return the damages
     */
    public List<String> damages() {
        return damages;
    }

    /**
     * Returns the number of checked tables.
     *
     * @return the number
     */
    public long tables() {
        return counts[0];
    }

    /**
     * Returns the number of checked entries.
     *
     * @return the number
     */
    public long entries() {
        return counts[1];
    }

    /**
     * Returns the number of checked pages.
     *
     * @return the number
     */
    public long pages() {
        return counts[2];
    }

    @Override
    public String toString() {
        String checked = " (tables: " + tables() + ", entries: " + entries() + ", pages: " + pages() + ")";
        return (isSound() ? "sound" : "damaged: " + String.join("; ", damages)) + checked;
    }
}
