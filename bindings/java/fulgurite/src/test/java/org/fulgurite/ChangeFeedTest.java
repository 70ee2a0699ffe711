package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.fulgurite.changes.Change;
import org.fulgurite.changes.ChangeFeed;
import org.fulgurite.changes.Commit;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChangeFeedTest {
    @TempDir
    Path directory;

    private Database database;
    private Table table;

    @BeforeEach
    void open() {
        database = Database.options().create(true).keepLog(64 << 20).open(directory.resolve("a.ful"));
        table = database.createTable("t");
    }

    @AfterEach
    void close() {
        database.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private void put(String key, String value) {
        database.write(txn -> txn.put(table, bytes(key), bytes(value)));
    }

    private List<Commit> commits(long after) {
        database.sync();
        List<Commit> commits = new ArrayList<>();
        try (ChangeFeed feed = database.changes(after)) {
            feed.forEachRemaining(commits::add);
            assertFalse(feed.hasNext());
            assertThrows(NoSuchElementException.class, feed::next);
        }
        return commits;
    }

    @Test
    void commitsComeWholeAndInOrder() {
        put("ann", "admin");
        database.write(txn -> {
            txn.put(table, bytes("bob"), bytes("guest"));
            txn.delete(table, bytes("ann"));
        });
        List<Commit> commits = commits(0);
        assertEquals(3, commits.size());
        Change created = commits.get(0).changes().get(0);
        assertEquals(Change.Kind.TABLE_CREATED, created.kind());
        assertEquals(Optional.of("t"), created.table().name());
        assertEquals(null, created.key());
        Change put = commits.get(1).changes().get(0);
        assertEquals(Change.Kind.PUT, put.kind());
        assertEquals("ann", text(put.key()));
        assertEquals("admin", text(put.value()));
        assertEquals(5, put.valueLength());
        assertEquals(created.table().id(), put.table().id());
        List<Change> both = commits.get(2).changes();
        assertEquals(2, both.size());
        Change deleted = both.stream().filter(change -> change.kind() == Change.Kind.DELETE).findFirst().get();
        assertEquals("ann", text(deleted.key()));
        assertEquals(null, deleted.value());
        assertEquals(1, commits(commits.get(1).sequence()).size());
        assertTrue(commits(commits.get(2).sequence()).isEmpty());
    }

    @Test
    void manyAndLargeCommitsMakeTheSameCopy() {
        TreeMap<String, String> expected = new TreeMap<>();
        char[] filler = new char[20_000];
        Arrays.fill(filler, 'x');
        String large = new String(filler);
        for (int number = 0; number < 500; number++) {
            String value = number % 20 == 0 ? large + number : "v" + number;
            put("k" + number % 300, value);
            expected.put("k" + number % 300, value);
        }
        TreeMap<String, String> copy = new TreeMap<>();
        long last = 0;
        for (Commit commit : commits(0)) {
            assertEquals(last + 1, commit.sequence());
            last = commit.sequence();
            for (Change change : commit.changes()) {
                if (change.kind() == Change.Kind.PUT) {
                    copy.put(text(change.key()), text(change.value()));
                } else if (change.kind() == Change.Kind.SUPERSEDED) {
                    assertTrue(change.valueLength() > 20_000);
                }
            }
        }
        assertEquals(expected, copy);
    }

    @Test
    void changesOfTablesHaveTheirNames() {
        Table renamed = database.renameTable(table, "new name");
        database.write(txn -> txn.put(renamed, bytes("k"), bytes("v")));
        database.dropTable(renamed);
        List<Commit> commits = commits(0);
        Change rename = commits.get(1).changes().get(0);
        assertEquals(Change.Kind.TABLE_RENAMED, rename.kind());
        assertEquals("t", rename.previousName());
        assertEquals(Optional.of("new name"), rename.table().name());
        Change last = commits.get(commits.size() - 1).changes().get(0);
        assertEquals(Change.Kind.TABLE_DROPPED, last.kind());
    }

    @Test
    void aBulkLoadIsReported() {
        database.bulkLoad(table, Arrays.asList(Entry.of(bytes("a"), bytes("1"))).iterator());
        assertTrue(commits(0).stream()
                .flatMap(commit -> commit.changes().stream())
                .anyMatch(change -> change.kind() == Change.Kind.BULK_LOADED));
    }

    @Test
    void waitingEndsWithACommitOrTheTimeoutOrAnInterrupt() throws InterruptedException {
        long seen = database.sync();
        assertEquals(seen, database.awaitDurable(seen, Duration.ofMillis(1)));
        AtomicReference<Object> outcome = new AtomicReference<>();
        Thread waiting = new Thread(() -> {
            try {
                outcome.set(database.awaitDurable(seen, Duration.ofDays(1000)));
            } catch (InterruptedException error) {
                outcome.set(error);
            }
        });
        waiting.start();
        put("a", "1");
        waiting.join();
        assertEquals(seen + 1, outcome.get());
        Thread interrupted = new Thread(() -> {
            try {
                outcome.set(database.awaitDurable(seen + 1, Duration.ofSeconds(Long.MAX_VALUE)));
            } catch (InterruptedException error) {
                outcome.set(error);
            }
        });
        interrupted.start();
        interrupted.interrupt();
        interrupted.join();
        assertTrue(outcome.get() instanceof InterruptedException, String.valueOf(outcome.get()));
    }

    @Test
    void wrongUseIsRefused() {
        FulguriteException later = assertThrows(FulguriteException.class, () -> database.changes(1_000));
        assertEquals(ErrorKind.INVALID, later.kind());
        assertThrows(FulguriteException.class, () -> database.changes(-1));
        ChangeFeed feed = database.changes(0);
        feed.close();
        feed.close();
        assertThrows(ClosedException.class, feed::next);
        ChangeFeed orphan = database.changes(0);
        database.close();
        assertThrows(ClosedException.class, orphan::hasNext);
        assertThrows(ClosedException.class, () -> database.changes(0));
        try (Database other = Database.create(directory.resolve("b.ful"))) {
            FulguriteException none = assertThrows(FulguriteException.class, () -> other.changes(0));
            assertTrue(none.getMessage().contains("keep_log"), none.getMessage());
        }
    }
}
