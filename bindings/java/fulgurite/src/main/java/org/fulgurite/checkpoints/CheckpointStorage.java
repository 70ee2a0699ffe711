package org.fulgurite.checkpoints;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Where checkpoints are kept: a directory, a distributed file system, an object store. Names consist of letters,
 * digits, {@code -}, {@code _}, {@code .} and {@code /}. A method must not call the {@link org.fulgurite.Checkpoints}
 * that calls it.
 */
public interface CheckpointStorage {
    /**
     * Stores a local file under a name, and replaces a stored file of that name. When this returns, the stored file must
     * be whole and stay, even if the power fails. The local file may be moved.
     *
     * @param name the name
     * @param file the local file
     * @throws IOException if it was not stored
     */
    void store(String name, Path file) throws IOException;

    /**
     * Copies a stored file to a local path.
     *
     * @param name the name
     * @param path the path, where there may be a file of an earlier call
     * @throws IOException if there is no such file, or it was not copied
     */
    void fetch(String name, Path path) throws IOException;

    /**
     * Removes a stored file, which must stay removed even if the power fails. One that does not exist is no error.
     *
     * @param name the name
     * @throws IOException if it was not removed
     */
    void remove(String name) throws IOException;

    /**
     * Returns the names of all stored files.
     *
     * @return the names, in any order
     * @throws IOException if they were not listed
     */
    List<String> names() throws IOException;
}
