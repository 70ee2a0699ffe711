package fulgurite

/*
#include <stdlib.h>
#include <string.h>
#include <fulgurite.h>

// A batch of entries: for each the lengths of key and value, then both.
typedef struct {
    uintptr_t loader;
    unsigned char *bytes;
    size_t at;
    size_t length;
} fulgurite_go_batch;

extern int fulguriteGoNextBatch(uintptr_t loader, unsigned char **bytes, size_t *length);

// Go is called for batches, because each call from C to Go takes longer than loading an entry.
static int fulgurite_go_next_entry(void *context, fulgurite_slice *key, fulgurite_slice *value) {
    fulgurite_go_batch *batch = context;
    if (batch->at == batch->length) {
        free(batch->bytes);
        batch->bytes = NULL;
        batch->at = batch->length = 0;
        int code = fulguriteGoNextBatch(batch->loader, &batch->bytes, &batch->length);
        if (code <= 0) {
            return code;
        }
    }
    uint64_t lengths[2];
    memcpy(lengths, batch->bytes + batch->at, sizeof lengths);
    key->data = batch->bytes + batch->at + sizeof lengths;
    key->length = lengths[0];
    value->data = key->data + lengths[0];
    value->length = lengths[1];
    batch->at += sizeof lengths + lengths[0] + lengths[1];
    return 1;
}

static int fulgurite_go_load(fulgurite_database database, fulgurite_table table, bool is_sorted, uintptr_t loader,
                             fulgurite_load_summary *summary) {
    fulgurite_go_batch batch = {loader, NULL, 0, 0};
    int code = fulgurite_bulk_load(database, table, is_sorted, fulgurite_go_next_entry, &batch, summary);
    free(batch.bytes);
    return code;
}
*/
import "C"

import (
	"context"
	"encoding/binary"
	"iter"
	"runtime"
	"runtime/cgo"
)

// LoadSummary is what a bulk load has done.
type LoadSummary struct {
	// Inserted is the number of keys that had no value before.
	Inserted uint64
	// Replaced is the number of keys whose value was replaced.
	Replaced uint64
}

// BulkLoad loads entries into a table, all of them or none. Keys must ascend strictly. A load is several
// times faster than transactions, takes constant memory, and is durable when it returns.
//
// Commits wait meanwhile, so the iterator must not change, checkpoint or close the database: it would wait
// for its own load. BulkLoad returns only after the iterator has: end an iterator that waits, such as for a
// channel, when the context ends. Then nothing is loaded. If the iterator panics, nothing is loaded, and
// BulkLoad panics with the same value.
func (db *DB) BulkLoad(ctx context.Context, table *Table, entries iter.Seq2[[]byte, []byte]) (LoadSummary, error) {
	return db.load(ctx, table, entries, true)
}

// BulkLoadUnsorted is BulkLoad for entries in any order. They are sorted first, in at most 256 MiB of
// memory and in temporary files beside the database. If a key occurs repeatedly, its last value counts.
func (db *DB) BulkLoadUnsorted(
	ctx context.Context, table *Table, entries iter.Seq2[[]byte, []byte],
) (LoadSummary, error) {
	return db.load(ctx, table, entries, false)
}

func (db *DB) load(
	ctx context.Context, table *Table, entries iter.Seq2[[]byte, []byte], isSorted bool,
) (LoadSummary, error) {
	if db.isMissing() || table.isMissing() {
		return LoadSummary{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return LoadSummary{}, err
	}
	loader := &loader{ctx: ctx, batches: make(chan []byte, 1), stopped: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(loader.batches)
		loader.produce(entries)
	}()
	handle := cgo.NewHandle(loader)
	defer handle.Delete()
	var summary C.fulgurite_load_summary
	err := db.do(func(c C.fulgurite_database) C.int {
		return C.fulgurite_go_load(c, table.c(), C.bool(isSorted), C.uintptr_t(handle), &summary)
	})
	runtime.KeepAlive(table)
	close(loader.stopped)
	<-ended
	if loader.panicked != nil {
		panic(loader.panicked)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = ctx.Err()
	case loader.hasExited:
		err = &Error{Code: int(C.FULGURITE_INPUT), message: "the iterator has ended its goroutine"}
	}
	return LoadSummary{Inserted: uint64(summary.inserted), Replaced: uint64(summary.replaced)}, err
}

// loader packs entries into batches on a goroutine, while the library loads earlier ones.
type loader struct {
	ctx     context.Context
	batches chan []byte
	// stopped is closed when the library wants no more batches.
	stopped chan struct{}
	// These are set before batches is closed: whether all entries were passed on, whether the iterator has ended its
	// goroutine, and what it has panicked with.
	isComplete, hasExited bool
	panicked              any
}

// batchBytes is the size from which on a batch is passed to the library.
const batchBytes = 256 << 10

func (l *loader) produce(entries iter.Seq2[[]byte, []byte]) {
	hasReturned := false
	defer func() {
		l.panicked = recover()
		l.hasExited = !hasReturned && l.panicked == nil
	}()
	l.isComplete = l.passAll(entries)
	hasReturned = true
}

// passAll packs and passes on all entries. It reports whether all were wanted.
func (l *loader) passAll(entries iter.Seq2[[]byte, []byte]) bool {
	var batch []byte
	for key, value := range entries {
		batch = binary.NativeEndian.AppendUint64(batch, uint64(len(key)))
		batch = binary.NativeEndian.AppendUint64(batch, uint64(len(value)))
		batch = append(append(batch, key...), value...)
		if len(batch) >= batchBytes {
			if !l.send(batch) {
				return false
			}
			batch = nil
		}
	}
	return len(batch) == 0 || l.send(batch)
}

// send passes a batch on. It reports whether more are wanted.
func (l *loader) send(batch []byte) bool {
	select {
	case l.batches <- batch:
		return true
	case <-l.stopped:
		return false
	}
}

// next returns the next batch, or nil at the end. It reports whether the load continues.
func (l *loader) next() ([]byte, bool) {
	select {
	case batch, isOpen := <-l.batches:
		if l.ctx.Err() != nil {
			return nil, false
		}
		return batch, isOpen || l.isComplete
	case <-l.ctx.Done():
		return nil, false
	}
}
