package org.fulgurite.geaflow.internal.slices;

import java.util.Arrays;
import org.fulgurite.Cursor;
import org.fulgurite.KeyRange;
import org.fulgurite.Table;
import org.fulgurite.Transaction;

/** The entries of a slice: those whose keys begin with it. */
public final class SliceEntries implements Entries {
    private final Cursor cursor;
    private final byte[] slice;

    /** The entries whose keys begin with the slice and then with a prefix. */
    public SliceEntries(Transaction transaction, Table table, byte[] slice, byte[] prefix) {
        this.slice = slice;
        cursor = transaction.scan(table, KeyRange.prefix(Bytes.concat(slice, prefix)));
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
