package fulgurite.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The largest private memory (RssAnon) of this process, looked at every few milliseconds. */
final class MemoryWatch extends Thread {
    private volatile boolean ended;
    private long largest;

    private MemoryWatch() {
        setDaemon(true);
    }

    static MemoryWatch begin() {
        MemoryWatch watch = new MemoryWatch();
        watch.start();
        return watch;
    }

    @Override
    public void run() {
        while (!ended) {
            largest = Math.max(largest, privateBytes());
            try {
                Thread.sleep(INTERVAL_MS);
            } catch (InterruptedException interrupted) {
                return;
            }
        }
    }

    long finish() throws InterruptedException {
        ended = true;
        join();
        return Math.max(largest, privateBytes());
    }

    private static long privateBytes() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("RssAnon:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
                }
            }
        } catch (IOException absent) {
            return 0;
        }
        return 0;
    }

    private static final int INTERVAL_MS = 10;
}
