package org.apache.geaflow.file;

import java.util.concurrent.atomic.AtomicReference;
import org.apache.geaflow.common.config.Configuration;

/** Builds the storage of files that the configuration names. */
public final class PersistentIOBuilder {
    /** What is built. GeaFlow does not have this: tests set it. */
    public static final AtomicReference<IPersistentIO> STORAGE = new AtomicReference<>();

    private PersistentIOBuilder() {}

    public static IPersistentIO build(Configuration configuration) {
        return STORAGE.get();
    }
}
