package org.fulgurite.exceptions;

/** A file is damaged: restore a backup. */
public class CorruptException extends FulguriteException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param kind what failed
     * @param message the text, for people
     */
    public CorruptException(ErrorKind kind, String message) {
        super(kind, message);
    }
}
