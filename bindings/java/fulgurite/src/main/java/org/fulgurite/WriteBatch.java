package org.fulgurite;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import org.fulgurite.internal.Exceptions;

/**
 * A list of changes of one table, for {@link WriteTransaction#apply}. It can be used again after {@link #clear()}. Use
 * a batch on one thread at a time. A change that would make it larger than 2 GiB throws an exception of the kind {@code
 * INVALID}.
 */
public final class WriteBatch {
    private static final byte PUT = 0;
    private static final byte DELETE = 1;
    private static final byte MERGE = 2;

    private static final int HEADER_BYTES = 9;
    private static final int FIRST_BYTES = 4 << 10;
    private static final byte[] EMPTY = new byte[0];

    private ByteBuffer buffer = allocate(FIRST_BYTES);
    private int changes;

    /** Creates an empty batch. */
    public WriteBatch() {}

    private static ByteBuffer allocate(int bytes) {
        return wrap(new byte[bytes]);
    }

    private static ByteBuffer wrap(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private WriteBatch add(byte change, byte[] key, byte[] value) {
        Objects.requireNonNull(key, "key");
        Objects.requireNonNull(value, change == MERGE ? "operand" : "value");
        long needed = (long) HEADER_BYTES + key.length + value.length;
        reserve(needed);
        buffer.put(change).putInt(key.length).putInt(value.length).put(key).put(value);
        changes++;
        return this;
    }

    private void reserve(long bytes) {
        if (bytes <= buffer.remaining()) {
            return;
        }
        long needed = buffer.position() + bytes;
        if (needed > Integer.MAX_VALUE - 16) {
            throw Exceptions.invalid("the batch would have " + needed + " bytes; apply it in parts");
        }
        int capacity = (int) Math.min(Integer.MAX_VALUE - 16, Math.max(needed, 2L * buffer.capacity()));
        int length = buffer.position();
        buffer = wrap(Arrays.copyOf(buffer.array(), capacity));
        // As a call of Buffer: ByteBuffer overrides it since Java 9 only.
        ((java.nio.Buffer) buffer).position(length);
    }

    /**
     * Adds a {@link WriteTransaction#put}.
     *
     * @param key the key
     * @param value the value
     * @return this
     */
    public WriteBatch put(byte[] key, byte[] value) {
        return add(PUT, key, value);
    }

    /**
     * Adds a {@link WriteTransaction#delete}.
     *
     * @param key the key
     * @return this
     */
    public WriteBatch delete(byte[] key) {
        return add(DELETE, key, EMPTY);
    }

    /**
     * Adds a {@link WriteTransaction#merge}.
     *
     * @param key the key
     * @param operand the operand
     * @return this
     */
    public WriteBatch merge(byte[] key, byte[] operand) {
        return add(MERGE, key, operand);
    }

    /**
     * Returns the number of changes.
     *
     * @return the number
     */
    public int size() {
        return changes;
    }

    /** Removes all changes, and keeps the memory for new ones. */
    public void clear() {
        ((java.nio.Buffer) buffer).clear();
        changes = 0;
    }

    byte[] bytes() {
        return buffer.array();
    }

    int length() {
        return buffer.position();
    }
}
