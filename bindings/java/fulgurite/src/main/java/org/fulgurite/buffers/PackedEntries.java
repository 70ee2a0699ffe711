package org.fulgurite.buffers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.fulgurite.Cursor;

/**
 * Reads the entries that {@link Cursor#fill} has copied into a buffer, in their order.
 *
 * <p>An entry is: the length of its key (4 bytes, little-endian), the length of its value (likewise), the key, the
 * value. The next entry follows directly, at any alignment.
 */
public final class PackedEntries {
    /** The bytes of both lengths. */
    public static final int HEADER_BYTES = 8;

    /** The entries, little-endian, from 0 in the buffer that was given. */
    private final ByteBuffer entries;

    private int following;

    /** The beginning of the current entry's key; negative if there is no current entry. */
    private int at = -1;

    private int keyLength;
    private int valueLength;

    /**
     * Creates a reader before the first entry.
     *
     * @param entries the entries, from the position of the buffer to its limit; both stay as they are. The bytes must
     *     not change while they are read.
     */
    public PackedEntries(ByteBuffer entries) {
        this.entries = entries.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
        this.following = entries.position();
    }

    /**
     * Moves to the next entry.
     *
     * @return false if there are no more entries
     * @throws IllegalArgumentException if the buffer does not have whole entries
     */
    public boolean next() {
        at = -1;
        int left = entries.limit() - following;
        if (left == 0) {
            return false;
        }
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
        return true;
    }

    /**
     * Returns the key of the current entry.
     *
     * @return a copy of the key
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public byte[] key() {
        return bytes(keyBuffer());
    }

    /**
     * Returns the value of the current entry.
     *
     * @return a copy of the value
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public byte[] value() {
        return bytes(valueBuffer());
    }

    private static byte[] bytes(ByteBuffer part) {
        byte[] bytes = new byte[part.remaining()];
        part.get(bytes);
        return bytes;
    }

    /**
     * Returns the key of the current entry without copying it.
     *
     * @return a read-only buffer
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public ByteBuffer keyBuffer() {
        return part(keyPosition(), keyLength);
    }

    /**
     * Returns the value of the current entry without copying it.
     *
     * @return a read-only buffer
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public ByteBuffer valueBuffer() {
        return part(valuePosition(), valueLength);
    }

    private ByteBuffer part(int position, int length) {
        ByteBuffer part = entries.duplicate();
        part.limit(position + length);
        part.position(position);
        return part.slice();
    }

    /**
     * Returns where the key of the current entry begins, for reads of the buffer that create no objects.
     *
     * @return the index in the buffer of the entries
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public int keyPosition() {
        if (at < 0) {
            throw new IllegalStateException("the reader is at no entry; next() must have returned true");
        }
        return at;
    }

    /**
     * Returns where the value of the current entry begins, which is the end of its key.
     *
     * @return the index in the buffer of the entries
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public int valuePosition() {
        return keyPosition() + keyLength;
    }

    /**
     * Returns where the current entry ends, which is the end of its value.
     *
     * @return the index in the buffer of the entries
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public int endPosition() {
        return valuePosition() + valueLength;
    }
}
