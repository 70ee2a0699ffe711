package fulgurite

/*
#include <fulgurite.h>
*/
import "C"

import (
	"iter"
	"runtime"
	"sync"
	"unsafe"
)

// Entry is a key and its value.
type Entry struct {
	Key, Value []byte
}

// Range is the keys from Low (included) to High (excluded). A bound that is nil sets no limit.
type Range struct {
	Low, High []byte
}

// Prefix returns the range of all keys that begin with a prefix.
func Prefix(prefix []byte) Range {
	high := append([]byte{}, prefix...)
	for len(high) > 0 {
		last := len(high) - 1
		if high[last] < 0xff {
			high[last]++
			return Range{Low: append([]byte{}, prefix...), High: high}
		}
		high = high[:last]
	}
	return Range{Low: append([]byte{}, prefix...)}
}

// Get returns the value of a key, or ErrNotFound. For several keys, GetMany is faster.
func (txn *Txn) Get(table *Table, key []byte) ([]byte, error) {
	values, err := txn.GetMany(table, [][]byte{key})
	if err != nil {
		return nil, err
	}
	if values[0] == nil {
		return nil, ErrNotFound
	}
	return values[0], nil
}

// GetMany returns the values of many keys, in their order; nil for a key without a value.
func (txn *Txn) GetMany(table *Table, keys [][]byte) ([][]byte, error) {
	if txn.isMissing() {
		return nil, ErrClosed
	}
	if len(keys) == 0 {
		return nil, txn.do(func(c C.fulgurite_txn) C.int { return C.fulgurite_sequence(c, new(C.uint64_t)) })
	}
	bytes, ends := packed(len(keys), func(i int) []byte { return keys[i] })
	found := make([]C.fulgurite_slice, len(keys))
	values := make([][]byte, len(keys))
	defer txn.releaseValues()
	// Values are copied before another goroutine can end or change the transaction.
	txn.handle.reading.RLock()
	defer txn.handle.reading.RUnlock()
	err := txn.with(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_get_packed(c, t, pointer(bytes), size(bytes), first(ends), C.size_t(len(keys)),
			unsafe.SliceData(found))
	})
	if err != nil {
		return nil, err
	}
	for i, slice := range found {
		values[i] = txn.copied(slice)
	}
	runtime.KeepAlive(txn)
	return values, nil
}

// Count returns the exact number of entries in a range.
func (txn *Txn) Count(table *Table, r Range) (uint64, error) {
	var count C.uint64_t
	err := txn.with(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_count(c, t, pointer(r.Low), size(r.Low), pointer(r.High), size(r.High), &count)
	})
	return uint64(count), err
}

// Counter returns the counter of a key, in a table with MergeAdd and no value type.
func (txn *Txn) Counter(table *Table, key []byte) (uint64, error) {
	var counter C.uint64_t
	err := txn.with(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_get_counter(c, t, pointer(key), size(key), &counter)
	})
	return uint64(counter), err
}

// change calls the library with a change of the transaction, while no goroutine copies its values.
func (txn *Txn) change(table *Table, run func(C.fulgurite_txn, C.fulgurite_table) C.int) error {
	if txn.isMissing() {
		return ErrClosed
	}
	txn.handle.reading.Lock()
	defer txn.handle.reading.Unlock()
	return txn.with(table, run)
}

// Put stores a value under a key. For several entries, PutMany is faster.
func (txn *Txn) Put(table *Table, key, value []byte) error {
	return txn.change(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_put(c, t, pointer(key), size(key), pointer(value), size(value))
	})
}

// PutMany stores many entries, in any order: all of them, or none if it returns an error.
func (txn *Txn) PutMany(table *Table, entries []Entry) error {
	keys, keyEnds := packed(len(entries), func(i int) []byte { return entries[i].Key })
	values, valueEnds := packed(len(entries), func(i int) []byte { return entries[i].Value })
	return txn.change(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_put_packed(c, t, pointer(keys), size(keys), first(keyEnds),
			pointer(values), size(values), first(valueEnds), C.size_t(len(entries)))
	})
}

// Insert stores a value under a key that has none. It reports whether the value was stored.
func (txn *Txn) Insert(table *Table, key, value []byte) (bool, error) {
	err := txn.change(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_insert(c, t, pointer(key), size(key), pointer(value), size(value))
	})
	if e, ok := err.(*Error); ok && e.Code == int(C.FULGURITE_KEY_EXISTS) {
		return false, nil
	}
	return err == nil, err
}

// Delete removes a key. It reports whether the key had a value.
func (txn *Txn) Delete(table *Table, key []byte) (bool, error) {
	err := txn.change(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_delete(c, t, pointer(key), size(key))
	})
	if err == ErrNotFound {
		return false, nil
	}
	return err == nil, err
}

// DeleteRange removes the entries of a range, and returns their number.
func (txn *Txn) DeleteRange(table *Table, r Range) (uint64, error) {
	var count C.uint64_t
	err := txn.change(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_delete_range(c, t, pointer(r.Low), size(r.Low), pointer(r.High), size(r.High), &count)
	})
	return uint64(count), err
}

// Merge merges an operand into the value of a key, by the table's merge operator or function. Transactions
// that merge into the same keys do not conflict. The error is ErrInvalid if the table has no operator.
func (txn *Txn) Merge(table *Table, key, operand []byte) error {
	return txn.change(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_merge(c, t, pointer(key), size(key), pointer(operand), size(operand))
	})
}

// Add adds to the counter of a key, in a table with MergeAdd and no value type.
func (txn *Txn) Add(table *Table, key []byte, amount uint64) error {
	return txn.change(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_add(c, t, pointer(key), size(key), C.uint64_t(amount))
	})
}

// Scan is the entries of a range, which it reads in batches of 16 to 1,024 entries. It need not be closed.
type Scan struct {
	txn     *Txn
	table   *Table
	r       Range
	reverse bool
	mutex   sync.Mutex
	err     error
}

// Scan returns the entries of a range, in order.
func (txn *Txn) Scan(table *Table, r Range) *Scan {
	return &Scan{txn: txn, table: table, r: r}
}

// ScanReverse returns the entries of a range, from the last to the first.
func (txn *Txn) ScanReverse(table *Table, r Range) *Scan {
	return &Scan{txn: txn, table: table, r: r, reverse: true}
}

// Err returns the error that ended the last iteration, if one did. Read it after the loop.
func (s *Scan) Err() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.err
}

func (s *Scan) fail(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.err = err
}

// batchMax is the number of entries of a batch, and batchFirst that of the first one.
const (
	batchFirst = 16
	batchMax   = 1024
)

// All iterates over the keys and values. They are copies, which the caller may keep. The transaction may
// be changed meanwhile: the iteration shows changes that are ahead of the batch that it has read.
func (s *Scan) All() iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		s.fail(nil)
		rest := s.r
		for count := batchFirst; ; count = min(2*count, batchMax) {
			entries, err := s.txn.batch(s.table, rest, s.reverse, count)
			if err != nil {
				s.fail(err)
				return
			}
			for _, entry := range entries {
				if !yield(entry.Key, entry.Value) {
					return
				}
			}
			if len(entries) < count {
				return
			}
			last := entries[len(entries)-1].Key
			if s.reverse {
				rest.High = append([]byte{}, last...)
			} else {
				rest.Low = append(append([]byte{}, last...), 0)
			}
		}
	}
}

// batch returns up to count entries of a range. It reads nothing outside the range.
func (txn *Txn) batch(table *Table, r Range, reverse bool, count int) ([]Entry, error) {
	if txn.isMissing() {
		return nil, ErrClosed
	}
	defer txn.releaseValues()
	// Changes of the transaction wait until the entries are copied.
	txn.handle.reading.RLock()
	defer txn.handle.reading.RUnlock()
	keys, values := make([]C.fulgurite_slice, count), make([]C.fulgurite_slice, count)
	var read C.size_t
	err := txn.with(table, func(c C.fulgurite_txn, t C.fulgurite_table) C.int {
		return C.fulgurite_read_range(c, t, pointer(r.Low), size(r.Low), pointer(r.High), size(r.High),
			C.bool(reverse), unsafe.SliceData(keys), unsafe.SliceData(values), C.size_t(count), &read)
	})
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, read)
	for i := range entries {
		entries[i] = Entry{Key: txn.copied(keys[i]), Value: txn.copied(values[i])}
	}
	runtime.KeepAlive(txn)
	return entries, nil
}

// keptMax is how many copied bytes the library may keep. It keeps values that are not in the mapped file.
const keptMax = 4 << 20

// copied is copied, and counts the bytes.
func (txn *Txn) copied(slice C.fulgurite_slice) []byte {
	txn.kept.Add(int64(slice.length))
	return copied(slice)
}

// releaseValues frees the values that the library keeps, if they may be large. All of them are copied.
func (txn *Txn) releaseValues() {
	if txn.kept.Load() < keptMax {
		return
	}
	txn.handle.reading.Lock()
	defer txn.handle.reading.Unlock()
	txn.kept.Store(0)
	// The transaction may have ended.
	_ = txn.do(func(c C.fulgurite_txn) C.int { return C.fulgurite_release_values(c) })
}
