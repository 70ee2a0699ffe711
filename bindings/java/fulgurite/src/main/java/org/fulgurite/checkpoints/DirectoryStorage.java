package org.fulgurite.checkpoints;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A storage of checkpoints in a directory, which is created when the first file is stored. */
public final class DirectoryStorage implements CheckpointStorage {
    private final Path directory;

    /**
     * Keeps checkpoints in a directory.
     *
     * @param directory the directory, which need not exist
     */
    public DirectoryStorage(Path directory) {
        this.directory = Objects.requireNonNull(directory, "directory").toAbsolutePath();
    }

    @Override
    public void store(String name, Path file) throws IOException {
        Path path = directory.resolve(name);
        Files.createDirectories(path.getParent());
        // Under another name until it is whole.
        Path fresh = path.resolveSibling(path.getFileName() + ".new");
        Files.copy(file, fresh, StandardCopyOption.REPLACE_EXISTING);
        sync(fresh, StandardOpenOption.WRITE);
        Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
        for (Path parent = path.getParent(); parent != null && parent.startsWith(directory); parent = parent.getParent()) {
            sync(parent, StandardOpenOption.READ);
        }
    }

    private static void sync(Path path, StandardOpenOption access) throws IOException {
        try (FileChannel channel = FileChannel.open(path, access)) {
            channel.force(true);
        }
    }

    @Override
    public void fetch(String name, Path path) throws IOException {
        Files.copy(directory.resolve(name), path, StandardCopyOption.REPLACE_EXISTING);
    }

    @Override
    public void remove(String name) throws IOException {
        Path path = directory.resolve(name);
        if (!Files.deleteIfExists(path)) {
            return;
        }
        sync(path.getParent(), StandardOpenOption.READ);
        if (!path.getParent().equals(directory)) {
            removeIfEmpty(path.getParent());
        }
    }

    private static void removeIfEmpty(Path directory) throws IOException {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException expected) {
            // Other files are there.
        }
    }

    @Override
    public List<String> names() throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(Files::isRegularFile)
                    .map(file -> directory.relativize(file).toString())
                    .collect(Collectors.toList());
        } catch (NoSuchFileException nothingStored) {
            return Collections.emptyList();
        }
    }
}
