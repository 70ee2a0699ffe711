package org.fulgurite.changes;

import java.util.Optional;
import java.util.OptionalLong;

/** The table of a {@link Change}. */
public final class ChangedTable {
    private static final long NO_ID = -1;

    private final long id;
    private final String name;

    ChangedTable(long id, String name) {
        this.id = id;
        this.name = name;
    }

    /**
     * Returns the number of the table. Renaming does not change it, and no later table gets it.
     *
     * @return the number; nothing for a dropped table that was created before the feed begins
     */
    public OptionalLong id() {
        return id == NO_ID ? OptionalLong.empty() : OptionalLong.of(id);
    }

    /**
     * Returns the name of the table.
     *
     * @return the name; nothing for a table that was created before the first commit of the feed and dropped before
     *     the feed was opened. A later commit of the feed drops it, so its changes can be skipped.
     */
    public Optional<String> name() {
        return Optional.ofNullable(name);
    }

    @Override
    public String toString() {
        return "table " + (name == null ? "without a name" : name);
    }
}
