package org.fulgurite.internal;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.Properties;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Loads the native library: the file that the system property {@code fulgurite.library} names, or a library in
 * {@code java.library.path}, or the one in a jar of the class path, which is copied to a directory of the user first.
 */
final class NativeLibrary {
    private static final String NAME = "fulgurite_java";

    /** The file of the library. */
    private static final String FILE_PROPERTY = "fulgurite.library";

    /** The directory for copies of the library. */
    private static final String DIRECTORY_PROPERTY = "fulgurite.directory";

    private static final String REMEDY_FOR_FILE = "; let " + FILE_PROPERTY
            + " name the file of Fulgurite's native library for this platform, or do not set it";

    private static final String REMEDY_FOR_PATH =
            "; replace this file of java.library.path by Fulgurite's native library for this platform, or remove it";

    private static final String REMEDY_FOR_JAR = "; replace the jar by that of org.fulgurite:fulgurite";

    /** A copy that no program has loaded for so long is removed. */
    private static final Duration KEPT = Duration.ofDays(30);

    /** The names of copies, and of copies that a program has not finished. */
    private static final Pattern COPY = Pattern.compile(
            Pattern.quote(System.mapLibraryName(NAME + "-@")).replace("@", "\\E[0-9a-f]{32}(-[0-9]+)?\\Q") + "|" + NAME
                    + "[0-9]+\\.new");

    /** A virtual machine loads a file for one class loader only, so each further one gets a copy. */
    private static final int COPIES_MAX = 1000;

    private static final int PART_BYTES = 1 << 16;

    /** A directory in which another user could replace the library. */
    private static final class RefusedException extends IOException {
        private static final long serialVersionUID = 1;

        RefusedException(String message) {
            super(message);
        }
    }

    /** The content of a library. It is read as a stream: it may be larger than the heap. */
    private interface Content {
        InputStream open() throws IOException;
    }

    private NativeLibrary() {}

    static void load() {
        String property = System.getProperty(FILE_PROPERTY);
        Path file = property != null ? given(property) : inLibraryPath();
        String remedy = property != null ? REMEDY_FOR_FILE : file != null ? REMEDY_FOR_PATH : REMEDY_FOR_JAR;
        if (file != null) {
            load(file, remedy);
        } else {
            loadOfJar();
        }
        String library;
        try {
            library = Native.version();
        } catch (UnsatisfiedLinkError foreign) {
            throw failed("the library " + (file == null ? "in the jar" : file)
                    + " is not the native library of Fulgurite" + remedy, foreign);
        }
        String classes = versionOfClasses();
        if (!library.equals(classes)) {
            throw new UnsatisfiedLinkError("the native library of Fulgurite has version " + library
                    + ", but its classes have version " + classes + "; use jars and a library of one version (see "
                    + FILE_PROPERTY + " and java.library.path)");
        }
    }

    private static void loadOfJar() {
        String platform = Platform.ofThisMachine();
        String resource = "org/fulgurite/native/" + platform + "/" + System.mapLibraryName(NAME);
        try (InputStream stream = open(resource)) {
            if (stream == null) {
                throw new UnsatisfiedLinkError(Platform.missing(platform, versionOfClasses(), FILE_PROPERTY));
            }
            loadCopy(hash(stream), () -> open(resource));
        } catch (IOException error) {
            throw failed("the native library cannot be read from the jar: " + error, error);
        }
    }

    /** The library that the system property names. */
    static Path given(String file) {
        Path path = Paths.get(file).toAbsolutePath();
        if (file.isEmpty() || !Files.isRegularFile(path)) {
            String offence = file.isEmpty() ? "is empty" : "names " + path + ", which is not a file";
            throw new UnsatisfiedLinkError("the system property " + FILE_PROPERTY + " " + offence + REMEDY_FOR_FILE);
        }
        return path;
    }

    /** The library in a directory of {@code java.library.path}, or null. */
    private static Path inLibraryPath() {
        String path = System.getProperty("java.library.path", "");
        for (String directory : path.split(System.getProperty("path.separator"))) {
            Path file = Paths.get(directory, System.mapLibraryName(NAME));
            if (!directory.isEmpty() && Files.isRegularFile(file)) {
                return file.toAbsolutePath();
            }
        }
        return null;
    }

    private static void load(Path file, String remedy) {
        try {
            System.load(file.toString());
        } catch (UnsatisfiedLinkError error) {
            if (!isLoadedElsewhere(error)) {
                throw failed("the native library " + file + " cannot be loaded: " + error.getMessage() + remedy, error);
            }
            try (InputStream stream = Files.newInputStream(file)) {
                loadCopy(hash(stream), () -> Files.newInputStream(file));
            } catch (IOException unreadable) {
                throw failed("the native library " + file + " cannot be read: " + unreadable, unreadable);
            }
        }
    }

    private static boolean isLoadedElsewhere(UnsatisfiedLinkError error) {
        return String.valueOf(error.getMessage()).contains("already loaded in another classloader");
    }

    /** Opens a resource of this jar or of another one, such as that of a platform. Returns null if there is none. */
    private static InputStream open(String resource) {
        InputStream own = NativeLibrary.class.getResourceAsStream("/" + resource);
        ClassLoader loader = NativeLibrary.class.getClassLoader();
        // On the module path, a class finds only what its own jar has.
        return own != null || loader == null ? own : loader.getResourceAsStream(resource);
    }

    /** Copies the library to a file that is named by its content, unless it is there already, and loads the file. */
    private static void loadCopy(String hash, Content content) {
        Path directory = directory();
        for (int copy = 0; copy < COPIES_MAX; copy++) {
            Path file = directory.resolve(System.mapLibraryName(NAME + "-" + hash + (copy == 0 ? "" : "-" + copy)));
            try {
                write(directory, file, hash, content);
            } catch (IOException error) {
                throw failed("the native library cannot be copied to " + directory + ": " + error + "; set the system "
                        + "property " + DIRECTORY_PROPERTY + " to a directory that you can write to", error);
            }
            try {
                System.load(file.toString());
                boolean isGiven = System.getProperty(DIRECTORY_PROPERTY) != null;
                removeOld(directory, isGiven, FileTime.from(Instant.now().minus(KEPT)));
                return;
            } catch (UnsatisfiedLinkError error) {
                if (!isLoadedElsewhere(error)) {
                    throw failed("the native library " + file + " cannot be loaded: " + error.getMessage()
                            + "; if the file system forbids execution (noexec), set the system property " + DIRECTORY_PROPERTY
                            + " to a directory elsewhere", error);
                }
            }
        }
        throw new UnsatisfiedLinkError("more than " + COPIES_MAX + " class loaders use Fulgurite in this process");
    }

    /**
     * Removes copies of other versions that no program has loaded since a time, as far as that is possible. A process
     * that has loaded one keeps it: on Linux, what is mapped stays; other systems refuse. Nothing is removed from a
     * directory that the system property names: an administrator may have filled it for other users.
     */
    static void removeOld(Path directory, boolean isGiven, FileTime before) {
        if (isGiven) {
            return;
        }
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                if (COPY.matcher(file.getFileName().toString()).matches()) {
                    removeIfOld(file, before);
                }
            }
        } catch (IOException | UncheckedIOException unreadable) {
            // The copies stay.
        }
    }

    private static void removeIfOld(Path copy, FileTime before) {
        try {
            if (Files.getLastModifiedTime(copy).compareTo(before) < 0) {
                Files.deleteIfExists(copy);
            }
        } catch (IOException kept) {
            // The directory may be read-only, the copy in use, or another process removes it too.
        }
    }

    /** Notes that a copy is used. Only its owner can: another user's program may remove it and write it again. */
    static void touch(Path file) {
        try {
            Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
        } catch (IOException notOwned) {
            // The copy is used all the same.
        }
    }

    private static void write(Path directory, Path file, String hash, Content content) throws IOException {
        if (Files.isRegularFile(file)) {
            touch(file);
            try (InputStream stream = Files.newInputStream(file)) {
                if (hash(stream).equals(hash)) {
                    return;
                }
            }
        }
        Path unfinished = Files.createTempFile(directory, NAME, ".new");
        try {
            try (InputStream from = content.open();
                    OutputStream to = Files.newOutputStream(unfinished)) {
                byte[] part = new byte[PART_BYTES];
                for (int count; (count = from.read(part)) >= 0; ) {
                    to.write(part, 0, count);
                }
            }
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    /** The directory for copies. Other users cannot replace them, except the owner and group of a given directory. */
    private static Path directory() {
        String given = System.getProperty(DIRECTORY_PROPERTY);
        if (given != null) {
            return created(givenDirectory(given), true);
        }
        return created(byDefault(System.getenv("XDG_CACHE_HOME"), System.getProperty("user.home")), false);
    }

    /** The directory that the system property names. */
    static Path givenDirectory(String given) {
        Path path = Paths.get(given).toAbsolutePath();
        if (given.isEmpty() || Files.exists(path) && !Files.isDirectory(path)) {
            String offence = given.isEmpty() ? "is empty" : "names " + path + ", which is not a directory";
            throw new UnsatisfiedLinkError("the system property " + DIRECTORY_PROPERTY + " " + offence
                    + "; let it name a directory, which need not exist, or remove it");
        }
        return path;
    }

    /** The directory for copies that is used if none is given. */
    static Path byDefault(String cache, String home) {
        // The XDG Base Directory Specification ignores relative paths.
        if (cache != null && Paths.get(cache).isAbsolute()) {
            return Paths.get(cache, "fulgurite");
        }
        if (home != null && Files.isWritable(Paths.get(home))) {
            return Paths.get(home, ".cache", "fulgurite");
        }
        String name = "fulgurite-" + System.getProperty("user.name");
        return Paths.get(System.getProperty("java.io.tmpdir"), name);
    }

    static Path created(Path directory, boolean isGiven) {
        try {
            Files.createDirectories(directory.getParent());
            try {
                if (directory.getFileSystem().supportedFileAttributeViews().contains("posix")) {
                    Files.createDirectory(
                            directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
                } else {
                    Files.createDirectory(directory);
                }
            } catch (FileAlreadyExistsException exists) {
                checkAccess(directory, isGiven);
            }
            return directory;
        } catch (RefusedException refused) {
            throw failed("the directory " + directory + " for the native library is refused: " + refused.getMessage()
                    + ", or name another one, which need not exist, by the system property " + DIRECTORY_PROPERTY,
                    refused);
        } catch (IOException error) {
            throw failed("the directory " + directory + " for the native library cannot be created: " + error
                    + "; set the system property " + DIRECTORY_PROPERTY + " to a directory that you can write to",
                    error);
        }
    }

    /**
     * Refuses a directory in which another user could replace the library. One that the system property names may
     * belong to another user and be open to its group, such as one that the image of a container has.
     */
    static void checkAccess(Path directory, boolean isGiven) throws IOException {
        if (!directory.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            return;
        }
        LinkOption[] links = isGiven ? new LinkOption[0] : new LinkOption[] {LinkOption.NOFOLLOW_LINKS};
        PosixFileAttributes attributes = Files.readAttributes(directory, PosixFileAttributes.class, links);
        if (!attributes.isDirectory()) {
            boolean isLink = attributes.isSymbolicLink();
            throw new RefusedException((isLink ? "it is a symbolic link" : "it is not a directory") + "; remove it");
        }
        if (attributes.permissions().contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new RefusedException("every user can write to it; run `chmod o-w " + directory + "`");
        }
        if (isGiven) {
            return;
        }
        // With an access control list, these are the permissions that its entries have at most.
        if (attributes.permissions().contains(PosixFilePermission.GROUP_WRITE)) {
            throw new RefusedException("users of its group can write to it; run `chmod g-w " + directory + "`");
        }
        if (!attributes.owner().equals(user())) {
            throw new RefusedException(
                    "it belongs to the user " + attributes.owner().getName() + "; change its owner");
        }
    }

    /** The user of this process. In a container it may have an id without a name. */
    private static UserPrincipal user() throws IOException {
        Path process = Paths.get("/proc/self");
        if (Files.exists(process)) {
            return Files.getOwner(process);
        }
        Path file = Files.createTempFile(NAME, ".owner");
        try {
            return Files.getOwner(file);
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static String hash(InputStream content) throws IOException {
        try {
            MessageDigest hash = MessageDigest.getInstance("SHA-256");
            byte[] part = new byte[PART_BYTES];
            for (int count; (count = content.read(part)) >= 0; ) {
                hash.update(part, 0, count);
            }
            StringBuilder text = new StringBuilder();
            byte[] digest = hash.digest();
            for (int index = 0; index < 16; index++) {
                text.append(String.format("%02x", digest[index]));
            }
            return text.toString();
        } catch (NoSuchAlgorithmException error) {
            throw new AssertionError("every Java platform has SHA-256", error);
        }
    }

    private static String versionOfClasses() {
        Properties properties = new Properties();
        try (InputStream stream = NativeLibrary.class.getResourceAsStream("version.properties")) {
            if (stream != null) {
                properties.load(stream);
            }
        } catch (IOException error) {
            throw failed("version.properties cannot be read from the jar: " + error, error);
        }
        return properties.getProperty("version", "unknown");
    }

    private static UnsatisfiedLinkError failed(String message, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(message);
        error.initCause(cause);
        return error;
    }
}
