/* All functions, as they are meant to be used. */
#include "check.h"

static fulgurite_txn reading(fulgurite_database db) {
    fulgurite_txn txn;
    OK(fulgurite_begin_read(db, &txn));
    return txn;
}

static fulgurite_txn writing(fulgurite_database db) {
    fulgurite_txn txn;
    OK(fulgurite_begin_write(db, &txn));
    return txn;
}

static void test_versions(void) {
    EXPECT(fulgurite_abi_version() == FULGURITE_ABI_VERSION);
    EXPECT(strchr(fulgurite_version(), '.') != NULL);
    EXPECT(strcmp(fulgurite_code_name(FULGURITE_CONFLICT), "CONFLICT") == 0);
    EXPECT(strcmp(fulgurite_code_name(12345), "UNKNOWN") == 0);
}

static void test_changes(fulgurite_database db) {
    fulgurite_table table;
    OK(fulgurite_create_table(db, "changes", NULL, &table));
    fulgurite_txn txn = writing(db);
    fulgurite_slice value;
    OK(fulgurite_put(txn, table, TEXT("a"), TEXT("1")));
    EXPECT(fulgurite_insert(txn, table, TEXT("a"), TEXT("2")) == FULGURITE_KEY_EXISTS);
    OK(fulgurite_insert(txn, table, TEXT("b"), TEXT("2")));
    OK(fulgurite_get(txn, table, TEXT("a"), &value));
    EXPECT(equals(value, "1"));
    uint32_t savepoint;
    OK(fulgurite_savepoint(txn, &savepoint));
    /* A savepoint is no change: the value is still there. */
    EXPECT(equals(value, "1"));
    OK(fulgurite_put(txn, table, TEXT("a"), TEXT("3")));
    OK(fulgurite_rollback_to(txn, savepoint));
    OK(fulgurite_get(txn, table, TEXT("a"), &value));
    EXPECT(equals(value, "1"));
    EXPECT(fulgurite_delete(txn, table, TEXT("c")) == FULGURITE_NOT_FOUND);
    OK(fulgurite_put(txn, table, TEXT("empty"), NULL, 0));
    OK(fulgurite_get(txn, table, TEXT("empty"), &value));
    /* Empty values have an address: Go stops the process when a variable has a small number for a pointer. */
    EXPECT(value.length == 0 && (uintptr_t)value.data >= 4096);
    uint64_t sequence = 0;
    OK(fulgurite_commit(txn, &sequence));
    EXPECT(sequence > 0);

    txn = reading(db);
    uint64_t seen, count;
    OK(fulgurite_sequence(txn, &seen));
    EXPECT(seen == sequence);
    OK(fulgurite_count(txn, table, NULL, 0, NULL, 0, &count));
    EXPECT(count == 3);
    OK(fulgurite_count(txn, table, TEXT("a"), TEXT("b"), &count));
    EXPECT(count == 1);
    OK(fulgurite_get(txn, table, TEXT("empty"), &value));
    EXPECT(value.length == 0 && (uintptr_t)value.data >= 4096);
    OK(fulgurite_end(txn));

    txn = writing(db);
    uint64_t deleted;
    OK(fulgurite_delete_range(txn, table, TEXT("b"), NULL, 0, &deleted));
    EXPECT(deleted == 2);
    OK(fulgurite_end(txn));
    txn = reading(db);
    OK(fulgurite_get(txn, table, TEXT("b"), &value));
    OK(fulgurite_end(txn));
    OK(fulgurite_close_table(table));
}

static void test_batches(fulgurite_database db) {
    enum { COUNT = 1000 };
    fulgurite_table table;
    OK(fulgurite_open_or_create_table(db, "batches", NULL, &table));
    static char keys[COUNT][16];
    static fulgurite_slice slices[COUNT], values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "%04d", i);
        slices[i].data = (const uint8_t *)keys[i];
        slices[i].length = 4;
    }
    fulgurite_txn txn = writing(db);
    OK(fulgurite_put_many(txn, table, slices, slices, COUNT));
    OK(fulgurite_put_packed(txn, table, TEXT("xyz"), (const size_t[]){1, 3}, TEXT("12"),
                            (const size_t[]){2, 2}, 2));
    OK(fulgurite_commit(txn, NULL));

    txn = reading(db);
    OK(fulgurite_get_many(txn, table, slices, COUNT, values));
    for (int i = 0; i < COUNT; i++) {
        EXPECT(equals(values[i], keys[i]));
    }
    OK(fulgurite_get_packed(txn, table, TEXT("xnoyz"), (const size_t[]){1, 3, 5}, 3, values));
    EXPECT(equals(values[0], "12") && values[1].data == NULL && equals(values[2], ""));

    fulgurite_cursor cursor;
    OK(fulgurite_open_cursor(txn, table, &cursor));
    size_t count, sum = 0;
    do {
        OK(fulgurite_read_entries(cursor, false, slices, values, 100, &count));
        sum += count;
    } while (count == 100);
    EXPECT(sum == COUNT + 2);
    OK(fulgurite_read_entries(cursor, true, slices, values, 2, &count));
    EXPECT(count == 2 && equals(slices[0], "yz") && equals(slices[1], "x"));
    OK(fulgurite_close_cursor(cursor));
    OK(fulgurite_end(txn));
    OK(fulgurite_close_table(table));
}

static void test_cursors(fulgurite_database db) {
    fulgurite_table table;
    OK(fulgurite_create_table(db, "cursors", NULL, &table));
    fulgurite_txn txn = writing(db);
    OK(fulgurite_put(txn, table, TEXT("b"), TEXT("2")));
    OK(fulgurite_put(txn, table, TEXT("d"), TEXT("4")));
    fulgurite_cursor cursor;
    fulgurite_slice key, value;
    OK(fulgurite_open_cursor(txn, table, &cursor));
    OK(fulgurite_next(cursor, &key, &value));
    EXPECT(equals(key, "b") && equals(value, "2"));
    /* Changes of the transaction move no cursor, and the cursor sees them. */
    OK(fulgurite_put(txn, table, TEXT("c"), TEXT("3")));
    OK(fulgurite_next(cursor, &key, NULL));
    EXPECT(equals(key, "c"));
    OK(fulgurite_delete(txn, table, TEXT("c")));
    OK(fulgurite_next(cursor, &key, NULL));
    EXPECT(equals(key, "d"));
    EXPECT(fulgurite_next(cursor, &key, NULL) == FULGURITE_NOT_FOUND);
    OK(fulgurite_put(txn, table, TEXT("a"), TEXT("1")));
    EXPECT(fulgurite_next(cursor, &key, NULL) == FULGURITE_NOT_FOUND);
    OK(fulgurite_previous(cursor, &key, NULL));
    EXPECT(equals(key, "d"));
    OK(fulgurite_delete(txn, table, TEXT("d")));
    OK(fulgurite_previous(cursor, &key, NULL));
    EXPECT(equals(key, "b"));
    OK(fulgurite_first(cursor, &key, NULL));
    EXPECT(equals(key, "a"));
    EXPECT(fulgurite_previous(cursor, &key, NULL) == FULGURITE_NOT_FOUND);
    OK(fulgurite_next(cursor, NULL, NULL));
    OK(fulgurite_last(cursor, &key, NULL));
    EXPECT(equals(key, "b"));
    OK(fulgurite_commit(txn, NULL));
    FAILS(fulgurite_next(cursor, &key, NULL), FULGURITE_CLOSED, "transaction");
    OK(fulgurite_close_cursor(cursor));

    /* A cursor of a snapshot outlives its transaction. */
    txn = reading(db);
    OK(fulgurite_open_cursor(txn, table, &cursor));
    OK(fulgurite_end(txn));
    OK(fulgurite_seek(cursor, TEXT("aa"), &key, &value));
    EXPECT(equals(key, "b"));
    EXPECT(fulgurite_seek(cursor, TEXT("z"), &key, &value) == FULGURITE_NOT_FOUND);
    OK(fulgurite_close_cursor(cursor));
    OK(fulgurite_close_table(table));
}

/* Ranges are read within their bounds, so that changes outside do not conflict. */
static void test_ranges(fulgurite_database db) {
    fulgurite_table table;
    OK(fulgurite_open_or_create_table(db, "ranges", NULL, &table));
    fulgurite_txn txn = writing(db), other;
    for (const char *key = "abcdef"; *key != 0; key++) {
        OK(fulgurite_put(txn, table, (const uint8_t *)key, 1, (const uint8_t *)key, 1));
    }
    OK(fulgurite_commit(txn, NULL));
    fulgurite_slice keys[8], values[8];
    size_t count;
    for (int backwards = 0; backwards < 2; backwards++) {
        txn = writing(db);
        OK(fulgurite_read_range(txn, table, TEXT("b"), TEXT("d"), backwards, keys, values, 8, &count));
        EXPECT(count == 2 && equals(keys[backwards], "b") && equals(values[1 - backwards], "c"));
        OK(fulgurite_read_range(txn, table, TEXT("b"), TEXT("d"), backwards, keys, values, 1, &count));
        EXPECT(count == 1 && equals(keys[0], backwards ? "c" : "b"));
        other = writing(db);
        OK(fulgurite_put(other, table, TEXT("a"), TEXT("changed")));
        OK(fulgurite_put(other, table, TEXT("d"), TEXT("changed")));
        OK(fulgurite_commit(other, NULL));
        OK(fulgurite_put(txn, table, TEXT("z"), TEXT("z")));
        OK(fulgurite_commit(txn, NULL));
    }
    txn = reading(db);
    OK(fulgurite_read_range(txn, table, NULL, 0, NULL, 0, true, keys, values, 8, &count));
    EXPECT(count == 7 && equals(keys[0], "z") && equals(keys[6], "a") && equals(values[6], "changed"));
    FAILS(fulgurite_read_range(txn, table, NULL, 0, NULL, 0, false, NULL, values, 8, &count), FULGURITE_INVALID,
          "keys");
    OK(fulgurite_end(txn));
    OK(fulgurite_close_table(table));
}

/* A durability that is none ends the transaction without a commit; an exclusive transaction is not awaited. */
static void test_ends(fulgurite_database db) {
    fulgurite_table table;
    fulgurite_slice value;
    OK(fulgurite_open_table(db, "ranges", &table));
    fulgurite_txn txn = writing(db), other;
    OK(fulgurite_put(txn, table, TEXT("lost"), TEXT("v")));
    FAILS(fulgurite_commit_with(txn, 9, NULL), FULGURITE_INVALID, "9");
    FAILS(fulgurite_end(txn), FULGURITE_CLOSED, "transaction");
    OK(fulgurite_begin_exclusive(db, 0, &txn));
    FAILS(fulgurite_try_begin_write(db, &other), FULGURITE_TIMEOUT, "exclusive");
    OK(fulgurite_end(txn));
    OK(fulgurite_try_begin_write(db, &other));
    EXPECT(fulgurite_get(other, table, TEXT("lost"), &value) == FULGURITE_NOT_FOUND);
    OK(fulgurite_end(other));
    OK(fulgurite_close_table(table));
}

static void test_counters(fulgurite_database db) {
    fulgurite_table table;
    fulgurite_table_options options = {.size = sizeof options, .merge = FULGURITE_MERGE_ADD};
    OK(fulgurite_create_table(db, "counters", &options, &table));
    /* Two transactions add to one counter, and do not conflict. */
    fulgurite_txn one = writing(db), other = writing(db);
    OK(fulgurite_add(one, table, TEXT("n"), 40));
    OK(fulgurite_add(other, table, TEXT("n"), 3));
    OK(fulgurite_merge(other, table, TEXT("n"), (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff", 8));
    OK(fulgurite_commit(one, NULL));
    OK(fulgurite_commit_with(other, FULGURITE_DURABILITY_LOG, NULL));
    fulgurite_txn txn = reading(db);
    uint64_t value;
    OK(fulgurite_get_counter(txn, table, TEXT("n"), &value));
    EXPECT(value == 42);
    OK(fulgurite_get_counter(txn, table, TEXT("none"), &value));
    EXPECT(value == 0);
    OK(fulgurite_end(txn));
    OK(fulgurite_close_table(table));
}

static void test_conflicts(fulgurite_database db) {
    fulgurite_table table;
    OK(fulgurite_create_table(db, "conflicts", NULL, &table));
    fulgurite_txn one = writing(db), other;
    OK(fulgurite_begin_write_with(db, FULGURITE_ISOLATION_SERIALIZABLE, &other));
    fulgurite_slice value;
    EXPECT(fulgurite_get(one, table, TEXT("k"), &value) == FULGURITE_NOT_FOUND);
    OK(fulgurite_put(one, table, TEXT("k"), TEXT("1")));
    OK(fulgurite_put(other, table, TEXT("k"), TEXT("2")));
    OK(fulgurite_commit(other, NULL));
    int code = fulgurite_commit(one, NULL);
    EXPECT(code == FULGURITE_CONFLICT && fulgurite_is_retryable(code));
    EXPECT(strstr(fulgurite_error_message(), "conflicts") != NULL);
    FAILS(fulgurite_end(one), FULGURITE_CLOSED, "transaction");

    fulgurite_txn exclusive;
    OK(fulgurite_begin_exclusive(db, 1000, &exclusive));
    EXPECT(fulgurite_begin_exclusive(db, 1, &one) == FULGURITE_TIMEOUT);
    OK(fulgurite_end(exclusive));
    OK(fulgurite_close_table(table));
}

struct numbers {
    uint32_t next, end;
    int step;
    char key[16];
};

static int next_number(void *context, fulgurite_slice *key, fulgurite_slice *value) {
    struct numbers *numbers = context;
    if (numbers->next == numbers->end) {
        return numbers->step == 0 ? -7 : 0;
    }
    snprintf(numbers->key, sizeof numbers->key, "%08u", numbers->next);
    numbers->next += (uint32_t)numbers->step;
    *key = *value = (fulgurite_slice){(const uint8_t *)numbers->key, 8};
    return 1;
}

static void test_loads(fulgurite_database db) {
    fulgurite_table table;
    OK(fulgurite_create_table(db, "loads", NULL, &table));
    struct numbers numbers = {.next = 0, .end = 100000, .step = 1};
    fulgurite_load_summary summary;
    OK(fulgurite_bulk_load(db, table, true, next_number, &numbers, &summary));
    EXPECT(summary.inserted == 100000 && summary.replaced == 0);
    numbers = (struct numbers){.next = 100009, .end = 99999, .step = -1};
    OK(fulgurite_bulk_load(db, table, false, next_number, &numbers, &summary));
    EXPECT(summary.inserted == 10);
    numbers = (struct numbers){.next = 5, .end = 1, .step = -1};
    EXPECT(fulgurite_bulk_load(db, table, true, next_number, &numbers, NULL) == FULGURITE_OUT_OF_ORDER);
    numbers = (struct numbers){.next = 5, .end = 5, .step = 0};
    FAILS(fulgurite_bulk_load(db, table, true, next_number, &numbers, NULL), FULGURITE_INPUT, "-7");
    OK(fulgurite_close_table(table));
}

static void test_maintenance(fulgurite_database db, const char *directory) {
    uint64_t sequence, freed;
    OK(fulgurite_sync(db, &sequence));
    OK(fulgurite_checkpoint(db));
    OK(fulgurite_compact(db, &freed));
    fulgurite_check_report report;
    OK(fulgurite_check(db, &report));
    EXPECT(report.damages == 0 && report.entries > 100000);
    fulgurite_stats stats;
    OK(fulgurite_get_stats(db, sizeof stats, &stats));
    EXPECT(stats.sequence == sequence && stats.file_bytes > 1000000);

    char *backup = path_in(directory, "backup.ful"), *image = path_in(directory, "image.ful");
    OK(fulgurite_backup(db, backup));
    FAILS(fulgurite_backup(db, backup), FULGURITE_FILE_EXISTS, "backup.ful");
    OK(fulgurite_write_image(db, image, 1));
    fulgurite_options options = {.size = sizeof options, .image = true, .no_map = true};
    fulgurite_database opened;
    FAILS(fulgurite_open(backup, &options, &opened), FULGURITE_NOT_A_DATABASE, "image");
    OK(fulgurite_open(image, &options, &opened));
    fulgurite_table table;
    OK(fulgurite_open_table(opened, "loads", &table));
    fulgurite_txn txn = reading(opened);
    /* Values of an image are kept until they are released. */
    fulgurite_slice first, second;
    OK(fulgurite_get(txn, table, TEXT("00000001"), &first));
    OK(fulgurite_get(txn, table, TEXT("00077777"), &second));
    EXPECT(equals(first, "00000001") && equals(second, "00077777"));
    OK(fulgurite_release_values(txn));
    OK(fulgurite_get(txn, table, TEXT("00000001"), &first));
    EXPECT(equals(first, "00000001"));
    OK(fulgurite_end(txn));
    FAILS(fulgurite_begin_write(opened, &txn), FULGURITE_READ_ONLY, "read");
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(opened));
    free(backup);
    free(image);
}

static void test_tables(fulgurite_database db) {
    fulgurite_table table, other;
    fulgurite_table_options options = {
        .size = sizeof options, .packed = true, .counted = true, .key_type = "(u32,string)"};
    OK(fulgurite_create_table(db, "z1", &options, &table));
    FAILS(fulgurite_create_table(db, "z1", NULL, &other), FULGURITE_TABLE_EXISTS, "z1");
    FAILS(fulgurite_open_or_create_table(db, "z1", NULL, &other), FULGURITE_TABLE_MISMATCH, "z1");
    FAILS(fulgurite_open_table(db, "z2", &other), FULGURITE_TABLE_NOT_FOUND, "z2");
    OK(fulgurite_rename_table(db, table, "z2"));
    OK(fulgurite_open_table(db, "z2", &other));
    fulgurite_txn txn = reading(db);
    fulgurite_slice name = {NULL, 0};
    char all[256] = "";
    while (fulgurite_next_table(txn, name, &name) == FULGURITE_OK) {
        strncat(all, (const char *)name.data, name.length);
        strcat(all, " ");
    }
    EXPECT(strcmp(all, "batches changes conflicts counters cursors loads ranges z2 ") == 0);
    OK(fulgurite_end(txn));
    OK(fulgurite_drop_table(db, other));
    OK(fulgurite_close_table(other));
    OK(fulgurite_close_table(table));
}

static bool is_text(fulgurite_slice slice, const char *text) {
    return slice.data != NULL && equals(slice, text);
}

static void test_change_feed(const char *directory) {
    char *path = path_in(directory, "feed.ful");
    fulgurite_options options = {.size = sizeof options, .create = true, .keep_log_bytes = 64 << 20};
    options.checkpoint_interval_ms = 60000;
    fulgurite_database db;
    OK(fulgurite_open(path, &options, &db));
    fulgurite_table table;
    OK(fulgurite_create_table(db, "people", NULL, &table));
    fulgurite_txn txn = writing(db);
    OK(fulgurite_put(txn, table, TEXT("ann"), TEXT("admin")));
    OK(fulgurite_put(txn, table, TEXT("bob"), TEXT("guest")));
    OK(fulgurite_commit(txn, NULL));
    txn = writing(db);
    OK(fulgurite_delete(txn, table, TEXT("bob")));
    OK(fulgurite_commit(txn, NULL));
    OK(fulgurite_rename_table(db, table, "staff"));

    uint64_t durable = 0;
    OK(fulgurite_wait_durable(db, 0, 0, &durable));
    EXPECT(durable == 4);
    OK(fulgurite_wait_durable(db, durable, 1, &durable));
    EXPECT(durable == 4);
    FAILS(fulgurite_wait_durable(db, durable, 1, NULL), FULGURITE_INVALID, "NULL");

    fulgurite_changes feed;
    OK(fulgurite_open_changes(db, 0, &feed));
    fulgurite_change changes[2];
    size_t count = 0;
    FAILS(fulgurite_read_changes(feed, 0, changes, 2, &count), FULGURITE_INVALID, "fulgurite_next_commit");
    uint64_t sequence = 0;
    OK(fulgurite_next_commit(feed, &sequence, &count));
    EXPECT(sequence == 1 && count == 1);
    OK(fulgurite_read_changes(feed, 0, changes, 2, &count));
    EXPECT(count == 1 && changes[0].kind == FULGURITE_CHANGE_TABLE_CREATED && changes[0].key.data == NULL);
    uint64_t table_id = changes[0].table_id;
    EXPECT(table_id != FULGURITE_NO_TABLE_ID);

    OK(fulgurite_next_commit(feed, &sequence, &count));
    EXPECT(sequence == 2 && count == 2);
    OK(fulgurite_read_changes(feed, 1, changes, 2, &count));
    EXPECT(count == 1 && changes[0].kind == FULGURITE_CHANGE_PUT && is_text(changes[0].key, "bob"));
    OK(fulgurite_read_changes(feed, 0, changes, 1, &count));
    EXPECT(count == 1 && is_text(changes[0].key, "ann") && is_text(changes[0].value, "admin"));
    EXPECT(changes[0].value_length == 5 && changes[0].table_id == table_id && changes[0].table_name.data != NULL);
    OK(fulgurite_read_changes(feed, 7, changes, 2, &count));
    EXPECT(count == 0);

    OK(fulgurite_next_commit(feed, NULL, NULL));
    OK(fulgurite_read_changes(feed, 0, changes, 2, &count));
    EXPECT(count == 1 && changes[0].kind == FULGURITE_CHANGE_DELETE && is_text(changes[0].key, "bob"));
    EXPECT(changes[0].value.data == NULL);
    OK(fulgurite_next_commit(feed, &sequence, &count));
    OK(fulgurite_read_changes(feed, 0, changes, 2, &count));
    EXPECT(changes[0].kind == FULGURITE_CHANGE_TABLE_RENAMED && is_text(changes[0].key, "people"));
    EXPECT(is_text(changes[0].table_name, "staff"));
    EXPECT(fulgurite_next_commit(feed, &sequence, &count) == FULGURITE_NOT_FOUND);
    OK(fulgurite_close_changes(feed));
    EXPECT(fulgurite_close_changes(feed) == FULGURITE_CLOSED);
    EXPECT(fulgurite_next_commit(feed, NULL, NULL) == FULGURITE_CLOSED);

    OK(fulgurite_open_changes(db, sequence, &feed));
    EXPECT(fulgurite_next_commit(feed, NULL, NULL) == FULGURITE_NOT_FOUND);
    OK(fulgurite_close_changes(feed));
    FAILS(fulgurite_open_changes(db, 1000, &feed), FULGURITE_INVALID, "1000");
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(db));
    free(path);
}

/* Keeps the longest text. Counts its calls in the context, and fails for "fail". */
static int longest(void *context, fulgurite_slice key, fulgurite_slice value, const fulgurite_slice *operands,
                   size_t count) {
    __atomic_add_fetch((int *)context, 1, __ATOMIC_SEQ_CST);
    EXPECT(key.length > 0 && count > 0);
    if (equals(key, "fail")) {
        return fulgurite_set_merge_error("no text is long enough");
    }
    if (equals(key, "number")) {
        return 7;
    }
    if (equals(key, "nothing")) {
        return FULGURITE_OK;
    }
    fulgurite_slice best = value.data == NULL ? operands[0] : value;
    for (size_t i = 0; i < count; i++) {
        best = operands[i].length > best.length ? operands[i] : best;
    }
    return fulgurite_set_merge_result(best.data, best.length);
}

static void release(void *context) { __atomic_add_fetch((int *)context, 1000, __ATOMIC_SEQ_CST); }

static int merge(fulgurite_database db, fulgurite_table table, const char *key, const char *operand) {
    fulgurite_txn txn;
    OK(fulgurite_begin_write(db, &txn));
    OK(fulgurite_merge(txn, table, TEXT(key), TEXT(operand)));
    return fulgurite_commit(txn, NULL);
}

static void test_merge_functions(const char *directory) {
    char *path = path_in(directory, "merge.ful");
    int calls = 0;
    fulgurite_merge_function function = {"longest", longest, &calls, release};
    fulgurite_options options = {
        .size = sizeof options, .create = true, .merge_functions = &function, .merge_function_count = 1};
    fulgurite_table_options of_table = {.size = sizeof of_table, .merge_function = "longest"};
    fulgurite_database db;
    fulgurite_table table;
    OK(fulgurite_open(path, &options, &db));
    OK(fulgurite_create_table(db, "texts", &of_table, &table));
    OK(merge(db, table, "k", "abc"));
    OK(merge(db, table, "k", "ab"));
    fulgurite_txn txn;
    fulgurite_slice value;
    OK(fulgurite_begin_write(db, &txn));
    OK(fulgurite_merge(txn, table, TEXT("k"), TEXT("abcd")));
    OK(fulgurite_merge(txn, table, TEXT("k"), TEXT("")));
    OK(fulgurite_get(txn, table, TEXT("k"), &value));
    EXPECT(equals(value, "abcd"));
    OK(fulgurite_commit(txn, NULL));
    OK(fulgurite_begin_read(db, &txn));
    OK(fulgurite_get(txn, table, TEXT("k"), &value));
    EXPECT(equals(value, "abcd"));
    OK(fulgurite_end(txn));
    FAILS(merge(db, table, "fail", "x"), FULGURITE_UNMERGEABLE, "no text is long enough");
    FAILS(merge(db, table, "number", "x"), FULGURITE_UNMERGEABLE, "returned 7");
    FAILS(merge(db, table, "nothing", "x"), FULGURITE_UNMERGEABLE, "fulgurite_set_merge_result");
    EXPECT(calls > 4 && calls < 1000);
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(db));
    EXPECT(calls > 1000 && calls < 2000);

    /* Without the function all but merging works. */
    db = created(path);
    OK(fulgurite_open_table(db, "texts", &table));
    OK(fulgurite_begin_write(db, &txn));
    OK(fulgurite_put(txn, table, TEXT("k"), TEXT("v")));
    FAILS(fulgurite_merge(txn, table, TEXT("k"), TEXT("x")), FULGURITE_MERGE_FUNCTION_MISSING, "longest");
    OK(fulgurite_commit(txn, NULL));
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(db));
    free(path);
}

int main(int argument_count, char **arguments) {
    EXPECT(argument_count == 2);
    char *path = path_in(arguments[1], "use.ful");
    fulgurite_database db = created(path);
    test_versions();
    test_changes(db);
    test_batches(db);
    test_cursors(db);
    test_ranges(db);
    test_ends(db);
    test_counters(db);
    test_conflicts(db);
    test_loads(db);
    test_tables(db);
    test_maintenance(db, arguments[1]);
    test_change_feed(arguments[1]);
    test_merge_functions(arguments[1]);
    OK(fulgurite_close(db));
    free(path);
    return EXIT_SUCCESS;
}
