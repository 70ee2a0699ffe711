package fulgurite.states;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Directories of the benchmark. */
final class Scratch {
    private Scratch() {}

    static Path create(Path parent) {
        try {
            Files.createDirectories(parent);
            return Files.createTempDirectory(parent, "states");
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** Deletes a directory with all that is in it. */
    static void delete(Path directory) {
        try (Stream<Path> found = Files.walk(directory)) {
            List<Path> deepestFirst = found.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
            for (Path path : deepestFirst) {
                Files.delete(path);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
