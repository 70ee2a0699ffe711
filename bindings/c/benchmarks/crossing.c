/* What a call costs from C, beside LMDB.
 *
 *     crossing DIRECTORY [RECORDS] [ROUNDS]
 *
 * Both have the same small records, which fit memory, and commits of both survive the process, not a power cut. Writes
 * include the checkpoint that merges them into the file. The libraries take turns, and the first one changes. Times are
 * those of the processor, of all threads.
 */
#define _POSIX_C_SOURCE 200809L
#include <fulgurite.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEY = 16, VALUE = 100, BATCH = 1000, OPERATIONS = 6, ROUNDS_MAX = 99 };
static const char *const NAMES[OPERATIONS] = {"put", "put_many", "get", "get_many", "cursor", "scan"};

static size_t records = 100000;
static uint8_t *keys, *values;
/* The order in which keys are read. */
static size_t *order;

static void fail(const char *call, const char *why) {
    fprintf(stderr, "crossing: %s: %s\n", call, why);
    exit(EXIT_FAILURE);
}

static void check(int code, const char *call) {
    if (code != FULGURITE_OK) fail(call, fulgurite_error_message());
}

static void check_lmdb(int code, const char *call) {
    if (code != MDB_SUCCESS) fail(call, mdb_strerror(code));
}

#define CHECK(call) check((call), #call)
#define CHECK_LMDB(call) check_lmdb((call), #call)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check_bytes(size_t bytes) {
    if (bytes != records * VALUE) fail("read", "not all values were read");
}

/* A generator of numbers: xorshift, the same in every run. */
static uint64_t drawn(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void make_records(void) {
    keys = malloc(records * KEY);
    values = malloc(records * VALUE);
    order = malloc(records * sizeof *order);
    if (!keys || !values || !order) fail("malloc", "no memory");
    for (size_t n = 0; n < records; n++) {
        char text[KEY + 1];
        snprintf(text, sizeof text, "%016llx", (unsigned long long)drawn());
        memcpy(keys + n * KEY, text, KEY);
        for (size_t byte = 0; byte < VALUE; byte++) values[n * VALUE + byte] = (uint8_t)drawn();
        order[n] = n;
    }
    for (size_t n = records - 1; n > 0; n--) {
        size_t other = drawn() % (n + 1), kept = order[n];
        order[n] = order[other];
        order[other] = kept;
    }
}

static size_t least(size_t one, size_t other) { return one < other ? one : other; }

static void fulgurite_writes(fulgurite_database db, fulgurite_table table, double *seconds) {
    size_t half = records / 2;
    fulgurite_txn txn;
    double begun = now();
    CHECK(fulgurite_begin_write(db, &txn));
    for (size_t n = 0; n < half; n++)
        CHECK(fulgurite_put(txn, table, keys + n * KEY, KEY, values + n * VALUE, VALUE));
    CHECK(fulgurite_commit(txn, NULL));
    CHECK(fulgurite_checkpoint(db));
    seconds[0] = now() - begun;

    size_t key_ends[BATCH], value_ends[BATCH];
    for (size_t n = 0; n < BATCH; n++) key_ends[n] = (n + 1) * KEY, value_ends[n] = (n + 1) * VALUE;
    begun = now();
    CHECK(fulgurite_begin_write(db, &txn));
    for (size_t n = half; n < records; n += BATCH) {
        size_t count = least(BATCH, records - n);
        CHECK(fulgurite_put_packed(txn, table, keys + n * KEY, count * KEY, key_ends, values + n * VALUE, count * VALUE,
                                   value_ends, count));
    }
    CHECK(fulgurite_commit(txn, NULL));
    CHECK(fulgurite_checkpoint(db));
    seconds[1] = now() - begun;
}

static void fulgurite_reads(fulgurite_database db, fulgurite_table table, double *seconds) {
    fulgurite_txn txn;
    CHECK(fulgurite_begin_read(db, &txn));
    size_t bytes = 0;
    double begun = now();
    for (size_t n = 0; n < records; n++) {
        fulgurite_slice value;
        CHECK(fulgurite_get(txn, table, keys + order[n] * KEY, KEY, &value));
        bytes += value.length;
    }
    seconds[2] = now() - begun;
    check_bytes(bytes);
    CHECK(fulgurite_end(txn));

    uint8_t batch[BATCH * KEY];
    size_t ends[BATCH];
    static fulgurite_slice found[BATCH];
    for (size_t n = 0; n < BATCH; n++) ends[n] = (n + 1) * KEY;
    CHECK(fulgurite_begin_read(db, &txn));
    bytes = 0;
    begun = now();
    for (size_t start = 0; start < records; start += BATCH) {
        size_t count = least(BATCH, records - start);
        for (size_t n = 0; n < count; n++) memcpy(batch + n * KEY, keys + order[start + n] * KEY, KEY);
        CHECK(fulgurite_get_packed(txn, table, batch, count * KEY, ends, count, found));
        for (size_t n = 0; n < count; n++) bytes += found[n].length;
    }
    seconds[3] = now() - begun;
    check_bytes(bytes);

    CHECK(fulgurite_end(txn));
}

static void fulgurite_scans(fulgurite_database db, fulgurite_table table, double *seconds) {
    fulgurite_txn txn;
    fulgurite_cursor cursor;
    fulgurite_slice key, value;
    CHECK(fulgurite_begin_read(db, &txn));
    size_t bytes = 0;
    double begun = now();
    CHECK(fulgurite_open_cursor(txn, table, &cursor));
    for (int code = fulgurite_first(cursor, &key, &value); code == FULGURITE_OK;
         code = fulgurite_next(cursor, &key, &value))
        bytes += value.length;
    CHECK(fulgurite_close_cursor(cursor));
    seconds[4] = now() - begun;
    check_bytes(bytes);

    static fulgurite_slice batch_keys[BATCH], batch_values[BATCH];
    size_t count = BATCH;
    bytes = 0;
    begun = now();
    CHECK(fulgurite_open_cursor(txn, table, &cursor));
    while (count == BATCH) {
        CHECK(fulgurite_read_entries(cursor, false, batch_keys, batch_values, BATCH, &count));
        for (size_t n = 0; n < count; n++) bytes += batch_values[n].length;
    }
    CHECK(fulgurite_close_cursor(cursor));
    seconds[5] = now() - begun;
    check_bytes(bytes);
    CHECK(fulgurite_end(txn));
}

static void fulgurite_round(const char *directory, double *seconds) {
    char path[4096];
    snprintf(path, sizeof path, "%s/a.ful", directory);
    fulgurite_options options = {.size = sizeof options, .create = true, .durability = FULGURITE_DURABILITY_LOG};
    fulgurite_database db;
    fulgurite_table table;
    CHECK(fulgurite_open(path, &options, &db));
    CHECK(fulgurite_open_or_create_table(db, "t", NULL, &table));
    fulgurite_writes(db, table, seconds);
    fulgurite_reads(db, table, seconds);
    fulgurite_scans(db, table, seconds);
    CHECK(fulgurite_close_table(table));
    CHECK(fulgurite_close(db));
    unlink(path);
}

static MDB_val of(uint8_t *bytes, size_t length) { return (MDB_val){.mv_size = length, .mv_data = bytes}; }

static void lmdb_writes(MDB_env *env, MDB_dbi table, size_t from, size_t to) {
    MDB_txn *txn;
    CHECK_LMDB(mdb_txn_begin(env, NULL, 0, &txn));
    for (size_t n = from; n < to; n++) {
        MDB_val key = of(keys + n * KEY, KEY), value = of(values + n * VALUE, VALUE);
        CHECK_LMDB(mdb_put(txn, table, &key, &value, 0));
    }
    CHECK_LMDB(mdb_txn_commit(txn));
}

static void lmdb_gets(MDB_txn *txn, MDB_dbi table) {
    size_t bytes = 0;
    for (size_t n = 0; n < records; n++) {
        MDB_val key = of(keys + order[n] * KEY, KEY), value;
        CHECK_LMDB(mdb_get(txn, table, &key, &value));
        bytes += value.mv_size;
    }
    check_bytes(bytes);
}

static void lmdb_scan(MDB_txn *txn, MDB_dbi table) {
    MDB_cursor *cursor;
    MDB_val key, value;
    size_t bytes = 0;
    CHECK_LMDB(mdb_cursor_open(txn, table, &cursor));
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) bytes += value.mv_size;
    mdb_cursor_close(cursor);
    check_bytes(bytes);
}

/* LMDB has no calls for many keys: single calls stand for them. */
static void lmdb_round(const char *directory, double *seconds) {
    char path[4096], lock[4200];
    snprintf(path, sizeof path, "%s/a.mdb", directory);
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    CHECK_LMDB(mdb_env_create(&env));
    CHECK_LMDB(mdb_env_set_mapsize(env, (size_t)4 << 30));
    CHECK_LMDB(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOMETASYNC, 0644));
    CHECK_LMDB(mdb_txn_begin(env, NULL, 0, &txn));
    CHECK_LMDB(mdb_dbi_open(txn, NULL, MDB_CREATE, &table));
    CHECK_LMDB(mdb_txn_commit(txn));
    for (int part = 0; part < 2; part++) {
        double begun = now();
        lmdb_writes(env, table, part * (records / 2), part ? records : records / 2);
        seconds[part] = now() - begun;
    }
    CHECK_LMDB(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    for (int part = 2; part < 4; part++) {
        double begun = now();
        lmdb_gets(txn, table);
        seconds[part] = now() - begun;
    }
    for (int part = 4; part < OPERATIONS; part++) {
        double begun = now();
        lmdb_scan(txn, table);
        seconds[part] = now() - begun;
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
    unlink(path);
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
}

static int compared(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **arguments) {
    if (count < 2) return fprintf(stderr, "usage: crossing DIRECTORY [RECORDS] [ROUNDS]\n"), 2;
    int rounds = count > 3 ? atoi(arguments[3]) : 7;
    if (count > 2) records = (size_t)atoll(arguments[2]);
    if (records < 2 || rounds < 1 || rounds > ROUNDS_MAX) fail("arguments", "RECORDS is 2 or more, ROUNDS 1 to 99");
    make_records();
    static double all[2][OPERATIONS][ROUNDS_MAX];
    for (int round = 0; round < rounds; round++) {
        for (int turn = 0; turn < 2; turn++) {
            int engine = (round + turn) % 2;
            double seconds[OPERATIONS];
            (engine ? lmdb_round : fulgurite_round)(arguments[1], seconds);
            for (int each = 0; each < OPERATIONS; each++) all[engine][each][round] = seconds[each];
        }
    }
    printf("%zu records of %d and %d bytes, ns of processor time for each, median of %d\n", records, KEY, VALUE, rounds);
    printf("%-10s %10s %16s\n", "", "fulgurite", "lmdb");
    for (int each = 0; each < OPERATIONS; each++) {
        double ns[2];
        for (int engine = 0; engine < 2; engine++) {
            qsort(all[engine][each], (size_t)rounds, sizeof(double), compared);
            /* Each way of writing writes a half. */
            double entries = each < 2 ? (double)(records / 2) : (double)records;
            ns[engine] = all[engine][each][rounds / 2] / entries * 1e9;
        }
        printf("%-10s %10.0f %8.0f (%.2f×)\n", NAMES[each], ns[0], ns[1], ns[1] / ns[0]);
    }
    return EXIT_SUCCESS;
}
