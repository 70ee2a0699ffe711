package org.fulgurite.geaflow.internal.runtime;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.geaflow.file.IPersistentIO;
import org.fulgurite.checkpoints.CheckpointStorage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps the checkpoints of a shard in GeaFlow's storage of files. */
public final class RemoteStorage implements CheckpointStorage {
    private static final Logger LOGGER = LoggerFactory.getLogger(RemoteStorage.class);
    private static final int ATTEMPTS = 3;
    private static final String DATA = "data";
    private static final String COMMIT = "_commit";

    private final IPersistentIO files;
    private final String root;

    /**
     * What directories of committed checkpoints have, as it was listed. Another process may have changed them since:
     * the engine reads manifests again before it removes what they do not name, and before it reuses segments.
     */
    private final Map<String, List<String>> committed = new HashMap<>();

    /** Keeps checkpoints below a path. */
    public RemoteStorage(IPersistentIO files, String root) {
        this.files = files;
        this.root = root;
    }

    private org.apache.hadoop.fs.Path remote(String name) {
        return new org.apache.hadoop.fs.Path(root + "/" + name);
    }

    private static org.apache.hadoop.fs.Path local(Path path) {
        return new org.apache.hadoop.fs.Path(path.toString());
    }

    private interface Copy {
        void run() throws IOException;
    }

    /** Copies a file, and again if the copy fails or has another size. */
    private void copy(String name, Path local, Copy copy) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                copy.run();
                long remoteBytes = files.getFileSize(remote(name));
                long localBytes = Files.size(local);
                if (remoteBytes == localBytes) {
                    return;
                }
                throw new IOException(remote(name) + " has " + remoteBytes + " bytes, and the local file " + localBytes);
            } catch (IOException | RuntimeException failed) {
                // Clients of object stores throw exceptions of their own.
                if (attempt == ATTEMPTS) {
                    throw failed;
                }
                LOGGER.warn("copying {} failed, attempt {} of {}", remote(name), attempt, ATTEMPTS, failed);
            }
        }
    }

    @Override
    public void store(String name, Path file) throws IOException {
        committed.remove(directoryOf(name));
        copy(name, file, () -> files.copyFromLocalFile(local(file), remote(name)));
    }

    @Override
    public void fetch(String name, Path path) throws IOException {
        copy(name, path, () -> files.copyToLocalFile(remote(name), local(path)));
        allowOwnerOnly(path);
    }

    /**
     * The engine creates files with these rights. GeaFlow's storages create them with those of the process. Some file
     * systems cannot change rights: the file can be used nevertheless.
     */
    static void allowOwnerOnly(Path path) {
        PosixFileAttributeView rights = Files.getFileAttributeView(path, PosixFileAttributeView.class);
        if (rights == null) {
            return;
        }
        try {
            rights.setPermissions(EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));
        } catch (IOException | UnsupportedOperationException refused) {
            LOGGER.warn("{} keeps the rights that its storage gave it", path, refused);
        }
    }

    @Override
    public void remove(String name) throws IOException {
        String directory = directoryOf(name);
        committed.remove(directory);
        files.delete(remote(name), false);
        // The directory of data stays.
        boolean mayBeEmpty = !directory.equals(DATA) && files.exists(remote(directory));
        if (mayBeEmpty && files.listFileName(remote(directory)).isEmpty()) {
            files.delete(remote(directory), true);
        }
    }

    private static String directoryOf(String name) {
        return name.substring(0, name.lastIndexOf('/'));
    }

    /** Forgets what was listed: the next list is of what is there. */
    public void forgetListed() {
        committed.clear();
    }

    /** The names in a directory, each of them once; none if it does not exist. */
    public List<String> list(String name) throws IOException {
        return files.exists(remote(name)) ? listExisting(name) : Collections.emptyList();
    }

    /** GeaFlow's storages on object stores may list a directory as often as it has files. */
    private List<String> listExisting(String name) throws IOException {
        return files.listFileName(remote(name)).stream().distinct().collect(Collectors.toList());
    }

    /**
     * The files in directories below the root. There are none elsewhere: every name has one directory. Directories of
     * checkpoints are not listed again after they were found to be committed.
     */
    @Override
    public List<String> names() throws IOException {
        List<String> directories = listFound("");
        committed.keySet().retainAll(directories);
        List<String> names = new ArrayList<>();
        for (String directory : directories) {
            if (directory.startsWith("meta.") || directory.equals(DATA)) {
                for (String file : listed(directory)) {
                    names.add(directory + "/" + file);
                }
            }
        }
        return names;
    }

    private List<String> listed(String directory) throws IOException {
        List<String> known = committed.get(directory);
        if (known != null) {
            return known;
        }
        List<String> found = listFound(directory);
        if (found.contains(COMMIT)) {
            committed.put(directory, found);
        }
        return found;
    }

    /** The names in a directory that should be there. Only if that fails is it looked for: it may be gone. */
    private List<String> listFound(String name) throws IOException {
        try {
            return listExisting(name);
        } catch (IOException | RuntimeException gone) {
            return list(name);
        }
    }
}
