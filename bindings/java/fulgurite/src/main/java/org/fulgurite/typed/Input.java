package org.fulgurite.typed;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.internal.Exceptions;

/** The bytes of a key or value that is being decoded. */
final class Input {
    private final boolean isKey;
    private final ByteBuffer buffer;
    private final String type;

    /** Reads an encoding of the type with this name. */
    Input(byte[] bytes, boolean isKey, String type) {
        this.isKey = isKey;
        this.buffer = ByteBuffer.wrap(bytes).order(Output.order(isKey));
        this.type = type;
    }

    boolean isKey() {
        return isKey;
    }

    /** Returns the exception for bytes that no value of the type has. */
    FulguriteException malformed(String reason) {
        String what = isKey ? "key" : "value";
        return Exceptions.of(
                ErrorKind.DECODE, "the stored " + what + " is not of the type " + type + ": " + reason);
    }

    private FulguriteException cut() {
        return malformed("it ends too early");
    }

    byte takeByte() {
        try {
            return buffer.get();
        } catch (BufferUnderflowException error) {
            throw cut();
        }
    }

    short takeShort() {
        try {
            return buffer.getShort();
        } catch (BufferUnderflowException error) {
            throw cut();
        }
    }

    int takeInt() {
        try {
            return buffer.getInt();
        } catch (BufferUnderflowException error) {
            throw cut();
        }
    }

    long takeLong() {
        try {
            return buffer.getLong();
        } catch (BufferUnderflowException error) {
            throw cut();
        }
    }

    /** Takes a byte that is 0 or 1. */
    boolean takeTag(String name) {
        byte tag = takeByte();
        if (tag != 0 && tag != 1) {
            throw malformed("a " + name + " begins with the byte " + (tag & 0xFF) + ", not 0 or 1");
        }
        return tag == 1;
    }

    byte[] takeBytes(int length) {
        if (length < 0 || length > buffer.remaining()) {
            throw cut();
        }
        byte[] bytes = new byte[length];
        buffer.get(bytes);
        return bytes;
    }

    /** Takes what {@link Output#putText} has put. */
    byte[] takeText(boolean isLast) {
        if (isLast) {
            return takeBytes(buffer.remaining());
        }
        return isKey ? takeEscaped() : takeBytes(takeInt());
    }

    private byte[] takeEscaped() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        while (true) {
            byte next = takeByte();
            if (next != 0) {
                bytes.write(next);
                continue;
            }
            switch (takeByte()) {
                case 0:
                    return bytes.toByteArray();
                case (byte) 0xFF:
                    bytes.write(0);
                    break;
                default:
                    throw malformed("a zero byte is followed by neither 00 nor FF");
            }
        }
    }

    /** Checks that nothing is left. */
    void finish() {
        if (buffer.hasRemaining()) {
            throw malformed(buffer.remaining() + " bytes follow it");
        }
    }
}
