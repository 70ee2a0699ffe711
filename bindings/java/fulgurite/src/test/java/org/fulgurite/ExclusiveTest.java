package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.options.Isolation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Exclusive transactions, and what waits for them. */
class ExclusiveTest extends WithDatabase {
    private static final byte[] KEY = {1};

    private void put() {
        database.write(txn -> txn.put(table, KEY, KEY));
    }

    @Test
    void anExclusiveTransactionNeverConflicts() throws Exception {
        WriteTransaction exclusive =
                database.beginExclusive(Duration.ofSeconds(1)).get();
        FutureTask<Optional<WriteTransaction>> other =
                start(() -> database.beginExclusive(Duration.ofMillis(1)), new CountDownLatch(1), new Thread[1]);
        assertEquals(Optional.empty(), other.get(1, TimeUnit.MINUTES));
        // On its thread, other changes would wait for ever.
        assertThrows(IllegalStateException.class, () -> database.beginExclusive(Duration.ofDays(1)));
        assertThrows(IllegalStateException.class, database::beginWrite);
        assertThrows(IllegalStateException.class, this::put);
        assertThrows(IllegalStateException.class, () -> database.openOrCreateTable("other"));
        database.openOrCreateTable("t");
        exclusive.put(table, KEY, KEY);
        exclusive.commit();
        assertEquals(1, database.get(table, KEY).length);
        put();
        // Closing the database ends an open one.
        database.beginExclusive(Duration.ZERO).get();
        database.close();
    }

    /** Runs a call on another thread, which counts down first. */
    private static <T> FutureTask<T> start(Callable<T> call, CountDownLatch begun, Thread[] thread) {
        FutureTask<T> task = new FutureTask<>(() -> {
            begun.countDown();
            return call.call();
        });
        thread[0] = new Thread(task);
        thread[0].start();
        return task;
    }

    /** What a call throws on another thread that is interrupted. */
    private static Throwable thrownByInterrupt(Executable call) throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        Thread[] waiting = new Thread[1];
        FutureTask<Throwable> thrown = start(() -> assertThrows(Throwable.class, call), begun, waiting);
        begun.await();
        waiting[0].interrupt();
        return thrown.get(1, TimeUnit.MINUTES);
    }

    @Test
    void anInterruptEndsTheWaitForAnExclusiveTransaction() throws Exception {
        try (WriteTransaction exclusive = database.beginExclusive(Duration.ZERO).get()) {
            Throwable thrown = thrownByInterrupt(() -> database.beginExclusive(Duration.ofDays(1)));
            assertInstanceOf(InterruptedException.class, thrown);
            for (Executable wait : new Executable[] {
                database::beginWrite, () -> database.beginWrite(Isolation.SNAPSHOT), this::put
            }) {
                thrown = thrownByInterrupt(() -> {
                    try {
                        wait.execute();
                    } finally {
                        assertTrue(Thread.interrupted());
                    }
                });
                assertEquals(ErrorKind.STOPPED, assertInstanceOf(FulguriteException.class, thrown).kind());
            }
            exclusive.put(table, KEY, KEY);
            exclusive.commit();
        }
        // An interrupt ends no call that does not wait.
        Thread.currentThread().interrupt();
        put();
        assertTrue(Thread.interrupted());
    }

    @Test
    void aWriteTransactionBeginsWhenTheExclusiveOneEnds() throws Exception {
        WriteTransaction exclusive = database.beginExclusive(Duration.ZERO).get();
        FutureTask<WriteTransaction> waiting =
                start(() -> database.beginWrite(), new CountDownLatch(1), new Thread[1]);
        // Longer than the first look for an interrupt.
        assertThrows(TimeoutException.class, () -> waiting.get(120, TimeUnit.MILLISECONDS));
        exclusive.commit();
        waiting.get(1, TimeUnit.MINUTES).close();
    }
}
