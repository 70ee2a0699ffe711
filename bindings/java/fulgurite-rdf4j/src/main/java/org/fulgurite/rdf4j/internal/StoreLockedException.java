package org.fulgurite.rdf4j.internal;

import org.eclipse.rdf4j.sail.SailLockedException;
import org.fulgurite.exceptions.LockedException;

/**
 * Another process or class loader has the file of a store open for writing, or this one has it under another name.
 * RDF4J's own message would not say which one.
 */
public final class StoreLockedException extends SailLockedException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param path the path of the file
     * @param cause the exception of the native library, which has the message
     */
    public StoreLockedException(String path, LockedException cause) {
        super(path);
        initCause(cause);
    }

    @Override
    public String getMessage() {
        return getCause().getMessage();
    }
}
