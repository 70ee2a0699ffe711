/* Event stores: as they are meant to be used, and what programs do wrong. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static fulgurite_slice slice(const char *text) {
    return (fulgurite_slice){.data = (const uint8_t *)text, .length = strlen(text)};
}

static fulgurite_new_event event(const char *kind, const char *payload) {
    return (fulgurite_new_event){.kind = slice(kind), .payload = slice(payload)};
}

/* A store whose appends need not wait for the disk. */
static fulgurite_event_store opened(fulgurite_database db, const char *name) {
    fulgurite_event_store_options options = {
        .size = sizeof options, .name = name, .durability = FULGURITE_DURABILITY_LOG};
    fulgurite_event_store store;
    OK(fulgurite_open_event_store(db, &options, &store));
    return store;
}

static int append(fulgurite_event_store store, const char *stream, int64_t expected, const char *kind) {
    fulgurite_new_event one = event(kind, "");
    return fulgurite_append_events(store, TEXT(stream), expected, &one, 1, NULL);
}

static void test_appends(fulgurite_database db) {
    fulgurite_event_store store;
    /* With the default options it waits for the disk. */
    OK(fulgurite_open_event_store(db, NULL, &store));
    fulgurite_new_event events[] = {event("placed", "3 apples"), event("paid", "2.40")};
    fulgurite_appended appended[2];
    OK(fulgurite_append_events(store, TEXT("order-7"), FULGURITE_NO_STREAM, events, 2, appended));
    EXPECT(appended[0].position == 0 && appended[0].version == 0 && appended[0].count == 2);
    EXPECT(!appended[0].repeated);
    FAILS(append(store, "order-7", FULGURITE_NO_STREAM, "placed"), FULGURITE_WRONG_VERSION, "order-7");
    FAILS(append(store, "order-7", 0, "sent"), FULGURITE_WRONG_VERSION, "version 1");
    FAILS(append(store, "order-8", FULGURITE_STREAM_EXISTS, "sent"), FULGURITE_WRONG_VERSION, "order-8");
    OK(append(store, "order-7", 1, "sent"));
    OK(append(store, "order-7", FULGURITE_STREAM_EXISTS, "returned"));

    /* Repeated appends are recognised by their ids. */
    static const uint8_t ids[2][16] = {"0123456789abcde", "another id of16"};
    events[0].id = ids[0], events[1].id = ids[1];
    OK(fulgurite_append_events(store, TEXT("order-9"), FULGURITE_NO_STREAM, events, 2, appended));
    OK(fulgurite_append_events(store, TEXT("order-9"), FULGURITE_NO_STREAM, events, 2, appended + 1));
    EXPECT(appended[1].repeated && appended[1].position == appended[0].position);
    events[1].id = NULL;
    FAILS(fulgurite_append_events(store, TEXT("order-9"), FULGURITE_ANY_VERSION, events, 2, NULL),
          FULGURITE_ID_REUSED, "order-9");

    /* Several streams: all or nothing. */
    events[0].id = NULL;
    fulgurite_stream_append appends[] = {
        {.stream = slice("a"), .expected = FULGURITE_NO_STREAM, .events = events, .event_count = 2},
        {.stream = slice("order-7"), .expected = 0, .events = events, .event_count = 1}};
    FAILS(fulgurite_append_to_streams(store, appends, 2, appended), FULGURITE_WRONG_VERSION, "order-7");
    uint64_t first, next;
    FAILS(fulgurite_stream_versions(store, TEXT("a"), &first, &next), FULGURITE_STREAM_NOT_FOUND, "`a`");
    appends[1].expected = FULGURITE_ANY_VERSION;
    OK(fulgurite_append_to_streams(store, appends, 2, appended));
    EXPECT(appended[0].position + 2 == appended[1].position && appended[1].version == 4);
    appends[0].expected = 1;
    OK(fulgurite_append_to_streams(store, appends, 1, NULL));
    OK(fulgurite_stream_versions(store, TEXT("order-7"), &first, &next));
    EXPECT(first == 0 && next == 5);
    OK(fulgurite_event_positions(store, &first, &next));
    EXPECT(first == 0 && next == 11);
    OK(fulgurite_close_event_store(store));
}

enum { MANY = 2500 };

/* Appends so many events to a stream that cursors read several batches. */
static void append_many(fulgurite_event_store store) {
    static char payloads[MANY][16];
    static fulgurite_new_event events[MANY];
    for (int i = 0; i < MANY; i++) {
        snprintf(payloads[i], sizeof payloads[i], "%d", i);
        events[i] = event("counted", payloads[i]);
        events[i].metadata = slice("by hand");
        events[i].schema = 3;
    }
    OK(append(store, "other", FULGURITE_ANY_VERSION, "first"));
    OK(fulgurite_append_events(store, TEXT("many"), FULGURITE_NO_STREAM, events, MANY, NULL));
}

/* Checks the event of stream `many` with a version. */
static void expect_counted(const fulgurite_event *found, uint64_t version) {
    char text[16];
    snprintf(text, sizeof text, "%d", (int)version);
    EXPECT(found->version == version && found->position == version + 1 && found->schema == 3);
    EXPECT(equals(found->stream, "many") && equals(found->kind, "counted"));
    EXPECT(equals(found->payload, text) && equals(found->metadata, "by hand"));
    EXPECT((uintptr_t)found->payload.data % 8 == 0 && found->id == NULL && found->time_us > 0);
}

static void test_reads(fulgurite_database db) {
    fulgurite_event_store store = opened(db, "reads");
    append_many(store);
    fulgurite_event_cursor cursor;
    static fulgurite_event batch[700];
    size_t count, seen = 0;
    OK(fulgurite_read_stream(store, TEXT("many"), 100, false, &cursor));
    /* What is appended later is not in the snapshot of the cursor. */
    OK(append(store, "many", FULGURITE_ANY_VERSION, "later"));
    do {
        OK(fulgurite_read_events(cursor, batch, 700, &count));
        /* The whole batch is valid. */
        for (size_t i = 0; i < count; i++, seen++) {
            expect_counted(&batch[i], 100 + seen);
        }
    } while (count > 0);
    EXPECT(seen == MANY - 100);
    OK(fulgurite_close_event_cursor(cursor));

    fulgurite_event found;
    OK(fulgurite_read_stream(store, TEXT("many"), MANY, true, &cursor));
    for (uint64_t version = MANY; version-- > 0;) {
        OK(fulgurite_next_event(cursor, &found));
        expect_counted(&found, version);
    }
    EXPECT(fulgurite_next_event(cursor, &found) == FULGURITE_NOT_FOUND);
    EXPECT(fulgurite_next_event(cursor, &found) == FULGURITE_NOT_FOUND);
    OK(fulgurite_close_event_cursor(cursor));

    OK(fulgurite_read_log(store, 0, false, &cursor));
    OK(fulgurite_next_event(cursor, &found));
    EXPECT(equals(found.stream, "other") && equals(found.payload, "") && found.payload.data != NULL);
    OK(fulgurite_close_event_cursor(cursor));
    OK(fulgurite_read_log(store, UINT64_MAX, true, &cursor));
    OK(fulgurite_next_event(cursor, &found));
    EXPECT(found.position == MANY + 1 && equals(found.kind, "later"));
    OK(fulgurite_next_event(cursor, &found));
    expect_counted(&found, MANY - 1);
    OK(fulgurite_close_event_cursor(cursor));
    /* Nothing is beyond the end, nor before the beginning. */
    for (int i = 0; i < 2; i++) {
        OK(fulgurite_read_log(store, i == 0 ? MANY + 2 : 0, i == 1, &cursor));
        EXPECT(fulgurite_next_event(cursor, &found) == FULGURITE_NOT_FOUND);
        OK(fulgurite_close_event_cursor(cursor));
    }
    OK(fulgurite_close_event_store(store));
}

/* Batches of cursors and followers have a limit of bytes. */
static void test_large_events(fulgurite_database db) {
    enum { LARGE = 6 };
    static uint8_t payload[1 << 20];
    fulgurite_event_store store = opened(db, "large");
    fulgurite_new_event events[LARGE];
    for (int i = 0; i < LARGE; i++) {
        events[i] = event("large", "");
        events[i].payload = (fulgurite_slice){.data = payload, .length = sizeof payload};
    }
    OK(fulgurite_append_events(store, TEXT("a"), FULGURITE_ANY_VERSION, events, LARGE, NULL));
    fulgurite_event_cursor cursor;
    fulgurite_follower follower;
    fulgurite_event found[LARGE];
    size_t count;
    OK(fulgurite_read_log(store, 0, false, &cursor));
    OK(fulgurite_follow_events(store, 0, &follower));
    for (int follows = 0; follows < 2; follows++) {
        for (uint64_t next = 0; next < LARGE;) {
            OK(follows ? fulgurite_poll_events(follower, 60000, found, LARGE, &count)
                       : fulgurite_read_events(cursor, found, LARGE, &count));
            EXPECT(count > 0 && count < LARGE);
            for (size_t i = 0; i < count; i++, next++) {
                EXPECT(found[i].position == next && found[i].payload.length == sizeof payload);
            }
        }
    }
    OK(fulgurite_close_event_cursor(cursor));
    OK(fulgurite_close_follower(follower));
    OK(fulgurite_close_event_store(store));
}

/* An event of a type with tags, which are `count` slices. */
static fulgurite_new_event tagged(const char *kind, const fulgurite_slice *tags, size_t count) {
    fulgurite_new_event made = event(kind, "");
    made.tags = tags, made.tag_count = count;
    return made;
}

/* Reads what matches a query, and checks the positions, of which each is a digit. */
static void expect_found(fulgurite_event_store store, const fulgurite_query_item *items, size_t count,
                         bool backwards, const char *positions) {
    fulgurite_event_cursor cursor;
    fulgurite_event found;
    OK(fulgurite_read_query(store, items, count, backwards ? UINT64_MAX : 0, backwards, &cursor));
    for (; *positions != 0; positions++) {
        OK(fulgurite_next_event(cursor, &found));
        EXPECT(found.position == (uint64_t)(*positions - '0'));
    }
    EXPECT(fulgurite_next_event(cursor, &found) == FULGURITE_NOT_FOUND);
    OK(fulgurite_close_event_cursor(cursor));
}

static void test_tags_and_queries(fulgurite_database db) {
    fulgurite_event_store store = opened(db, "queries");
    fulgurite_slice both[] = {slice("order:7"), slice("user:ada")}, kinds[] = {slice("paid"), slice("sent")};
    fulgurite_new_event events[] = {tagged("placed", both, 2), tagged("placed", both + 1, 1),
                                    tagged("paid", both, 1), event("sent", "")};
    fulgurite_stream_append appends[] = {{slice("a"), FULGURITE_ANY_VERSION, events, 3},
                                         {slice("b"), FULGURITE_ANY_VERSION, events + 3, 1}};
    OK(fulgurite_append_to_streams(store, appends, 2, NULL));

    /* A cursor and a follower return the tags, and all of a batch are valid. */
    fulgurite_event found[2][4];
    fulgurite_event_cursor cursor;
    fulgurite_follower follower;
    size_t count;
    OK(fulgurite_read_log(store, 0, false, &cursor));
    OK(fulgurite_read_events(cursor, found[0], 4, &count));
    OK(fulgurite_follow_events(store, 0, &follower));
    OK(fulgurite_poll_events(follower, 0, found[1], 4, &count));
    for (int i = 0; i < 2; i++) {
        EXPECT(found[i][0].tag_count == 2 && equals(found[i][0].tags[0], "order:7"));
        EXPECT(equals(found[i][0].tags[1], "user:ada"));
        EXPECT(found[i][1].tag_count == 1 && equals(found[i][1].tags[0], "user:ada"));
        EXPECT(found[i][2].tag_count == 1 && equals(found[i][2].tags[0], "order:7"));
        EXPECT(found[i][3].tag_count == 0 && found[i][3].tags == NULL);
    }
    OK(fulgurite_close_event_cursor(cursor));
    OK(fulgurite_close_follower(follower));

    fulgurite_query_item items[] = {{.tags = both, .tag_count = 2}, {.kinds = kinds, .kind_count = 2}};
    fulgurite_query_item of_b = {.streams = &appends[1].stream, .stream_count = 1};
    expect_found(store, items, 1, false, "0");
    expect_found(store, items, 2, false, "023");
    expect_found(store, items, 2, true, "320");
    expect_found(store, &of_b, 1, false, "3");
    expect_found(store, NULL, 0, false, "0123");

    /* The query of an append. */
    fulgurite_appended appended;
    const uint8_t id[16] = "of one append..";
    fulgurite_new_event last = tagged("sent", both, 1);
    fulgurite_stream_append append = {slice("a"), 2, &last, 1};
    last.id = id;
    FAILS(fulgurite_append_if(store, items + 1, 1, 0, &append, NULL), FULGURITE_CONDITION_FAILED, "position 2");
    FAILS(fulgurite_append_if(store, items + 1, 1, 3, &append, NULL), FULGURITE_CONDITION_FAILED, "position 3");
    append.expected = 9;
    FAILS(fulgurite_append_if(store, items + 1, 1, 4, &append, NULL), FULGURITE_WRONG_VERSION, "version 2");
    append.expected = 2;
    OK(fulgurite_append_if(store, items + 1, 1, 4, &append, &appended));
    EXPECT(appended.position == 4 && appended.version == 3 && !appended.repeated);
    append.expected = FULGURITE_ANY_VERSION;
    OK(fulgurite_append_if(store, items + 1, 1, 4, &append, &appended));
    EXPECT(appended.position == 4 && appended.repeated);
    last.id = NULL;
    FAILS(fulgurite_append_if(store, NULL, 0, 4, &append, NULL), FULGURITE_CONDITION_FAILED, "position 4");

    FAILS(fulgurite_append_if(store, NULL, 0, 5, NULL, NULL), FULGURITE_INVALID, "append is NULL");
    FAILS(fulgurite_append_if(store, NULL, 1, 5, &append, NULL), FULGURITE_INVALID, "items");
    both[0] = slice("\xff");
    FAILS(fulgurite_append_if(store, NULL, 0, 5, &append, NULL), FULGURITE_INVALID, "UTF-8");
    FAILS(fulgurite_read_query(store, items, 1, 0, false, &cursor), FULGURITE_INVALID, "UTF-8");
    both[0] = slice("");
    FAILS(fulgurite_append_if(store, NULL, 0, 5, &append, NULL), FULGURITE_INVALID, "tag");
    last.tags = NULL;
    FAILS(fulgurite_append_if(store, NULL, 0, 5, &append, NULL), FULGURITE_INVALID, "tags");
    items[1].kinds = NULL;
    FAILS(fulgurite_read_query(store, items + 1, 1, 0, false, &cursor), FULGURITE_INVALID, "types");
    OK(fulgurite_close_event_store(store));
}

static void test_streams_and_retention(fulgurite_database db) {
    fulgurite_event_store store = opened(db, "streams");
    fulgurite_stream_metadata metadata;
    uint64_t first, next;
    for (int i = 0; i < 3; i++) {
        OK(append(store, "a", FULGURITE_ANY_VERSION, "placed"));
        OK(append(store, "b", FULGURITE_ANY_VERSION, "placed"));
    }
    FAILS(fulgurite_get_stream_metadata(store, TEXT("c"), &metadata), FULGURITE_STREAM_NOT_FOUND, "`c`");
    OK(fulgurite_get_stream_metadata(store, TEXT("a"), &metadata));
    EXPECT(metadata.max_age_us == 0 && metadata.max_count == 0 && equals(metadata.custom, ""));
    metadata = (fulgurite_stream_metadata){.max_age_us = UINT64_MAX / 2, .max_count = 1, .custom = slice("gold")};
    OK(fulgurite_set_stream_metadata(store, TEXT("a"), &metadata));
    memset(&metadata, 0, sizeof metadata);
    OK(fulgurite_get_stream_metadata(store, TEXT("a"), &metadata));
    EXPECT(metadata.max_age_us == UINT64_MAX / 2 && metadata.max_count == 1 && equals(metadata.custom, "gold"));

    OK(fulgurite_truncate_stream(store, TEXT("b"), 2));
    OK(fulgurite_stream_versions(store, TEXT("b"), &first, &next));
    EXPECT(first == 2 && next == 3);
    FAILS(fulgurite_truncate_stream(store, TEXT("b"), 4), FULGURITE_INVALID, "version 3");
    /* One event of each stream is left. */
    fulgurite_retention_report report;
    OK(fulgurite_apply_retention(store, NULL, &report));
    EXPECT(report.first == 0);
    expect_found(store, NULL, 0, false, "45");
    fulgurite_retention retention = {.size = sizeof retention, .max_age_us = 3600000000u, .max_bytes = 1};
    OK(fulgurite_apply_retention(store, &retention, NULL));

    FAILS(fulgurite_delete_stream(store, TEXT("a"), 0, false), FULGURITE_WRONG_VERSION, "version 2");
    OK(fulgurite_delete_stream(store, TEXT("a"), 2, false));
    FAILS(fulgurite_stream_versions(store, TEXT("a"), &first, &next), FULGURITE_STREAM_NOT_FOUND, "`a`");
    OK(fulgurite_get_stream_metadata(store, TEXT("a"), &metadata));
    EXPECT(metadata.max_count == 1);
    OK(append(store, "a", FULGURITE_NO_STREAM, "placed"));
    OK(fulgurite_stream_versions(store, TEXT("a"), &first, &next));
    EXPECT(first == 3 && next == 4);
    OK(fulgurite_delete_stream(store, TEXT("a"), FULGURITE_ANY_VERSION, true));
    FAILS(append(store, "a", FULGURITE_ANY_VERSION, "placed"), FULGURITE_TOMBSTONE, "`a`");

    FAILS(fulgurite_truncate_stream(store, TEXT("c"), 0), FULGURITE_STREAM_NOT_FOUND, "`c`");
    FAILS(fulgurite_delete_stream(store, TEXT("b"), -4, true), FULGURITE_INVALID, "-4");
    FAILS(fulgurite_set_stream_metadata(store, TEXT("b"), NULL), FULGURITE_INVALID, "metadata is NULL");
    metadata.custom = (fulgurite_slice){.data = NULL, .length = 1};
    FAILS(fulgurite_set_stream_metadata(store, TEXT("b"), &metadata), FULGURITE_INVALID, "custom");
    FAILS(fulgurite_get_stream_metadata(store, TEXT("b"), NULL), FULGURITE_INVALID, "NULL");
    retention.size = 3;
    FAILS(fulgurite_apply_retention(store, &retention, NULL), FULGURITE_INVALID, "sizeof");
    OK(fulgurite_close_event_store(store));
    FAILS(fulgurite_apply_retention(store, NULL, NULL), FULGURITE_CLOSED, "store of events");
}

/* Counts events in a table, each exactly once. Drops the transaction if it is not to commit. */
static int fold(fulgurite_database db, fulgurite_event_store store, fulgurite_table counts, bool commits) {
    fulgurite_txn txn;
    fulgurite_event_cursor cursor;
    fulgurite_event found;
    uint64_t position;
    OK(fulgurite_begin_write(db, &txn));
    OK(fulgurite_get_consumer_position(txn, store, "counts", &position));
    OK(fulgurite_read_log(store, position, false, &cursor));
    while (fulgurite_next_event(cursor, &found) == FULGURITE_OK) {
        OK(fulgurite_add(txn, counts, found.kind.data, found.kind.length, 1));
        position = found.position + 1;
    }
    OK(fulgurite_close_event_cursor(cursor));
    OK(fulgurite_set_consumer_position(txn, store, "counts", position));
    return commits ? fulgurite_commit(txn, NULL) : fulgurite_end(txn);
}

static void test_consumers(fulgurite_database db) {
    fulgurite_event_store store = opened(db, "consumers");
    fulgurite_table_options counters = {.size = sizeof counters, .merge = FULGURITE_MERGE_ADD};
    fulgurite_table counts;
    fulgurite_txn txn, other;
    uint64_t position, count;
    OK(fulgurite_create_table(db, "event counts", &counters, &counts));
    OK(append(store, "a", FULGURITE_ANY_VERSION, "placed"));
    OK(append(store, "b", FULGURITE_ANY_VERSION, "placed"));
    OK(fold(db, store, counts, false));
    OK(fold(db, store, counts, true));
    OK(append(store, "b", FULGURITE_ANY_VERSION, "placed"));
    OK(fold(db, store, counts, true));
    OK(fold(db, store, counts, true));
    OK(fulgurite_begin_read(db, &txn));
    OK(fulgurite_get_counter(txn, counts, TEXT("placed"), &count));
    OK(fulgurite_get_consumer_position(txn, store, "counts", &position));
    EXPECT(count == 3 && position == 3);
    OK(fulgurite_get_consumer_position(txn, store, "another", &position));
    EXPECT(position == 0);
    FAILS(fulgurite_set_consumer_position(txn, store, "counts", 1), FULGURITE_READ_ONLY, "begin a write");
    /* Programs in other languages read the same table (docs/reference/events.md). */
    fulgurite_table positions;
    fulgurite_slice stored;
    OK(fulgurite_open_table(db, "consumers.consumers", &positions));
    OK(fulgurite_get(txn, positions, TEXT("counts"), &stored));
    EXPECT(stored.length == 8 && memcmp(stored.data, "\0\0\0\0\0\0\0\3", 8) == 0);
    OK(fulgurite_end(txn));
    OK(fulgurite_begin_write(db, &txn));
    OK(fulgurite_put(txn, positions, TEXT("odd"), TEXT("seven..")));
    FAILS(fulgurite_get_consumer_position(txn, store, "odd", &position), FULGURITE_CORRUPT, "7 bytes");
    OK(fulgurite_end(txn));
    OK(fulgurite_close_table(positions));

    /* Of two transactions that fold the same events, one commits. */
    OK(fulgurite_begin_write(db, &txn));
    OK(fulgurite_begin_write(db, &other));
    OK(fulgurite_get_consumer_position(txn, store, "counts", &position));
    OK(fulgurite_get_consumer_position(other, store, "counts", &position));
    OK(fulgurite_set_consumer_position(txn, store, "counts", 2));
    OK(fulgurite_set_consumer_position(other, store, "counts", 3));
    OK(fulgurite_commit(txn, NULL));
    FAILS(fulgurite_commit(other, NULL), FULGURITE_CONFLICT, "");

    OK(fulgurite_begin_write(db, &txn));
    FAILS(fulgurite_set_consumer_position(txn, store, "counts", 4), FULGURITE_INVALID, "up to 3");
    FAILS(fulgurite_set_consumer_position(txn, store, "", 1), FULGURITE_INVALID, "empty");
    FAILS(fulgurite_set_consumer_position(txn, store, NULL, 1), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_get_consumer_position(txn, store, "counts", NULL), FULGURITE_INVALID, "NULL");
    OK(fulgurite_end(txn));
    FAILS(fulgurite_get_consumer_position(txn, store, "counts", &position), FULGURITE_CLOSED, "transaction");
    OK(fulgurite_close_table(counts));
    OK(fulgurite_close_event_store(store));
}

/* Appends 200 events, and stops early if the database is closed. */
static void *producing(void *context) {
    fulgurite_event_store *store = context;
    for (int i = 0; i < 200; i++) {
        int code = append(*store, "live", FULGURITE_ANY_VERSION, "tick");
        if (code != FULGURITE_OK) {
            EXPECT(code != FULGURITE_INTERNAL);
            break;
        }
    }
    return NULL;
}

static void test_followers(fulgurite_database db) {
    fulgurite_event_store store = opened(db, "followers");
    fulgurite_follower follower;
    fulgurite_event events[16];
    size_t count;
    uint64_t position, missed;
    FAILS(fulgurite_follow_events(store, 1, &follower), FULGURITE_INVALID, "position 1");
    OK(append(store, "live", FULGURITE_ANY_VERSION, "tick"));
    OK(fulgurite_follow_events(store, 0, &follower));
    OK(fulgurite_poll_events(follower, 0, events, 16, &count));
    EXPECT(count == 1 && equals(events[0].kind, "tick") && equals(events[0].stream, "live"));
    for (uint64_t timeout = 0; timeout < 2; timeout++) {
        OK(fulgurite_poll_events(follower, timeout, events, 16, &count));
        EXPECT(count == 0);
    }
    /* Every event once, in order, without gaps. */
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, producing, &store) == 0);
    for (uint64_t next = 1; next < 201;) {
        OK(fulgurite_poll_events(follower, 60000, events, 3, &count));
        EXPECT(count >= 1 && count <= 3);
        for (size_t i = 0; i < count; i++, next++) {
            EXPECT(events[i].position == next && events[i].version == next);
        }
        OK(fulgurite_follower_position(follower, &position, &missed));
        EXPECT(position == next && missed == 0);
    }
    EXPECT(pthread_join(thread, NULL) == 0);
    OK(fulgurite_follower_position(follower, NULL, NULL));
    OK(fulgurite_close_event_store(store));
    /* It does not need the handle of the store. */
    OK(fulgurite_poll_events(follower, 0, events, 16, &count));
    OK(fulgurite_close_follower(follower));
    FAILS(fulgurite_close_follower(follower), FULGURITE_CLOSED, "follower");
    FAILS(fulgurite_poll_events(follower, 0, events, 16, &count), FULGURITE_CLOSED, "follower");
}

/* Polls until so many events have come, and checks their positions, of which each is a digit. */
static void expect_followed(fulgurite_follower follower, const char *positions) {
    fulgurite_event events[2];
    size_t count;
    while (*positions != 0) {
        OK(fulgurite_poll_events(follower, 60000, events, 2, &count));
        for (size_t i = 0; i < count; i++, positions++) {
            EXPECT(events[i].position == (uint64_t)(*positions - '0'));
        }
    }
}

static uint64_t position_of(fulgurite_follower follower) {
    uint64_t position;
    OK(fulgurite_follower_position(follower, &position, NULL));
    return position;
}

static void test_followers_of_queries(fulgurite_database db) {
    fulgurite_event_store store = opened(db, "followed queries");
    fulgurite_slice kind = slice("paid"), bad = slice("\xff");
    fulgurite_query_item item = {.kinds = &kind, .kind_count = 1};
    fulgurite_follower follower, all;
    fulgurite_event found;
    size_t count;
    const char *kinds[] = {"placed", "paid", "placed", "paid", "placed"};
    FAILS(fulgurite_follow_query(store, &item, 1, 1, &follower), FULGURITE_INVALID, "position 1");
    OK(fulgurite_follow_query(store, &item, 1, 0, &follower));
    OK(fulgurite_follow_query(store, NULL, 0, 0, &all));
    for (size_t i = 0; i < 5; i++) {
        OK(append(store, "a", FULGURITE_ANY_VERSION, kinds[i]));
    }
    expect_followed(follower, "13");
    expect_followed(all, "01234");
    /* It passes the event behind them. */
    OK(fulgurite_poll_events(follower, 0, &found, 1, &count));
    EXPECT(count == 0 && position_of(follower) == 5);
    FAILS(fulgurite_acknowledge_events(follower, 5), FULGURITE_INVALID, "fulgurite_set_consumer_position");
    item.kinds = &bad;
    FAILS(fulgurite_follow_query(store, &item, 1, 0, &all), FULGURITE_INVALID, "UTF-8");
    FAILS(fulgurite_follow_query(store, NULL, 0, 0, NULL), FULGURITE_INVALID, "NULL");
    OK(fulgurite_close_follower(follower));
    OK(fulgurite_close_follower(all));
    OK(fulgurite_close_event_store(store));
}

/* A child neither receives the events of its parent nor ends its server. */
static void expect_refused_in_child(fulgurite_follower follower, fulgurite_event_server server) {
    fulgurite_event found;
    size_t count;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        FAILS(fulgurite_poll_events(follower, 0, &found, 1, &count), FULGURITE_FORKED, "in this process");
        FAILS(fulgurite_close_event_server(server, 0), FULGURITE_FORKED, "in this process");
        _exit(EXIT_SUCCESS);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

/* A child that lived on kept the name of its parent's consumer. */
static void expect_name_free_beside_child(const char *socket) {
    fulgurite_follower first, second;
    OK(fulgurite_connect_consumer(socket, "parent", NULL, 0, &first));
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        sleep(60);
        _exit(EXIT_SUCCESS);
    }
    OK(fulgurite_close_follower(first));
    OK(fulgurite_connect_consumer(socket, "parent", NULL, 0, &second));
    OK(fulgurite_close_follower(second));
    EXPECT(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

static void expect_refused_arguments(fulgurite_event_store store, const char *socket, fulgurite_follower follower) {
    fulgurite_follower none;
    fulgurite_event_server server;
    size_t count;
    FAILS(fulgurite_connect_consumer(socket, "", NULL, 0, &none), FULGURITE_INVALID, "1 to 1,024 bytes");
    FAILS(fulgurite_connect_consumer(socket, NULL, NULL, 0, &none), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_connect_consumer(socket, "x", NULL, 1, &none), FULGURITE_INVALID, "items");
    FAILS(fulgurite_connect_follower(NULL, NULL, 0, 0, &none), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_connect_follower(socket, NULL, 0, 0, NULL), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_serve_events(store, NULL, &server), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_server_followers((fulgurite_event_server){store.id}, &count), FULGURITE_INVALID, "was used as");
    FAILS(fulgurite_close_event_server((fulgurite_event_server){follower.id}, 0), FULGURITE_INVALID, "was used as");
}

/* Followers of a store that is served, and what they get when its server ends. */
static void test_served_stores(fulgurite_database db, const char *socket) {
    fulgurite_event_store store = opened(db, "served");
    fulgurite_slice kind = slice("paid"), tag = slice("order:7");
    fulgurite_query_item item = {.kinds = &kind, .kind_count = 1};
    fulgurite_new_event tagged_one = tagged("placed", &tag, 1);
    fulgurite_event_server server, second;
    fulgurite_follower follower, newest, consumer, ahead;
    fulgurite_event found;
    fulgurite_txn txn;
    size_t count;
    uint64_t position;
    FAILS(fulgurite_connect_follower(socket, NULL, 0, 0, &follower), FULGURITE_SOCKET, "check that a process serves");
    OK(fulgurite_serve_events(store, socket, &server));
    FAILS(fulgurite_serve_events(store, socket, &second), FULGURITE_SOCKET, "choose another path");
    static const uint8_t id[16] = "0123456789abcde";
    tagged_one.id = id, tagged_one.schema = 7, tagged_one.metadata = slice("by hand");
    tagged_one.payload = slice("3 apples");
    OK(fulgurite_append_events(store, TEXT("a"), FULGURITE_ANY_VERSION, &tagged_one, 1, NULL));

    OK(fulgurite_connect_follower(socket, NULL, 0, 0, &follower));
    OK(fulgurite_poll_events(follower, 60000, &found, 1, &count));
    EXPECT(count == 1 && found.position == 0 && found.version == 0 && found.schema == 7 && found.time_us > 0);
    EXPECT(equals(found.stream, "a") && equals(found.kind, "placed") && equals(found.payload, "3 apples"));
    EXPECT(equals(found.metadata, "by hand") && memcmp(found.id, id, 16) == 0);
    EXPECT(found.tag_count == 1 && equals(found.tags[0], "order:7") && (uintptr_t)found.payload.data % 8 == 0);
    OK(fulgurite_poll_events(follower, 0, &found, 1, &count));
    EXPECT(count == 0 && position_of(follower) == 1);
    OK(fulgurite_connect_follower(socket, NULL, 0, UINT64_MAX, &newest));
    EXPECT(position_of(newest) == 1);
    OK(append(store, "b", FULGURITE_ANY_VERSION, "paid"));
    OK(append(store, "a", FULGURITE_ANY_VERSION, "placed"));
    OK(append(store, "a", FULGURITE_ANY_VERSION, "paid"));
    expect_followed(follower, "123");
    expect_followed(newest, "123");

    /* It is another store. */
    OK(fulgurite_connect_follower(socket, NULL, 0, 9, &ahead));
    FAILS(fulgurite_poll_events(ahead, 60000, &found, 1, &count), FULGURITE_INVALID, "the same store");
    OK(fulgurite_close_follower(ahead));

    /* A consumer acknowledges what it has received. */
    OK(fulgurite_connect_consumer(socket, "mailer", &item, 1, &consumer));
    FAILS(fulgurite_acknowledge_events(consumer, 1), FULGURITE_INVALID, "up to 0");
    expect_followed(consumer, "13");
    OK(fulgurite_acknowledge_events(consumer, 2));
    FAILS(fulgurite_acknowledge_events(follower, 2), FULGURITE_INVALID, "no consumer name");
    expect_refused_arguments(store, socket, follower);
    OK(fulgurite_close_follower(consumer));

    expect_refused_in_child(follower, server);
    expect_name_free_beside_child(socket);
    OK(append(store, "a", FULGURITE_ANY_VERSION, "paid"));
    expect_followed(follower, "4");
    OK(fulgurite_server_followers(server, &count));
    EXPECT(count >= 2);

    /* A server that is closed has sent all events, and stored what was acknowledged. */
    OK(append(store, "a", FULGURITE_ANY_VERSION, "sent"));
    OK(fulgurite_close_event_server(server, 60000));
    FAILS(fulgurite_close_event_server(server, 0), FULGURITE_CLOSED, "server of events");
    FAILS(fulgurite_server_followers(server, &count), FULGURITE_CLOSED, "server of events");
    EXPECT(access(socket, F_OK) != 0);
    expect_followed(follower, "5");
    for (int i = 0; i < 2; i++) {
        FAILS(fulgurite_poll_events(follower, 60000, &found, 1, &count), FULGURITE_SOCKET, "has ended the connection");
    }
    OK(fulgurite_begin_read(db, &txn));
    OK(fulgurite_get_consumer_position(txn, store, "mailer", &position));
    EXPECT(position == 2);
    OK(fulgurite_end(txn));

    /* Both continue when the store is served again. */
    position = position_of(follower);
    OK(fulgurite_close_follower(follower));
    OK(fulgurite_close_follower(newest));
    OK(fulgurite_serve_events(store, socket, &server));
    OK(append(store, "a", FULGURITE_ANY_VERSION, "sent"));
    OK(fulgurite_connect_follower(socket, NULL, 0, position, &follower));
    OK(fulgurite_connect_consumer(socket, "mailer", &item, 1, &consumer));
    expect_followed(follower, "6");
    expect_followed(consumer, "34");
    OK(fulgurite_close_event_server(server, 0));
    OK(fulgurite_close_follower(follower));
    OK(fulgurite_close_follower(consumer));
    OK(fulgurite_close_event_store(store));
}

static void test_arguments(fulgurite_database db) {
    fulgurite_event_store store = opened(db, "arguments"), none = {0}, same;
    fulgurite_event_store_options options = {.size = 1};
    FAILS(fulgurite_open_event_store(db, &options, &same), FULGURITE_INVALID, "sizeof");
    options = (fulgurite_event_store_options){.size = sizeof options, .name = "arguments"};
    FAILS(fulgurite_open_event_store(db, &options, &same), FULGURITE_ALREADY_OPEN, "other options");
    FAILS(fulgurite_open_event_store(db, &options, NULL), FULGURITE_INVALID, "NULL");
    options.durability = 9;
    FAILS(fulgurite_open_event_store(db, &options, &same), FULGURITE_INVALID, "9");
    fulgurite_new_event bad = event("", "");
    FAILS(fulgurite_append_events(store, TEXT("a"), -1, &bad, 1, NULL), FULGURITE_INVALID, "type");
    bad.kind = slice("\xff");
    FAILS(fulgurite_append_events(store, TEXT("a"), -1, &bad, 1, NULL), FULGURITE_INVALID, "UTF-8");
    bad = event("placed", "");
    bad.payload = (fulgurite_slice){.data = NULL, .length = 1};
    FAILS(fulgurite_append_events(store, TEXT("a"), -1, &bad, 1, NULL), FULGURITE_INVALID, "payload");
    FAILS(fulgurite_append_events(store, TEXT("a"), -1, NULL, 1, NULL), FULGURITE_INVALID, "events");
    FAILS(append(store, "", FULGURITE_ANY_VERSION, "placed"), FULGURITE_INVALID, "name of a stream");
    FAILS(append(store, "a", -4, "placed"), FULGURITE_INVALID, "-4");
    FAILS(append(none, "a", FULGURITE_ANY_VERSION, "placed"), FULGURITE_CLOSED, "store of events");
    FAILS(append((fulgurite_event_store){db.id}, "a", -1, "placed"), FULGURITE_INVALID, "database was used");
    FAILS(fulgurite_append_to_streams(store, NULL, 1, NULL), FULGURITE_INVALID, "appends");

    OK(append(store, "a", FULGURITE_ANY_VERSION, "placed"));
    fulgurite_event_cursor cursor;
    fulgurite_event found;
    size_t count;
    FAILS(fulgurite_read_stream(store, TEXT("b"), 0, false, &cursor), FULGURITE_STREAM_NOT_FOUND, "`b`");
    FAILS(fulgurite_read_log(store, 0, false, NULL), FULGURITE_INVALID, "NULL");
    OK(fulgurite_read_log(store, 0, false, &cursor));
    FAILS(fulgurite_next_event(cursor, NULL), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_read_events(cursor, NULL, 1, &count), FULGURITE_INVALID, "events");
    FAILS(fulgurite_next_event((fulgurite_event_cursor){store.id}, &found), FULGURITE_INVALID, "store of events");
    FAILS(fulgurite_close_cursor((fulgurite_cursor){cursor.id}), FULGURITE_INVALID, "cursor over events");
    FAILS(fulgurite_close_event_store((fulgurite_event_store){cursor.id}), FULGURITE_INVALID, "cursor over");
    /* A refused call has not moved the cursor. */
    OK(fulgurite_next_event(cursor, &found));
    EXPECT(equals(found.kind, "placed"));
    OK(fulgurite_close_event_cursor(cursor));
    FAILS(fulgurite_close_event_cursor(cursor), FULGURITE_CLOSED, "cursor");
    FAILS(fulgurite_next_event(cursor, &found), FULGURITE_CLOSED, "cursor");
    OK(fulgurite_close_event_store(store));
    FAILS(fulgurite_close_event_store(store), FULGURITE_CLOSED, "store of events");
    FAILS(append(store, "a", FULGURITE_ANY_VERSION, "placed"), FULGURITE_CLOSED, "store of events");
}

/* Handles that outlive their database, and a transaction of another database. */
static void test_closed_databases(const char *directory) {
    char *path = path_in(directory, "closed.ful"), *other_path = path_in(directory, "other.ful");
    fulgurite_database db = created(path), other = created(other_path);
    fulgurite_event_store store = opened(db, "events");
    fulgurite_event_cursor cursor;
    fulgurite_follower follower;
    fulgurite_event found;
    fulgurite_txn txn;
    size_t count;
    OK(append(store, "a", FULGURITE_ANY_VERSION, "placed"));
    OK(fulgurite_begin_write(other, &txn));
    FAILS(fulgurite_set_consumer_position(txn, store, "c", 1), FULGURITE_INVALID, "another database");
    OK(fulgurite_end(txn));
    OK(fulgurite_close(other));

    OK(fulgurite_read_log(store, 0, false, &cursor));
    OK(fulgurite_follow_events(store, 1, &follower));
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, producing, &store) == 0);
    OK(fulgurite_close(db));
    EXPECT(pthread_join(thread, NULL) == 0);
    FAILS(append(store, "a", FULGURITE_ANY_VERSION, "placed"), FULGURITE_CLOSED, "closed");
    FAILS(fulgurite_read_log(store, 0, false, &cursor), FULGURITE_CLOSED, "closed");
    int code;
    do {
        code = fulgurite_poll_events(follower, 60000, &found, 1, &count);
    } while (code == FULGURITE_OK && count > 0);
    FAILS(code, FULGURITE_CLOSED, "closed");
    /* A cursor keeps its snapshot. */
    OK(fulgurite_next_event(cursor, &found));
    EXPECT(equals(found.kind, "placed"));
    OK(fulgurite_close_event_cursor(cursor));
    OK(fulgurite_close_follower(follower));
    OK(fulgurite_close_event_store(store));
    /* All is there when it is opened again. */
    db = created(path);
    store = opened(db, "events");
    uint64_t next;
    OK(fulgurite_event_positions(store, NULL, &next));
    EXPECT(next >= 1);
    OK(fulgurite_close_event_store(store));
    OK(fulgurite_close(db));
    free(path);
    free(other_path);
}

int main(int argument_count, char **arguments) {
    EXPECT(argument_count == 2);
    char *path = path_in(arguments[1], "events.ful");
    fulgurite_database db = created(path);
    test_appends(db);
    test_reads(db);
    test_large_events(db);
    test_tags_and_queries(db);
    test_streams_and_retention(db);
    test_consumers(db);
    test_followers(db);
    test_followers_of_queries(db);
    char *socket = path_in(arguments[1], "served.sock");
    test_served_stores(db, socket);
    free(socket);
    test_arguments(db);
    test_closed_databases(arguments[1]);
    OK(fulgurite_close(db));
    free(path);
    return EXIT_SUCCESS;
}
