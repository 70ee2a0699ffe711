package org.fulgurite.internal;

import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.CorruptException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.LockedException;
import org.fulgurite.exceptions.RetryableException;
import org.fulgurite.exceptions.StorageFullException;

/** Creates the exceptions of native methods. */
public final class Exceptions {
    private static final ErrorKind[] KINDS = ErrorKind.values();

    private Exceptions() {}

    /** Called by native methods with the position of an {@link ErrorKind}. */
    static RuntimeException of(int kind, String message) {
        return of(KINDS[kind], message);
    }

    /** Returns the exception for an error of this kind. */
    public static FulguriteException of(ErrorKind kind, String message) {
        switch (kind) {
            case CONFLICT:
            case TRANSACTION_TOO_OLD:
                return new RetryableException(kind, message);
            case CLOSED:
                return new ClosedException(kind, message);
            case CORRUPT:
                return new CorruptException(kind, message);
            case LOCKED:
                return new LockedException(kind, message);
            case DISK_FULL:
            case QUOTA_EXCEEDED:
                return new StorageFullException(kind, message);
            default:
                return new FulguriteException(kind, message);
        }
    }

    /** Returns the exception for an argument that is not valid. */
    public static FulguriteException invalid(String message) {
        return of(ErrorKind.INVALID, message);
    }
}
