package org.fulgurite.internal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.fulgurite.options.MergeFunction;

/** Calls a merge function. The native library calls it: see {@code crates/java/src/callbacks/merge_functions.rs}. */
public final class MergeCalls {
    private final MergeFunction function;

    /** Calls this function. */
    public MergeCalls(MergeFunction function) {
        this.function = function;
    }

    byte[] merge(byte[] packed) {
        ByteBuffer arguments = ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN);
        byte[] key = next(arguments);
        byte[] value = next(arguments);
        List<byte[]> operands = new ArrayList<>();
        while (arguments.hasRemaining()) {
            operands.add(next(arguments));
        }
        return function.merge(key, value, Collections.unmodifiableList(operands));
    }

    private static byte[] next(ByteBuffer arguments) {
        int length = arguments.getInt();
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        arguments.get(bytes);
        return bytes;
    }
}
