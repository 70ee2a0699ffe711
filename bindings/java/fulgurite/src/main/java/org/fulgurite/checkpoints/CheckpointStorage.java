package org.fulgurite.checkpoints;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * A storage of checkpoints, such as a directory, a distributed file system or an object store. Names consist of
 * letters, digits, {@code -}, {@code _}, {@code .} and {@code /}. Methods are called on the thread that uses the {@link
 * org.fulgurite.Checkpoints}, one at a time. They must not use that object.
 */
public interface CheckpointStorage {
    /**
     * Stores a local file under a name, and replaces a stored file of that name. When this returns, the stored file
     * must be complete and survive a power cut. The method may move the local file.
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
     * Removes a stored file. The removal must survive a power cut. If there is no such file, this does nothing.
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
