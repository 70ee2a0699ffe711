package fulgurite.queue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;

/** Appends events at a steady rate, and sees when a follower has them. */
final class Follow {
    /** Events before those that count, in which the virtual machines compile the code. */
    private static final int WARM_UP = 200_000;

    private final Path directory;
    private final int events;
    private final int warmUp;
    private final long intervalNs;

    Follow(Path directory, int events, int rate) {
        this.directory = directory;
        this.events = events;
        this.warmUp = Math.min(WARM_UP, events);
        this.intervalNs = 1_000_000_000L / rate;
    }

    /** Prints a line for each event: when the call began, when it returned, and when the follower had the event. */
    void measure(int payloadBytes, boolean inAnotherProcess) throws Exception {
        int all = warmUp + events;
        long[] begun = new long[all];
        long[] committed = new long[all];
        CountDownLatch follows = new CountDownLatch(1);
        try (ChronicleQueue queue = Queues.open(directory);
                ExcerptAppender appender = queue.createAppender()) {
            Bytes<?> payload = Queues.payload(payloadBytes);
            // The first event creates the file, which a follower at the end needs.
            appender.writeBytes(payload);
            Callable<long[]> follow = inAnotherProcess
                    ? () -> elsewhere(all, follows::countDown)
                    : () -> Tail.follow(queue, all, follows::countDown);
            FutureTask<long[]> follower = new FutureTask<>(follow);
            Thread thread = new Thread(follower, "follower");
            thread.setDaemon(true);
            thread.start();
            while (follows.getCount() > 0 && !follower.isDone()) {
                Thread.sleep(1);
            }
            long start = System.nanoTime();
            for (int event = 0; event < all; event++) {
                long due = start + event * intervalNs;
                while (System.nanoTime() < due) {
                    Thread.onSpinWait();
                }
                begun[event] = System.nanoTime();
                appender.writeBytes(payload);
                committed[event] = System.nanoTime();
            }
            print(begun, committed, seen(follower));
        }
    }

    private static long[] seen(FutureTask<long[]> follower) throws InterruptedException {
        try {
            return follower.get();
        } catch (ExecutionException failure) {
            throw new IllegalStateException("the follower failed", failure.getCause());
        }
    }

    private void print(long[] begun, long[] committed, long[] seen) {
        StringBuilder lines = new StringBuilder();
        for (int event = warmUp; event < begun.length; event++) {
            lines.append(begun[event]).append(' ').append(committed[event]).append(' ').append(seen[event]).append('\n');
        }
        System.out.print(lines);
        System.out.flush();
    }

    /** Follows in a virtual machine of its own, with the arguments of this one. */
    private long[] elsewhere(int all, Runnable ready) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName(), "tail"));
        command.addAll(List.of(directory.toString(), Integer.toString(all)));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        Process process = builder.start();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            if (!Tail.READY.equals(out.readLine())) {
                throw new IOException("the follower did not start");
            }
            ready.run();
            return out.lines().mapToLong(Long::parseLong).toArray();
        } finally {
            process.destroy();
        }
    }
}
