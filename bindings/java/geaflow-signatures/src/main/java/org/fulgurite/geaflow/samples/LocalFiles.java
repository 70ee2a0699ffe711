package org.fulgurite.geaflow.samples;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.geaflow.file.IPersistentIO;
import org.apache.hadoop.fs.Path;

/**
 * GeaFlow's storage of files, on the local disk. Planted faults end calls. The system property
 * {@code fulgurite.geaflow.halt} ends the virtual machine at the step of this number, counted from 0. Copies to the
 * storage have two steps, before them and in their middle; deletions have one.
 */
public class LocalFiles implements IPersistentIO {
    /** The exit code of a virtual machine that was ended at a step. */
    public static final int HALTED = 7;

    private static final int HALT_AT = Integer.getInteger("fulgurite.geaflow.halt", -1);

    /** So many calls that change something succeed; negative for all. */
    public int changesLeft = -1;

    /** How many calls have changed something. */
    public int changes;

    /** So many copies end in the middle, without an exception. */
    public int cutCopies;

    public long bytesSent;

    private int steps;

    /** Counts a step, and returns whether the virtual machine ends at it. */
    private boolean isHalt() {
        return steps++ == HALT_AT;
    }

    private static void halt() {
        Runtime.getRuntime().halt(HALTED);
    }

    private static java.nio.file.Path local(Path path) {
        return Paths.get(path.toString());
    }

    private void change() throws IOException {
        if (changesLeft == 0) {
            throw new IOException("planted");
        }
        changesLeft--;
        changes++;
    }

    @Override
    public List<String> listFileName(Path path) {
        return Arrays.stream(local(path).toFile().listFiles()).map(File::getName).collect(Collectors.toList());
    }

    @Override
    public boolean exists(Path path) {
        return Files.exists(local(path));
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        if (isHalt()) {
            halt();
        }
        change();
        if (!recursive) {
            return Files.deleteIfExists(local(path));
        }
        try (Stream<java.nio.file.Path> found = Files.walk(local(path))) {
            found.sorted(Comparator.reverseOrder()).map(java.nio.file.Path::toFile).forEach(File::delete);
        }
        return true;
    }

    private void copy(java.nio.file.Path from, java.nio.file.Path to) throws IOException {
        Files.createDirectories(to.getParent());
        if (cutCopies > 0) {
            cutCopies--;
            byte[] bytes = Files.readAllBytes(from);
            Files.write(to, Arrays.copyOf(bytes, bytes.length / 2));
            return;
        }
        Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
    }

    @Override
    public void copyFromLocalFile(Path from, Path to) throws IOException {
        if (isHalt()) {
            halt();
        }
        change();
        if (isHalt()) {
            cutCopies = 1;
            copy(local(from), local(to));
            halt();
        }
        copy(local(from), local(to));
        bytesSent += getFileSize(to);
    }

    @Override
    public void copyToLocalFile(Path from, Path to) throws IOException {
        copy(local(from), local(to));
    }

    @Override
    public long getFileSize(Path path) throws IOException {
        return Files.size(local(path));
    }
}
