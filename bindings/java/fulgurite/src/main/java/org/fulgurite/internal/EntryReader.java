package org.fulgurite.internal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Reads the entries in a buffer one after the other. {@link org.fulgurite.buffers.PackedEntries} describes their
 * format, and {@code crates/java/src/batch.rs} writes it.
 */
public final class EntryReader {
    /** The bytes of both lengths. */
    public static final int HEADER_BYTES = 8;

    /** The entries, little-endian, from 0 in the buffer that was given. */
    private final ByteBuffer entries;

    private final int end;
    private int following;

    /** The beginning of the current entry's key; negative if there is no current entry. */
    private int at = -1;

    private int keyLength;
    private int valueLength;

    /** Reads the entries from the position of a buffer to its limit. */
    public EntryReader(ByteBuffer entries) {
        this.entries = entries.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
        this.following = entries.position();
        this.end = entries.limit();
    }

    /** Returns whether an entry follows the current one. */
    public boolean hasNext() {
        return following < end;
    }

    /** Returns where the entry after the current one begins; the end of the entries if there is none. */
    public int nextPosition() {
        return following;
    }

    /** Returns how many bytes the entry after the current one has with its lengths. There must be one. */
    public long nextBytes() {
        return (long) HEADER_BYTES + entries.getInt(following) + entries.getInt(following + 4);
    }

    /** Moves to the entry after the current one. Throws {@link IllegalArgumentException} if it is not whole. */
    public void next() {
        at = -1;
        int left = end - following;
        if (left >= HEADER_BYTES) {
            keyLength = entries.getInt(following);
            valueLength = entries.getInt(following + 4);
        }
        if (left < HEADER_BYTES
                || keyLength < 0
                || valueLength < 0
                || (long) HEADER_BYTES + keyLength + valueLength > left) {
            throw new IllegalArgumentException(
                    "there is no whole entry at " + following + "; flip the buffer after Cursor.fill");
        }
        at = following + HEADER_BYTES;
        following = at + keyLength + valueLength;
    }

    /** Leaves the current entry, so that there is none. The next one stays as it is. */
    public void leave() {
        at = -1;
    }

    /** Returns where the key of the current entry begins. Throws {@link IllegalStateException} if there is no entry. */
    public int keyPosition() {
        if (at < 0) {
            throw new IllegalStateException("there is no current entry; next() must have returned true");
        }
        return at;
    }

    /** Returns where the value of the current entry begins, as {@link #keyPosition}. */
    public int valuePosition() {
        return keyPosition() + keyLength;
    }

    /** Returns where the current entry ends, as {@link #keyPosition}. */
    public int endPosition() {
        return valuePosition() + valueLength;
    }

    /** Returns the key of the current entry in a read-only buffer, as {@link #keyPosition}. */
    public ByteBuffer keyBuffer() {
        return part(keyPosition(), keyLength);
    }

    /** Returns the value of the current entry in a read-only buffer, as {@link #keyPosition}. */
    public ByteBuffer valueBuffer() {
        return part(valuePosition(), valueLength);
    }

    private ByteBuffer part(int position, int length) {
        ByteBuffer part = entries.duplicate();
        part.limit(position + length);
        part.position(position);
        return part.slice();
    }
}
