package org.fulgurite.internal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Objects;
import org.fulgurite.Entry;

/**
 * Packs the entries of an iterator into batches, in the form that {@code crates/java/src/batch.rs} describes. A bulk
 * load calls it.
 */
public final class EntryBuffer {
    private static final int BATCH_BYTES = 256 << 10;
    private static final int HEADER_BYTES = 8;

    private final Iterator<? extends Entry> entries;
    private byte[] bytes = new byte[BATCH_BYTES];

    /** An entry that did not fit into the last batch. */
    private Entry left;

    /** Packs the entries of this iterator. */
    public EntryBuffer(Iterator<? extends Entry> entries) {
        this.entries = Objects.requireNonNull(entries, "entries");
    }

    /** Returns the next entries, or null if there are no more. */
    public byte[] next() {
        ByteBuffer batch = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        while (left != null || entries.hasNext()) {
            Entry entry = left != null ? left : Objects.requireNonNull(entries.next(), "an entry is null");
            long needed = (long) HEADER_BYTES + entry.key().length + entry.value().length;
            if (needed > batch.remaining()) {
                left = entry;
                if (batch.position() > 0) {
                    break;
                }
                batch = larger(needed);
            }
            left = null;
            batch.putInt(entry.key().length).putInt(entry.value().length).put(entry.key()).put(entry.value());
        }
        return batch.position() == 0 ? null : Arrays.copyOf(bytes, batch.position());
    }

    private ByteBuffer larger(long needed) {
        if (needed > Integer.MAX_VALUE - 16) {
            throw Exceptions.invalid("an entry has " + needed + " bytes; a load from Java takes less than 2 GiB");
        }
        bytes = new byte[(int) needed];
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
