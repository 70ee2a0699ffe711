package org.fulgurite.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.fulgurite.Database;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeLibraryTest {
    private static final Path NATIVES = Paths.get("org", "fulgurite", "native");

    @TempDir
    Path directory;

    @Test
    void platformsAreNamedAfterSystemProcessorAndMusl() {
        assertEquals("linux-x86_64", Platform.name("Linux", "amd64", false));
        assertEquals("linux-x86_64-musl", Platform.name("Linux", "amd64", true));
        assertEquals("linux-aarch64", Platform.name("Linux", "aarch64", false));
        assertEquals("macos-aarch64", Platform.name("Mac OS X", "arm64", false));
        assertEquals("windows-x86_64", Platform.name("Windows Server 2022", "amd64", false));
    }

    @Test
    void muslIsRecognisedByTheFilesThatTheProcessHasMapped() {
        String start = "7f0000000000-7f0000001000 r-xp 00000000 08:01 42                  ";
        String program = "00400000-00401000 r-xp 00000000 08:01 7                  /bin/java";
        for (String musl : Arrays.asList("/lib/ld-musl-aarch64.so.1", "/lib/libc.musl-x86_64.so.1", "/lib/libc.so")) {
            assertTrue(Platform.haveMusl(Arrays.asList(program, start + musl)), musl);
        }
        for (String other : Arrays.asList("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc-2.31.so", "[heap]", "")) {
            assertFalse(Platform.haveMusl(Arrays.asList(program, start + other)), other);
        }
    }

    @Test
    void theErrorNamesThePlatformTheClassifierAndTheProperty() {
        String known = Platform.missing("linux-x86_64-musl", "1.2.3", "fulgurite.library");
        for (String part : new String[] {
            "native library of Fulgurite for linux-x86_64-musl",
            "org.fulgurite:fulgurite:1.2.3 with the classifier linux-x86_64-musl",
            "the system property fulgurite.library",
        }) {
            assertTrue(known.contains(part), known);
        }
        String unknown = Platform.missing("macos-aarch64", "1.2.3", "fulgurite.library");
        assertTrue(unknown.contains("for macos-aarch64") && unknown.contains("fulgurite.library"), unknown);
        assertFalse(unknown.contains("classifier"), unknown);
    }

    @Test
    void aPropertyThatNamesNoFileIsNamedInTheError() throws Exception {
        Path file = Files.createFile(directory.resolve("library.so"));
        assertEquals(file, NativeLibrary.given(file.toString()));
        for (String wrong : new String[] {"", directory.toString(), directory.resolve("missing.so").toString()}) {
            Error error = assertThrows(UnsatisfiedLinkError.class, () -> NativeLibrary.given(wrong));
            assertTrue(error.getMessage().contains("the system property fulgurite.library"), error.getMessage());
            assertTrue(error.getMessage().contains(wrong.isEmpty() ? "is empty" : wrong), error.getMessage());
        }
    }

    @Test
    void aDirectoryForCopiesIsAbsoluteAndAPropertyThatNamesNoneIsAnError() throws Exception {
        String home = directory.toString();
        Path ofHome = directory.resolve(".cache").resolve("fulgurite");
        assertEquals(directory.resolve("fulgurite"), NativeLibrary.byDefault(home, home));
        for (String ignored : new String[] {null, "", "relative"}) {
            assertEquals(ofHome, NativeLibrary.byDefault(ignored, home));
        }
        Path file = Files.createFile(directory.resolve("a file"));
        for (String wrong : new String[] {"", file.toString()}) {
            String message = assertThrows(UnsatisfiedLinkError.class, () -> NativeLibrary.givenDirectory(wrong))
                    .getMessage();
            assertTrue(message.contains("fulgurite.directory " + (wrong.isEmpty() ? "is empty" : "names ")), message);
            assertTrue(message.endsWith("; let it name a directory, which need not exist, or remove it"), message);
        }
        assertEquals(directory.resolve("new"), NativeLibrary.givenDirectory(directory.resolve("new").toString()));
    }

    @Test
    void copiesThatAreNotUsedForLongAreRemoved() throws Exception {
        String hash = "0123456789abcdef0123456789abcdef";
        FileTime old = FileTime.fromMillis(1_000_000);
        List<String> copies = Arrays.asList(
                System.mapLibraryName("fulgurite_java-" + hash),
                System.mapLibraryName("fulgurite_java-" + hash + "-2"),
                "fulgurite_java123.new");
        String used = System.mapLibraryName("fulgurite_java-" + hash + "-1");
        List<String> others = Arrays.asList("notes.txt", System.mapLibraryName("fulgurite_java"), used);
        for (List<String> names : Arrays.asList(copies, others)) {
            for (String name : names) {
                Files.setLastModifiedTime(Files.createFile(directory.resolve(name)), old);
            }
        }
        NativeLibrary.touch(directory.resolve(used));
        NativeLibrary.removeOld(directory, true, FileTime.fromMillis(2_000_000));
        for (String name : copies) {
            assertTrue(Files.exists(directory.resolve(name)), name);
        }
        NativeLibrary.removeOld(directory, false, FileTime.fromMillis(2_000_000));
        for (String name : copies) {
            assertFalse(Files.exists(directory.resolve(name)), name);
        }
        for (String name : others) {
            assertTrue(Files.exists(directory.resolve(name)), name);
        }
    }

    @Test
    void aDirectoryForCopiesNeedsNoNameOfTheUserAndIsNotOpenToOthers() throws Exception {
        Path own = Files.createDirectory(directory.resolve("own"));
        // What has a copy already need not be writable.
        Files.setPosixFilePermissions(own, PosixFilePermissions.fromString("r-x------"));
        String name = System.getProperty("user.name");
        try {
            // What it is for a user without an entry in the passwd file.
            System.setProperty("user.name", "?");
            NativeLibrary.checkAccess(own, false);
        } finally {
            System.setProperty("user.name", name);
        }
        Path link = Files.createSymbolicLink(directory.resolve("link"), own);
        NativeLibrary.checkAccess(link, true);
        IOException linked = assertThrows(IOException.class, () -> NativeLibrary.checkAccess(link, false));
        assertTrue(linked.getMessage().contains("symbolic link"), linked.getMessage());
        Files.setPosixFilePermissions(own, PosixFilePermissions.fromString("rwxrwx---"));
        NativeLibrary.checkAccess(own, true);
        IOException ofGroup = assertThrows(IOException.class, () -> NativeLibrary.checkAccess(own, false));
        assertTrue(ofGroup.getMessage().contains("users of its group can write to it"), ofGroup.getMessage());
        Files.setPosixFilePermissions(own, PosixFilePermissions.fromString("rwxrwxrwx"));
        for (boolean isGiven : new boolean[] {false, true}) {
            IOException error = assertThrows(IOException.class, () -> NativeLibrary.checkAccess(own, isGiven));
            assertTrue(error.getMessage().contains("every user can write to it"), error.getMessage());
        }
        Error refused = assertThrows(UnsatisfiedLinkError.class, () -> NativeLibrary.created(own, true));
        String text = "own for the native library is refused: every user can write to it; run `chmod o-w " + own;
        assertTrue(refused.getMessage().contains(text), refused.getMessage());
        Path ofOther = directoryOfAnotherUser();
        NativeLibrary.checkAccess(ofOther, true);
        IOException error = assertThrows(IOException.class, () -> NativeLibrary.checkAccess(ofOther, false));
        assertTrue(error.getMessage().contains("it belongs to the user"), error.getMessage());
    }

    /** Only root can make a directory of another user, in most containers; for others, one of root is. */
    private Path directoryOfAnotherUser() throws IOException {
        Path other = Files.createDirectory(directory.resolve("other"));
        Files.setPosixFilePermissions(other, PosixFilePermissions.fromString("rwxr-xr-x"));
        if ((int) Files.getAttribute(other, "unix:uid") != 0) {
            return Paths.get("/usr");
        }
        boolean isPermitted = true;
        try {
            Files.setAttribute(other, "unix:uid", 65_534);
        } catch (FileSystemException error) {
            isPermitted = false;
        }
        assumeTrue(isPermitted, "this container does not permit to change the owner of a file");
        return other;
    }

    @Test
    void theLibraryIsFoundInAnotherJarOfTheClassPath() throws Exception {
        URL[] jars = {classesWithoutNatives().toUri().toURL(), jarOfNatives().toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(jars, null)) {
            Class<?> type = loader.loadClass("org.fulgurite.Database");
            Object database = type.getMethod("create", Path.class).invoke(null, directory.resolve("a.ful"));
            type.getMethod("close").invoke(database);
        }
    }

    @Test
    void withoutALibraryTheFirstUseFailsAndNamesTheClassifier() throws Exception {
        String message = messageWith(classesWithoutNatives());
        String platform = Platform.ofThisMachine();
        assertTrue(message.contains("native library of Fulgurite for " + platform), message);
        assertTrue(message.contains("with the classifier " + platform) || message.contains("no such jar"), message);
    }

    /** Returns the message of what the first use throws in a class loader of its own. */
    private String messageWith(Path... classPath) throws Exception {
        URL[] urls = new URL[classPath.length];
        for (int index = 0; index < urls.length; index++) {
            urls[index] = classPath[index].toUri().toURL();
        }
        try (URLClassLoader loader = new URLClassLoader(urls, null)) {
            Class<?> type = loader.loadClass("org.fulgurite.Database");
            Throwable thrown = assertThrows(
                    InvocationTargetException.class,
                    () -> type.getMethod("create", Path.class).invoke(null, directory.resolve("a.ful")));
            Throwable error = thrown.getCause();
            assertTrue(error instanceof UnsatisfiedLinkError, String.valueOf(error));
            return error.getMessage();
        }
    }

    /** As {@link #messageWith}, while a system property has this value. */
    private String messageWithProperty(String property, Path value, Path classes) throws Exception {
        String before = System.getProperty(property);
        System.setProperty(property, value.toString());
        try {
            return messageWith(classes);
        } finally {
            if (before == null) {
                System.clearProperty(property);
            } else {
                System.setProperty(property, before);
            }
        }
    }

    @Test
    void anotherLibraryIsRefusedWithARemedyForItsPlace() throws Exception {
        String refused = " is not the native library of Fulgurite; ";
        Path ofJava = Paths.get(System.getProperty("java.home"), "lib", System.mapLibraryName("prefs"));
        assumeTrue(Files.exists(ofJava), "this Java has its libraries elsewhere");
        Path classes = classesWithoutNatives();
        Path named = Files.copy(ofJava, directory.resolve("foreign.so"));
        assertEquals(
                "the library " + named + refused + "let fulgurite.library name the file of Fulgurite's native library "
                        + "for this platform, or do not set it",
                messageWithProperty("fulgurite.library", named, classes));
        String name = System.mapLibraryName("fulgurite_java");
        Path inPath = Files.copy(ofJava, directory.resolve(name));
        assertEquals(
                "the library " + inPath + refused + "replace this file of java.library.path by Fulgurite's native "
                        + "library for this platform, or remove it",
                messageWithProperty("java.library.path", directory, classes));
        Path jar = directory.resolve("jar");
        Path natives = Files.createDirectories(jar.resolve(NATIVES).resolve(Platform.ofThisMachine()));
        Files.copy(ofJava, natives.resolve(name));
        assertEquals(
                "the library in the jar" + refused + "replace the jar by that of org.fulgurite:fulgurite",
                messageWith(classes, jar));
    }

    private static Path classes() throws URISyntaxException {
        return Paths.get(Database.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    /** The files of the main jar, relative to its root. */
    private static List<Path> files() throws IOException, URISyntaxException {
        Path classes = classes();
        try (Stream<Path> inside = Files.walk(classes)) {
            return inside.filter(Files::isRegularFile).map(classes::relativize).collect(Collectors.toList());
        }
    }

    private Path classesWithoutNatives() throws IOException, URISyntaxException {
        Path copy = directory.resolve("classes");
        for (Path file : files()) {
            if (!file.startsWith(NATIVES)) {
                Files.createDirectories(copy.resolve(file).getParent());
                Files.copy(classes().resolve(file), copy.resolve(file));
            }
        }
        return copy;
    }

    private Path jarOfNatives() throws IOException, URISyntaxException {
        Path jar = directory.resolve("natives.jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
            for (Path file : files()) {
                if (file.startsWith(NATIVES)) {
                    out.putNextEntry(new JarEntry(file.toString()));
                    Files.copy(classes().resolve(file), out);
                }
            }
        }
        return jar;
    }
}
