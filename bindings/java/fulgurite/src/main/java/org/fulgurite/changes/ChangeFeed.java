package org.fulgurite.changes;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.Native;

/**
 * The commits after a given one, in order, up to the newest commit that was durable when the feed was opened. See
 * {@link org.fulgurite.Database#changes}. Close it: it keeps a snapshot and its part of the log until then. Use a feed
 * on one thread at a time.
 */
public final class ChangeFeed implements Iterator<Commit>, AutoCloseable {
    private static final int BATCH_BYTES = 256 << 10;

    private static final Change.Kind[] KINDS = Change.Kind.values();

    private final Handle handle;

    /** Kept, so that it is not collected and closed before this object. */
    private final Object database;

    /** The commits that were fetched and not returned yet; null at the end. */
    private ByteBuffer batch = ByteBuffer.allocate(0);

    /**
     * Opens a feed. Programs call {@link org.fulgurite.Database#changes} instead.
     *
     * @param database the database, which stays reachable
     * @param open opens the handle of this object
     */
    public ChangeFeed(Object database, Function<ChangeFeed, Handle> open) {
        this.database = database;
        this.handle = open.apply(this);
    }

    @Override
    public boolean hasNext() {
        if (batch != null && !batch.hasRemaining()) {
            byte[] fetched = Native.nextChanges(handle.raw(), BATCH_BYTES);
            batch = fetched == null ? null : ByteBuffer.wrap(fetched).order(ByteOrder.LITTLE_ENDIAN);
        }
        return batch != null;
    }

    @Override
    public Commit next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        int start = batch.position();
        boolean isRead = false;
        try {
            long sequence = batch.getLong();
            int count = batch.getInt();
            List<Change> changes = new ArrayList<>(count);
            for (int index = 0; index < count; index++) {
                changes.add(change());
            }
            isRead = true;
            return new Commit(sequence, changes);
        } finally {
            if (!isRead) {
                // Without memory for the commit, the next call returns it.
                batch.position(start);
            }
        }
    }

    private Change change() {
        Change.Kind kind = KINDS[batch.get()];
        long id = batch.getLong();
        byte[] name = part();
        ChangedTable table = new ChangedTable(id, name == null ? null : text(name));
        byte[] key = part();
        byte[] value = part();
        switch (kind) {
            case PUT:
                return new Change(kind, table, key, value, value.length, null);
            case SUPERSEDED:
                long length = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).getLong();
                return new Change(kind, table, key, null, length, null);
            case DELETE:
                return new Change(kind, table, key, null, 0, null);
            case TABLE_RENAMED:
                return new Change(kind, table, null, null, 0, text(key));
            default:
                return new Change(kind, table, null, null, 0, null);
        }
    }

    private byte[] part() {
        int length = batch.getInt();
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        batch.get(bytes);
        return bytes;
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Releases the snapshot and the log. A second call does nothing. */
    @Override
    public void close() {
        handle.close();
    }
}
