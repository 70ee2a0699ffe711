package org.fulgurite.rdf4j.internal;

import org.eclipse.rdf4j.sail.SailLockedException;
import org.fulgurite.exceptions.LockedException;

/**
 * Another process or class loader has the file of a store open for writing, or this one has it under another name.
 * RDF4J's own message would not say which one.
 */
public final class StoreLockedException extends SailLockedException {
    private static final long serialVersionUID = 1L;
    private static final String REMEDY =
            "; shut it down there, or let both programs use a server (`fulgurite rdf serve`)";

    /** In the message of the engine if this process has the file open. */
    private static final String IS_HERE = ": this process already has the database open";

    /**
     * Creates the exception.
     *
     * @param path the path of the file
     * @param cause the exception of the engine, which has the message
     */
    public StoreLockedException(String path, LockedException cause) {
        super(path);
        initCause(cause);
    }

    @Override
    public String getMessage() {
        String message = getCause().getMessage();
        if (message.contains(IS_HERE)) {
            return message;
        }
        // The engine's remedies come last. A store has others: it does not wait, and is not opened to be read only.
        int remedies = message.lastIndexOf("; ");
        return (remedies < 0 ? message : message.substring(0, remedies)) + REMEDY;
    }
}
