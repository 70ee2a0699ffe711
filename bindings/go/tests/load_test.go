package tests

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"

	. "github.com/fulgurite/fulgurite/bindings/go"
)

func sequence(entries []Entry) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for _, entry := range entries {
			if !yield(entry.Key, entry.Value) {
				return
			}
		}
	}
}

func countOf(t testing.TB, db *DB, table *Table) uint64 {
	t.Helper()
	var count uint64
	must(t, db.View(func(txn *Txn) (err error) {
		count, err = txn.Count(table, Range{})
		return err
	}))
	return count
}

func TestBulkLoads(t *testing.T) {
	db, table := opened(t)
	summary, err := db.BulkLoad(background, table, sequence(numbered(0, 50_000)))
	must(t, err)
	want(t, summary, LoadSummary{Inserted: 50_000})
	want(t, countOf(t, db, table), 50_000)

	mixed := append(numbered(50_000, 50_010), numbered(10, 20)...)
	mixed = append(mixed, Entry{Key: []byte("000015"), Value: []byte("last")}, Entry{Key: []byte{}, Value: []byte{}})
	large := Entry{Key: []byte("large"), Value: make([]byte, 3<<20)}
	_, err = db.BulkLoad(background, table, sequence(mixed))
	wantError(t, err, ErrOutOfOrder)
	want(t, countOf(t, db, table), 50_000)
	summary, err = db.BulkLoadUnsorted(background, table, sequence(append(mixed, large)))
	must(t, err)
	want(t, summary, LoadSummary{Inserted: 12, Replaced: 10})
	must(t, db.View(func(txn *Txn) error {
		value, err := txn.Get(table, []byte("000015"))
		want(t, string(value), "last")
		must(t, err)
		value, err = txn.Get(table, []byte("large"))
		want(t, len(value), 3<<20)
		return err
	}))
	summary, err = db.BulkLoad(background, table, sequence(nil))
	must(t, err)
	want(t, summary, LoadSummary{})
}

func TestALoadThatIsInterruptedLoadsNothing(t *testing.T) {
	db, table := opened(t)
	endless := func(atEntry int, do func()) iter.Seq2[[]byte, []byte] {
		return func(yield func([]byte, []byte) bool) {
			for n := 0; ; n++ {
				if n == atEntry {
					do()
				}
				if !yield([]byte(fmt.Sprintf("%012d", n)), []byte("value")) {
					return
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(background)
	_, err := db.BulkLoad(ctx, table, endless(100_000, cancel))
	wantError(t, err, context.Canceled)
	_, err = db.BulkLoad(ctx, table, endless(0, func() { t.Error("begun") }))
	wantError(t, err, context.Canceled)

	func() {
		defer func() { want(t, fmt.Sprint(recover()), "planted") }()
		_, _ = db.BulkLoadUnsorted(background, table, endless(50_000, func() { panic("planted") }))
		t.Error("the load has returned")
	}()
	_, err = db.BulkLoad(background, table, endless(50_000, runtime.Goexit))
	want(t, fmt.Sprint(err), "fulgurite: the iterator has ended its goroutine")
	want(t, countOf(t, db, table), 0)
	// The database can still be written.
	must(t, db.Update(background, func(txn *Txn) error { return txn.Put(table, []byte("a"), []byte("1")) }))
}
