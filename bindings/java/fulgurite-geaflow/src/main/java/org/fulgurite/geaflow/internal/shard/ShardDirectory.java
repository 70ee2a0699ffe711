package org.fulgurite.geaflow.internal.shard;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directory of an open shard. No other shard of the process has it. If the directory that a shard wants is taken,
 * the shard gets a temporary one beside it, with a number after its name.
 */
public final class ShardDirectory {
    private static final Logger LOGGER = LoggerFactory.getLogger(ShardDirectory.class);
    private static final Set<Path> TAKEN = ConcurrentHashMap.newKeySet();

    private final Path path;

    /** The directory that the shard wants: it is named after the shard, and the one above it after the state. */
    private final Path wanted;

    private final boolean isTemporary;

    private ShardDirectory(Path path, Path wanted, boolean isTemporary) {
        this.path = path;
        this.wanted = wanted;
        this.isTemporary = isTemporary;
    }

    /** Takes a directory, or a temporary one beside it. It is created if it does not exist. */
    static ShardDirectory take(Path wanted) {
        ShardDirectory taken = new ShardDirectory(wanted, wanted, false);
        for (int number = 2; !TAKEN.add(taken.path); number++) {
            taken = new ShardDirectory(wanted.resolveSibling(wanted.getFileName() + "." + number), wanted, true);
        }
        try {
            if (taken.isTemporary) {
                LOGGER.info("{} is open in this process; a second instance uses {}", wanted, taken.path);
                // A process that ended may have left it.
                taken.clear();
            }
            Files.createDirectories(taken.path);
            return taken;
        } catch (IOException failed) {
            TAKEN.remove(taken.path);
            throw notCreated(taken.path, failed);
        } catch (RuntimeException failed) {
            TAKEN.remove(taken.path);
            throw failed;
        }
    }

    /** Deletes a directory, unless a shard has it. */
    static void deleteIfFree(Path path) {
        if (TAKEN.add(path)) {
            new ShardDirectory(path, path, false).delete();
        }
    }

    Path path() {
        return path;
    }

    /** The names of the store and the shard, for messages. */
    String store() {
        return "the store " + wanted.toAbsolutePath().getParent().getFileName() + ", shard " + wanted.getFileName();
    }

    boolean isTemporary() {
        return isTemporary;
    }

    /** Deletes the files, and creates the directory if it is not there. */
    void empty() {
        clear();
        try {
            Files.createDirectories(path);
        } catch (IOException failed) {
            throw notCreated(path, failed);
        }
    }

    private static UncheckedIOException notCreated(Path path, IOException failed) {
        return new UncheckedIOException(
                "cannot create the directory " + path.toAbsolutePath() + " of a shard: " + failed
                        + "; check geaflow.work.path",
                failed);
    }

    /** Deletes the files. */
    void clear() {
        deleteAll(path);
    }

    /** Ends the use of the directory, whose files are closed. Those of a temporary one are deleted. */
    void release() {
        if (isTemporary) {
            delete();
        } else {
            TAKEN.remove(path);
        }
    }

    /** Ends the use of the directory, and deletes it. */
    void delete() {
        try {
            clear();
        } finally {
            TAKEN.remove(path);
        }
    }

    /** Deletes a directory with all that is in it. */
    public static void deleteAll(Path directory) {
        try (Stream<Path> found = Files.walk(directory)) {
            List<Path> deepestFirst = found.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
            for (Path path : deepestFirst) {
                Files.deleteIfExists(path);
            }
        } catch (NoSuchFileException nothingThere) {
            // It was deleted before.
        } catch (IOException failed) {
            throw new UncheckedIOException(
                    "cannot delete the directory " + directory.toAbsolutePath() + ": " + failed, failed);
        }
    }
}
