package org.fulgurite.buffers;

import java.nio.ByteBuffer;
import org.fulgurite.Cursor;
import org.fulgurite.internal.EntryReader;

/**
 * Reads the entries that {@link Cursor#fill} has copied into a buffer, in their order.
 *
 * <p>An entry is: the length of its key (4 bytes, little-endian), the length of its value (likewise), the key, the
 * value. The next entry follows directly, at any alignment.
 */
public final class PackedEntries {
    /** The bytes of both lengths. */
    public static final int HEADER_BYTES = EntryReader.HEADER_BYTES;

    private final EntryReader reader;

    /**
     * Creates a reader before the first entry.
     *
     * @param entries the entries, from the position of the buffer to its limit; both stay as they are. The bytes must
     *     not change while they are read.
     */
    public PackedEntries(ByteBuffer entries) {
        this.reader = new EntryReader(entries);
    }

    /**
     * Moves to the next entry.
     *
     * @return false if there are no more entries
     * @throws IllegalArgumentException if the buffer does not have whole entries
     */
    public boolean next() {
        if (!reader.hasNext()) {
            reader.leave();
            return false;
        }
        reader.next();
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
        return reader.keyBuffer();
    }

    /**
     * Returns the value of the current entry without copying it.
     *
     * @return a read-only buffer
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public ByteBuffer valueBuffer() {
        return reader.valueBuffer();
    }

    /**
     * Returns where the key of the current entry begins, for reads of the buffer that create no objects.
     *
     * @return the index in the buffer of the entries
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public int keyPosition() {
        return reader.keyPosition();
    }

    /**
     * Returns where the value of the current entry begins, which is the end of its key.
     *
     * @return the index in the buffer of the entries
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public int valuePosition() {
        return reader.valuePosition();
    }

    /**
     * Returns where the current entry ends, which is the end of its value.
     *
     * @return the index in the buffer of the entries
     * @throws IllegalStateException before the first call of {@link #next()}, and after the last entry
     */
    public int endPosition() {
        return reader.endPosition();
    }
}
