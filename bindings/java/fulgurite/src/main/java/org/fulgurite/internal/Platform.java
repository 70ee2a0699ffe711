package org.fulgurite.internal;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Names of platforms: operating system, processor and, if it is musl, C library. The jars name their native libraries
 * and classifiers so, and {@code xtask/src/java.rs} has the same names.
 */
final class Platform {
    /** The platforms for which there is a jar with the native library alone. */
    private static final List<String> WITH_JAR = Arrays.asList("linux-x86_64", "linux-aarch64", "linux-x86_64-musl");

    private Platform() {}

    static String ofThisMachine() {
        return name(System.getProperty("os.name"), System.getProperty("os.arch"), usesMusl());
    }

    static String name(String system, String processor, boolean usesMusl) {
        return systemName(system.toLowerCase(Locale.ROOT)) + "-" + processorName(processor.toLowerCase(Locale.ROOT))
                + (usesMusl ? "-musl" : "");
    }

    private static String systemName(String system) {
        if (system.startsWith("linux")) {
            return "linux";
        }
        return system.startsWith("mac") ? "macos" : system.startsWith("windows") ? "windows" : system;
    }

    private static String processorName(String processor) {
        return processor.equals("amd64") ? "x86_64" : processor.equals("arm64") ? "aarch64" : processor;
    }

    /** Whether the C library of this process is musl. A system can have both, so its files do not decide. */
    private static boolean usesMusl() {
        try {
            return haveMusl(Files.readAllLines(Paths.get("/proc/self/maps"), StandardCharsets.ISO_8859_1));
        } catch (IOException absent) {
            return false;
        }
    }

    /**
     * Whether a process with these maps uses musl. Its file is named {@code ld-musl-…}, {@code libc.musl-…} or, where
     * these are links, {@code libc.so}. That of glibc has a number in its name.
     */
    static boolean haveMusl(List<String> maps) {
        for (String line : maps) {
            String file = line.substring(line.lastIndexOf('/') + 1);
            if (file.startsWith("ld-musl-") || file.startsWith("libc.musl-") || file.equals("libc.so")) {
                return true;
            }
        }
        return false;
    }

    /** The error of a platform whose library is in no jar of the class path. */
    static String missing(String platform, String version, String property) {
        String build = "build the library with `cargo build --release -p fulgurite-java` and set the system property "
                + property + " to its path";
        String none = "no jar on the class path has the native library of Fulgurite for " + platform;
        if (!WITH_JAR.contains(platform)) {
            return none + ", and no such jar is published: " + build;
        }
        return none + ": add the dependency org.fulgurite:fulgurite:" + version + " with the classifier " + platform
                + ", or " + build;
    }
}
