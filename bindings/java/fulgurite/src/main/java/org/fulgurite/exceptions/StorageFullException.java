package org.fulgurite.exceptions;

/** The disk is full, or the database has reached its maximum size. Nothing was lost. */
public class StorageFullException extends FulguriteException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param kind what failed
     * @param message the text, for people
     */
    public StorageFullException(ErrorKind kind, String message) {
        super(kind, message);
    }
}
