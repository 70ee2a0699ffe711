package org.fulgurite.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.fulgurite.Database;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeTest {
    @Test
    void kindsOfErrorsAreNumberedAlike() {
        String[] kinds = Arrays.stream(ErrorKind.values()).map(Enum::name).toArray(String[]::new);
        assertArrayEquals(Native.errorKinds(), kinds);
    }

    @Test
    void aHandleOfAnotherObjectIsRefused(@TempDir Path directory) {
        long database = Native.open(directory.resolve("a.ful").toString(), options(), new String[0], new MergeCalls[0]);
        long txn = Native.beginRead(database, false);
        for (Runnable misuse : new Runnable[] {
            () -> Native.get(database, txn, new byte[1]),
            () -> Native.commit(txn, -1),
            () -> Native.beginRead(txn, false),
            () -> Native.get(0, -1, new byte[1]),
        }) {
            assertThrows(FulguriteException.class, misuse::run);
        }
        // The misuse has closed nothing.
        assertEquals(0, Native.sequence(txn));
        Native.close(txn);
        Native.close(txn);
        Native.close(database);
    }

    private static long[] options() {
        long[] options = new long[14];
        Arrays.fill(options, Long.MIN_VALUE);
        options[0] = 1;
        return options;
    }

    @Test
    void aTransactionThatNobodyClosesIsClosedAndReported(@TempDir Path directory) throws InterruptedException {
        BlockingQueue<LogRecord> records = new LinkedBlockingQueue<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                records.add(record);
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger("org.fulgurite");
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
        try (Database database = Database.create(directory.resolve("a.ful"))) {
            database.beginWrite();
            LogRecord found = null;
            for (int turn = 0; turn < 100 && found == null; turn++) {
                System.gc();
                found = records.poll(100, TimeUnit.MILLISECONDS);
            }
            assertTrue(
                    found != null && found.getMessage().contains("a write transaction was not closed"),
                    String.valueOf(found));
        } finally {
            logger.removeHandler(handler);
            logger.setUseParentHandlers(true);
        }
    }
}
