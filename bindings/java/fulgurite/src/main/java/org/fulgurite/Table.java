package org.fulgurite;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.fulgurite.internal.Exceptions;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.Native;

/**
 * A named table of byte keys and byte values, ordered by unsigned bytes. Threads can share it. It is valid until it or
 * its database is closed.
 */
public final class Table implements AutoCloseable {
    static final String HANDLE_NAME = "table";

    final Handle handle;
    private final String name;

    /** Kept, so that it is not collected and closed before this object. */
    private final Database database;

    Table(Database database, long raw, String name) {
        this.database = database;
        this.name = name;
        this.handle = database.child(this, raw, HANDLE_NAME, false);
    }

    /**
     * Returns the name by which the table was opened.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /**
     * Returns the name of the type of the keys.
     *
     * @return the name; empty if the table has none
     */
    public String keyType() {
        return Native.tableTypes(handle.raw())[0];
    }

    /**
     * Returns the name of the type of the values.
     *
     * @return the name; empty if the table has none
     */
    public String valueType() {
        return Native.tableTypes(handle.raw())[1];
    }

    /** Releases this object. The table itself is not changed. */
    @Override
    public void close() {
        handle.close();
    }

    @Override
    public String toString() {
        return "table " + name;
    }

    /**
     * Throws if a name has half of a surrogate pair. UTF-8 has no bytes for it, so several names would be the same.
     */
    static void checkName(String name) {
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(Objects.requireNonNull(name, "name"))) {
            throw Exceptions.invalid("the name \"" + name
                    + "\" has a surrogate without its partner, so it cannot be encoded as UTF-8; use another one");
        }
    }
}
