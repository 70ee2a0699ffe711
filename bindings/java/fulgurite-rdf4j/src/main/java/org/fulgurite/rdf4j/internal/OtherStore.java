package org.fulgurite.rdf4j.internal;

import java.io.File;
import org.eclipse.rdf4j.sail.SailException;

/**
 * The files of RDF4J's own stores. A new store beside them would be empty, without an error: after a change of the type
 * in a configuration, the data directory is that of the other store.
 */
public enum OtherStore {
    /** An {@code LmdbStore}. */
    LMDB("an LmdbStore", "triples/data.mdb"),
    /** A {@code NativeStore}. */
    NATIVE("a NativeStore", "values.dat"),
    /** A {@code MemoryStore} that keeps its data in a file. */
    MEMORY("a MemoryStore", "memorystore.data");

    private final String kind;
    private final String file;

    OtherStore(String kind, String file) {
        this.kind = kind;
        this.file = file;
    }

    /**
     * Throws an exception if a directory has the data of another store, and none of a Fulgurite store.
     *
     * @param directory the directory
     * @param own the file of the Fulgurite store
     * @throws SailException if so; it says how to copy the data
     */
    public static void requireNone(File directory, File own) {
        if (own.exists()) {
            return;
        }
        for (OtherStore other : values()) {
            if (new File(directory, other.file).exists()) {
                throw new SailException("the data directory " + directory + " has the data of " + other.kind + " ("
                        + other.file + "), which a FulguriteStore does not read; " + other.remedy(directory, own));
            }
        }
    }

    private String remedy(File directory, File own) {
        return this == MEMORY
                ? "copy the data to another directory with the class Migration, or name another directory"
                : "copy the data with `fulgurite rdf migrate " + directory + " " + own
                        + "` or the class Migrate, or name another directory";
    }
}
