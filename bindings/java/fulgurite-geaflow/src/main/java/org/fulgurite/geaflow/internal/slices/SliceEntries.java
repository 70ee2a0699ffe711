package org.fulgurite.geaflow.internal.slices;

import java.util.Arrays;
import org.fulgurite.Cursor;

/** The entries of a slice: those whose keys begin with it. */
public final class SliceEntries implements Entries {
    private final Cursor cursor;
    private final byte[] slice;

    /** The entries of a cursor whose range is in the slice. */
    public SliceEntries(Cursor cursor, byte[] slice) {
        this.cursor = cursor;
        this.slice = slice;
    }

    @Override
    public boolean next() {
        return cursor.next();
    }

    @Override
    public byte[] key() {
        byte[] key = cursor.key();
        return slice.length == 0 ? key : Arrays.copyOfRange(key, slice.length, key.length);
    }

    @Override
    public byte[] value() {
        return cursor.value();
    }

    @Override
    public void seek(byte[] key) {
        cursor.seek(Bytes.concat(slice, key));
    }
}
