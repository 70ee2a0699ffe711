package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/fulgurite/fulgurite/bindings/go"
)

func keysOf(t testing.TB, scan *Scan) []string {
	t.Helper()
	var keys []string
	for key, value := range scan.All() {
		if string(value) != "v"+string(key) {
			t.Fatalf("the value of %s is %s", key, value)
		}
		keys = append(keys, string(key))
	}
	must(t, scan.Err())
	return keys
}

func TestBatchesAndScans(t *testing.T) {
	db, table := opened(t)
	must(t, db.Update(background, func(txn *Txn) error { return txn.PutMany(table, numbered(0, 5000)) }))
	writing, err := db.Write(background)
	must(t, err)
	reading, err := db.Read()
	must(t, err)
	for _, txn := range []*Txn{reading, writing} {
		values, err := txn.GetMany(table, [][]byte{[]byte("000007"), []byte("none"), {}, []byte("004999")})
		must(t, err)
		if string(values[0]) != "v000007" || values[1] != nil || values[2] != nil || string(values[3]) != "v004999" {
			t.Fatalf("%q", values)
		}
		keys := keysOf(t, txn.Scan(table, Range{}))
		want(t, len(keys), 5000)
		want(t, slices.IsSorted(keys), true)
		backwards := keysOf(t, txn.ScanReverse(table, Range{}))
		slices.Reverse(backwards)
		want(t, slices.Equal(keys, backwards), true)
		some := Range{Low: []byte("000100"), High: []byte("000200")}
		want(t, slices.Equal(keysOf(t, txn.Scan(table, some)), keys[100:200]), true)
		backwards = keysOf(t, txn.ScanReverse(table, some))
		want(t, backwards[0], "000199")
		want(t, len(backwards), 100)
		want(t, len(keysOf(t, txn.Scan(table, Prefix([]byte("0001"))))), 100)
		count, err := txn.Count(table, some)
		must(t, err)
		want(t, count, 100)
		for range txn.Scan(table, Range{}).All() {
			break
		}
	}
	must(t, reading.End())
	must(t, writing.End())
}

func TestChanges(t *testing.T) {
	db, table := opened(t)
	must(t, db.Update(background, func(txn *Txn) error {
		must(t, txn.Put(table, []byte("a"), []byte("1")))
		must(t, txn.Put(table, []byte("empty"), nil))
		isNew, err := txn.Insert(table, []byte("a"), []byte("2"))
		must(t, err)
		want(t, isNew, false)
		savepoint, err := txn.Savepoint()
		must(t, err)
		must(t, txn.Put(table, []byte("b"), []byte("2")))
		must(t, txn.RollbackTo(savepoint))
		_, err = txn.Get(table, []byte("b"))
		wantError(t, err, ErrNotFound)
		was, err := txn.Delete(table, []byte("none"))
		must(t, err)
		want(t, was, false)
		return nil
	}))
	must(t, db.View(func(txn *Txn) error {
		value, err := txn.Get(table, []byte("a"))
		must(t, err)
		want(t, string(value), "1")
		value, err = txn.Get(table, []byte("empty"))
		must(t, err)
		want(t, value != nil && len(value) == 0, true)
		wantError(t, txn.Put(table, []byte("a"), nil), ErrReadOnly)
		wantError(t, txn.Commit(), ErrReadOnly)
		_, err = txn.Get(table, []byte("a"))
		return err
	}))
	failed := errors.New("failed")
	wantError(t, db.Update(background, func(txn *Txn) error {
		_, err := txn.DeleteRange(table, Range{})
		must(t, err)
		return failed
	}), failed)
	must(t, db.View(func(txn *Txn) error { _, err := txn.Get(table, []byte("a")); return err }))
	names, err := db.Tables()
	must(t, err)
	want(t, fmt.Sprint(names), "[t]")
}

func TestWritingWhileScanning(t *testing.T) {
	db, table := opened(t)
	must(t, db.Update(background, func(txn *Txn) error { return txn.PutMany(table, numbered(0, 3000)) }))
	must(t, db.Update(background, func(txn *Txn) error {
		scan := txn.Scan(table, Range{})
		for key := range scan.All() {
			if _, err := txn.Delete(table, key); err != nil {
				return err
			}
			must(t, txn.Put(table, append([]byte("!"), key...), nil))
		}
		return scan.Err()
	}))
	must(t, db.View(func(txn *Txn) error {
		count, err := txn.Count(table, Prefix([]byte("!")))
		want(t, count, 3000)
		return err
	}))
}

func TestConflictsAreRetried(t *testing.T) {
	db, table := opened(t)
	one, err := db.Write(background)
	must(t, err)
	_, err = one.Get(table, []byte("k"))
	wantError(t, err, ErrNotFound)
	must(t, db.Update(background, func(txn *Txn) error { return txn.Put(table, []byte("k"), []byte("1")) }))
	must(t, one.Put(table, []byte("k"), []byte("2")))
	err = one.Commit()
	wantError(t, err, ErrConflict)
	want(t, IsRetryable(err), true)
	want(t, err.(*Error).Name(), "CONFLICT")
	wantError(t, one.End(), ErrClosed)

	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 25 {
				err := db.Update(background, func(txn *Txn) error {
					value, err := txn.Get(table, []byte("n"))
					if err != nil && !errors.Is(err, ErrNotFound) {
						return err
					}
					return txn.Put(table, []byte("n"), append(value, '.'))
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	must(t, db.View(func(txn *Txn) error {
		value, err := txn.Get(table, []byte("n"))
		want(t, len(value), 100)
		return err
	}))
}

func TestCounters(t *testing.T) {
	db, _ := opened(t)
	counters, err := db.Table("counters", TableOptions{Merge: MergeAdd})
	must(t, err)
	one, err := db.Write(background)
	must(t, err)
	must(t, one.Add(counters, []byte("n"), 40))
	must(t, db.Update(background, func(txn *Txn) error { return txn.Add(counters, []byte("n"), 2) }))
	must(t, one.CommitWith(Log))
	must(t, db.View(func(txn *Txn) error {
		n, err := txn.Counter(counters, []byte("n"))
		want(t, n, 42)
		return err
	}))
}

func TestMaintenance(t *testing.T) {
	db, table := opened(t)
	must(t, db.Update(background, func(txn *Txn) error { return txn.PutMany(table, numbered(0, 1000)) }))
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	must(t, db.Sync(ctx))
	must(t, db.Checkpoint(ctx))
	must(t, db.Compact(ctx))
	must(t, db.Check(ctx))
	stats, err := db.Stats()
	must(t, err)
	want(t, stats.FileBytes > 0 && stats.Tables == 1, true)
	image := filepath.Join(t.TempDir(), "i.ful")
	must(t, db.WriteImage(ctx, image, 1))
	must(t, db.Backup(ctx, image+".copy"))
	for _, options := range []Options{{Image: true}, {Image: true, NoMap: true}} {
		opened, err := Open(image, options)
		must(t, err)
		table, err := opened.OpenTable("t")
		must(t, err)
		must(t, opened.View(func(txn *Txn) error {
			want(t, len(keysOf(t, txn.Scan(table, Range{}))), 1000)
			return nil
		}))
		_, err = opened.Write(background)
		wantError(t, err, ErrReadOnly)
		must(t, opened.Close())
	}
}

func TestContexts(t *testing.T) {
	db, table := opened(t)
	ended, cancel := context.WithCancel(background)
	cancel()
	_, err := db.Write(ended)
	wantError(t, err, context.Canceled)
	wantError(t, db.Checkpoint(ended), context.Canceled)
	exclusive, err := db.Exclusive(background)
	must(t, err)
	short, cancel := context.WithTimeout(background, 100*time.Millisecond)
	defer cancel()
	_, err = db.Exclusive(short)
	wantError(t, err, context.DeadlineExceeded)
	short, cancel = context.WithTimeout(background, 100*time.Millisecond)
	defer cancel()
	_, err = db.Write(short)
	wantError(t, err, context.DeadlineExceeded)
	must(t, exclusive.Put(table, []byte("k"), []byte("v")))
	must(t, exclusive.Commit())
	must(t, db.Update(background, func(txn *Txn) error { return txn.Put(table, []byte("l"), nil) }))
}

func TestClosedHandles(t *testing.T) {
	db, table := opened(t)
	other, err := db.OpenTable("t")
	must(t, err)
	must(t, other.Close())
	wantError(t, other.Close(), ErrClosed)
	reading, err := db.Read()
	must(t, err)
	_, err = reading.Get(other, []byte("k"))
	wantError(t, err, ErrClosed)
	scan := reading.Scan(table, Range{})
	must(t, reading.End())
	wantError(t, reading.End(), ErrClosed)
	_, err = reading.Get(table, []byte("k"))
	wantError(t, err, ErrClosed)
	_, err = reading.GetMany(table, nil)
	wantError(t, err, ErrClosed)
	for range scan.All() {
		t.Fatal("an entry of an ended transaction")
	}
	wantError(t, scan.Err(), ErrClosed)

	open, err := db.Read()
	must(t, err)
	writing, err := db.Write(background)
	must(t, err)
	must(t, writing.Put(table, []byte("k"), nil))
	must(t, db.Close())
	wantError(t, db.Close(), ErrClosed)
	_, err = db.Read()
	wantError(t, err, ErrClosed)
	_, err = open.Get(table, []byte("k"))
	wantError(t, err, ErrNotFound)
	wantError(t, writing.Commit(), ErrClosed)
	must(t, open.End())
}

func TestWrongArguments(t *testing.T) {
	directory := t.TempDir()
	_, err := Open(filepath.Join(directory, "none.ful"), Options{})
	wantError(t, err, ErrDatabaseNotFound)
	_, err = Open("a\x00b", Options{})
	wantError(t, err, ErrInvalid)
	_, err = Open(filepath.Join(directory, "a.ful"), Options{Create: true, PageSizeBytes: 7})
	wantError(t, err, ErrInvalid)
	db, _ := opened(t)
	_, err = db.OpenTable("none")
	wantError(t, err, ErrTableNotFound)
	_, err = db.Table("t\x00", TableOptions{})
	wantError(t, err, ErrInvalid)
	_, err = db.Table("typed", TableOptions{KeyType: "u46"})
	wantError(t, err, ErrInvalid)
	_, err = db.Table("typed", TableOptions{KeyType: "(u32,string)", ValueType: "text"})
	wantError(t, err, ErrInvalid)
}

func TestMessagesHaveTheNamesOfGo(t *testing.T) {
	db, store := openedStore(t, "s")
	follower, err := store.Follow(0)
	must(t, err)
	_, readOnly := Open("a.ful", Options{Create: true, ReadOnly: true})
	_, durability := Open("a.ful", Options{Create: true, Durability: 9})
	_, merge := db.Table("t", TableOptions{Merge: 99})
	_, version := store.Append(background, "a", -9, NewEvent{Type: "t"})
	deleting := store.DeleteStream(background, "a", -9)
	for _, err := range []error{readOnly, durability, merge, version, deleting, follower.Acknowledge(0)} {
		wantError(t, err, ErrInvalid)
		text := strings.ToLower(err.Error())
		want(t, strings.Contains(text, "fulgurite_") || strings.Contains(text, "read_only"), false)
	}
}

func TestGoroutinesShareTransactions(t *testing.T) {
	db, table := opened(t)
	must(t, db.Update(background, func(txn *Txn) error { return txn.PutMany(table, numbered(0, 500)) }))
	for round := range 6 {
		var txn *Txn
		var err error
		if round%2 == 0 {
			txn, err = db.Read()
		} else {
			txn, err = db.Write(background)
		}
		must(t, err)
		var group sync.WaitGroup
		for range 4 {
			group.Add(1)
			go func() {
				defer group.Done()
				for n := 0; ; n++ {
					values, err := txn.GetMany(table, [][]byte{[]byte("000001"), []byte("000499")})
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil || !bytes.HasPrefix(values[1], []byte("v0004")) {
						t.Errorf("%q, %v", values, err)
						return
					}
					scan := txn.Scan(table, Range{})
					for key, value := range scan.All() {
						if !bytes.Equal(key, value[1:]) {
							t.Errorf("%q: %q", key, value)
						}
					}
					if round%2 == 1 {
						_ = txn.Put(table, []byte("000499"), []byte("v000499"))
						if savepoint, err := txn.Savepoint(); err == nil {
							_ = txn.Put(table, []byte("000498"), []byte("v000498"))
							// Another goroutine may have undone the savepoint.
							_ = txn.RollbackTo(savepoint)
						}
					}
				}
			}()
		}
		time.Sleep(20 * time.Millisecond)
		must(t, txn.End())
		group.Wait()
	}
}

func TestTransactionsKeepTheirDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ful")
	begun := func() (*Txn, *Table) {
		db, err := Open(path, Options{Create: true})
		must(t, err)
		table, err := db.Table("t", TableOptions{})
		must(t, err)
		txn, err := db.Write(background)
		must(t, err)
		return txn, table
	}
	txn, table := begun()
	for range 5 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	must(t, txn.Put(table, []byte("k"), []byte("v")))
	must(t, txn.Commit())
}

func TestScansDoNotConflictWithChangesOutsideOfThem(t *testing.T) {
	db, table := opened(t)
	must(t, db.Update(background, func(txn *Txn) error { return txn.PutMany(table, numbered(0, 100)) }))
	for _, reverse := range []bool{false, true} {
		txn, err := db.Write(background)
		must(t, err)
		scan := txn.Scan
		if reverse {
			scan = txn.ScanReverse
		}
		want(t, len(keysOf(t, scan(table, Range{Low: []byte("000010"), High: []byte("000050")}))), 40)
		must(t, db.Update(background, func(other *Txn) error {
			must(t, other.Put(table, []byte("000009"), []byte("v000009")))
			return other.Put(table, []byte("000050"), []byte("v000050"))
		}))
		must(t, txn.Put(table, []byte("z"), []byte("vz")))
		must(t, txn.Commit())
	}
}

func TestWaitingWritesKeepNoThreads(t *testing.T) {
	threads := func() int {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Skip(err)
		}
		return len(tasks)
	}
	db, _ := opened(t)
	exclusive, err := db.Exclusive(background)
	must(t, err)
	before := threads()
	ctx, cancel := context.WithTimeout(background, 200*time.Millisecond)
	defer cancel()
	var group sync.WaitGroup
	for range 50 {
		group.Add(1)
		go func() {
			defer group.Done()
			_, err := db.Write(ctx)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}()
	}
	group.Wait()
	if after := threads(); after > before+25 {
		t.Errorf("%d threads, after %d", after, before)
	}
	must(t, exclusive.End())
}

func TestUpdateEndsWithItsContext(t *testing.T) {
	db, table := opened(t)
	ctx, cancel := context.WithCancel(background)
	calls := 0
	err := db.Update(ctx, func(txn *Txn) error {
		calls++
		_, err := txn.Get(table, []byte("k"))
		wantError(t, err, ErrNotFound)
		// Another transaction changes what this one has read.
		must(t, db.Update(background, func(other *Txn) error { return other.Put(table, []byte("k"), nil) }))
		cancel()
		return txn.Put(table, []byte("l"), nil)
	})
	wantError(t, err, context.Canceled)
	want(t, calls, 1)
}

func TestAPanicEndsTheTransactionOfItsFunction(t *testing.T) {
	db, table := opened(t)
	must(t, db.Update(background, func(txn *Txn) error { return txn.Put(table, []byte("k"), []byte("old")) }))
	var kept *Txn
	for _, run := range []func(){
		func() {
			_ = db.Update(background, func(txn *Txn) error {
				kept = txn
				must(t, txn.Put(table, []byte("k"), []byte("new")))
				panic("planted")
			})
		},
		func() {
			_ = db.View(func(txn *Txn) error {
				kept = txn
				for range txn.Scan(table, Range{}).All() {
					panic("planted")
				}
				return nil
			})
		},
	} {
		func() {
			defer func() { want(t, recover(), any("planted")) }()
			run()
		}()
		_, err := kept.Get(table, []byte("k"))
		wantError(t, err, ErrClosed)
	}
	must(t, db.View(func(txn *Txn) error {
		value, err := txn.Get(table, []byte("k"))
		want(t, string(value), "old")
		return err
	}))
	must(t, db.Close())
}

func TestACommitThatIsRefusedEnds(t *testing.T) {
	db, table := opened(t)
	txn, err := db.Write(background)
	must(t, err)
	must(t, txn.Put(table, []byte("k"), nil))
	wantError(t, txn.CommitWith(9), ErrInvalid)
	wantError(t, txn.End(), ErrClosed)
}

func TestCollectedHandlesAreReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ful")
	func() {
		db, err := Open(path, Options{Create: true})
		must(t, err)
		table, err := db.Table("t", TableOptions{})
		must(t, err)
		must(t, db.Update(background, func(txn *Txn) error { return txn.Put(table, []byte("k"), []byte("v")) }))
		txn, err := db.Exclusive(background)
		must(t, err)
		must(t, txn.Put(table, []byte("k"), []byte("lost")))
	}()
	deadline := time.Now().Add(30 * time.Second)
	for {
		runtime.GC()
		// Opening with other options needs the database to be closed.
		db, err := Open(path, Options{Durability: Log})
		if err == nil {
			table, err := db.OpenTable("t")
			must(t, err)
			must(t, db.View(func(txn *Txn) error {
				value, err := txn.Get(table, []byte("k"))
				want(t, string(value), "v")
				return err
			}))
			must(t, db.Close())
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
