package org.fulgurite.typed;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The bytes of a key or value that is being encoded. */
final class Output {
    /** Whether it encodes a key. */
    final boolean isKey;

    private ByteBuffer buffer = ByteBuffer.allocate(32);

    Output(boolean isKey) {
        this.isKey = isKey;
        buffer.order(order(isKey));
    }

    /** Numbers of keys are big-endian, so that they sort; those of values are little-endian. */
    static ByteOrder order(boolean isKey) {
        return isKey ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    }

    private ByteBuffer room(int bytes) {
        if (buffer.remaining() < bytes) {
            int capacity = Math.max(2 * buffer.capacity(), Math.addExact(buffer.position(), bytes));
            ByteBuffer larger = ByteBuffer.allocate(capacity).order(buffer.order());
            buffer.flip();
            buffer = larger.put(buffer);
        }
        return buffer;
    }

    void putByte(int value) {
        room(1).put((byte) value);
    }

    void putShort(int value) {
        room(2).putShort((short) value);
    }

    void putInt(int value) {
        room(4).putInt(value);
    }

    void putLong(long value) {
        room(8).putLong(value);
    }

    void putBytes(byte[] bytes) {
        room(bytes.length).put(bytes);
    }

    /** Appends bytes of any length: as they are if nothing follows, otherwise in a form that shows where they end. */
    void putText(byte[] bytes, boolean isLast) {
        if (isLast) {
            putBytes(bytes);
        } else if (isKey) {
            putEscaped(bytes);
        } else {
            putInt(bytes.length);
            putBytes(bytes);
        }
    }

    private void putEscaped(byte[] bytes) {
        for (byte value : bytes) {
            putByte(value);
            if (value == 0) {
                putByte(0xFF);
            }
        }
        putShort(0);
    }

    byte[] bytes() {
        return Arrays.copyOf(buffer.array(), buffer.position());
    }
}
