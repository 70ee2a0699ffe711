package fulgurite

/*
#include <stdlib.h>
#include <fulgurite.h>

extern int fulguriteGoMerge(uintptr_t function, fulgurite_slice key, fulgurite_slice value,
                            fulgurite_slice *operands, size_t count);
extern void fulguriteGoReleaseMerge(uintptr_t function);

static int fulgurite_go_merge(void *context, fulgurite_slice key, fulgurite_slice value,
                              const fulgurite_slice *operands, size_t count) {
    return fulguriteGoMerge((uintptr_t)context, key, value, (fulgurite_slice *)operands, count);
}

static void fulgurite_go_release_merge(void *context) { fulguriteGoReleaseMerge((uintptr_t)context); }

static void fulgurite_go_set_function(fulgurite_merge_function *functions, size_t at, char *name, uintptr_t function) {
    functions[at] = (fulgurite_merge_function){name, fulgurite_go_merge, (void *)function, fulgurite_go_release_merge};
}
*/
import "C"

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/cgo"
	"strings"
	"unsafe"
)

// MergeOperator says how Merge changes a value.
type MergeOperator uint32

// Merge operators. The zero value is none.
const (
	// MergeAdd adds unsigned big-endian integers of 8 bytes, or of the table's value type.
	MergeAdd MergeOperator = 1
	// MergeMax keeps the greater value.
	MergeMax MergeOperator = 2
	// MergeAppend appends the operand.
	MergeAppend MergeOperator = 3
	// MergeAddSaturating is MergeAdd, but stores the nearest number in range.
	MergeAddSaturating MergeOperator = 4
	// MergeAddChecked is MergeAdd, but fails with ErrUnmergeable if the sum is out of range.
	MergeAddChecked MergeOperator = 5
	// MergeMin keeps the lesser value.
	MergeMin MergeOperator = 6
	// MergeAnd keeps the bits that are set in both.
	MergeAnd MergeOperator = 7
	// MergeOr keeps the bits that are set in at least one.
	MergeOr MergeOperator = 8
	// MergeXor keeps the bits that are set in exactly one.
	MergeXor MergeOperator = 9
)

// TableOptions are those of a new table.
type TableOptions struct {
	// Counted keeps exact counts of ranges fast while changes wait for a checkpoint. Checkpoints take longer.
	Counted bool
	// Packed stores only the part of a key that differs from the key before it. Gets and scans are slower.
	Packed bool
	// Merge is the merge operator.
	Merge MergeOperator
	// MergeFunction is the name of a function of Options.MergeFunctions, in place of an operator.
	MergeFunction string
	// KeyType and ValueType are types such as "(u32,string)", for tools and other languages; empty for bytes. The
	// names must be those of types. Keys and values are not checked against them.
	KeyType, ValueType string
}

// Table is a table of a database, to be used in any transaction.
type Table struct {
	handle *handle
}

// Table opens a table, and creates it if it does not exist. An existing table must have the same
// options (code TABLE_MISMATCH).
func (db *DB) Table(name string, options TableOptions) (*Table, error) {
	text, err := cText(name)
	if err != nil {
		return nil, err
	}
	defer free(text)
	given := C.fulgurite_table_options{
		size:    C.sizeof_fulgurite_table_options,
		counted: C.bool(options.Counted),
		packed:  C.bool(options.Packed),
		merge:   C.uint32_t(options.Merge),
	}
	for _, kind := range []struct {
		name  string
		place **C.char
	}{
		{options.KeyType, &given.key_type},
		{options.ValueType, &given.value_type},
		{options.MergeFunction, &given.merge_function},
	} {
		if kind.name == "" {
			continue
		}
		if *kind.place, err = cText(kind.name); err != nil {
			return nil, err
		}
		defer free(*kind.place)
	}
	var table C.fulgurite_table
	return newTable(&table, db.do(func(c C.fulgurite_database) C.int {
		return C.fulgurite_open_or_create_table(c, text, &given, &table)
	}))
}

// OpenTable opens a table that exists, whatever its options are. The error is ErrTableNotFound if there is
// none.
func (db *DB) OpenTable(name string) (*Table, error) {
	text, err := cText(name)
	if err != nil {
		return nil, err
	}
	defer free(text)
	var table C.fulgurite_table
	return newTable(&table, db.do(func(c C.fulgurite_database) C.int {
		return C.fulgurite_open_table(c, text, &table)
	}))
}

func newTable(c *C.fulgurite_table, err error) (*Table, error) {
	if err != nil {
		return nil, err
	}
	table := &Table{}
	table.handle = newHandle(table, uint64(c.id), func(id uint64) {
		C.fulgurite_close_table(C.fulgurite_table{id: C.uint64_t(id)})
	})
	return table, nil
}

func (t *Table) c() C.fulgurite_table {
	return C.fulgurite_table{id: C.uint64_t(t.handle.id)}
}

// Close closes the handle; the table remains. It need not be called. The second call returns ErrClosed.
func (t *Table) Close() error {
	if t.isMissing() || !t.handle.take() {
		return ErrClosed
	}
	t.handle.cleanup.Stop()
	defer runtime.KeepAlive(t)
	return call(func() C.int { return C.fulgurite_close_table(t.c()) })
}

// DropTable removes a table and its entries. Existing snapshots still show it.
func (db *DB) DropTable(table *Table) error {
	if table.isMissing() {
		return ErrClosed
	}
	defer runtime.KeepAlive(table)
	return db.do(func(c C.fulgurite_database) C.int { return C.fulgurite_drop_table(c, table.c()) })
}

// Tables returns the names of all tables, sorted.
func (db *DB) Tables() ([]string, error) {
	var names []string
	err := db.View(func(txn *Txn) error {
		name := []byte{}
		for {
			var found C.fulgurite_slice
			var pinner runtime.Pinner
			after := C.fulgurite_slice{length: size(name)}
			if len(name) > 0 {
				pinner.Pin(&name[0])
				after.data = pointer(name)
			}
			err := txn.do(func(c C.fulgurite_txn) C.int { return C.fulgurite_next_table(c, after, &found) })
			pinner.Unpin()
			if err == ErrNotFound {
				return nil
			}
			if err != nil {
				return err
			}
			name = copied(found)
			names = append(names, string(name))
		}
	})
	return names, err
}

// MergeFunction returns the new value of a key. value is the one that the key has; nil if it has none.
// operands are those that one transaction merges into the key, in the order of its calls, at least one.
//
// The result must depend on the arguments only: the function may be called several times for one merge, and by
// several threads at once. Other commits may wait for it. It must not use the database or a transaction.
// After an error, a panic or runtime.Goexit (as by t.FailNow), the call that needs the value, such as Get or
// Commit, fails with ErrUnmergeable. Each runtime.Goexit in it leaves a suspended goroutine behind. A call of
// runtime.LockOSThread must be undone before the function returns.
type MergeFunction func(key, value []byte, operands [][]byte) ([]byte, error)

// mergeFunctions are functions as the library takes them.
type mergeFunctions struct {
	place *C.fulgurite_merge_function
	names []*C.char
	given []MergeFunction
}

func newMergeFunctions(functions map[string]MergeFunction) (*mergeFunctions, error) {
	made := &mergeFunctions{}
	for name, function := range functions {
		if function == nil {
			made.free()
			return nil, invalid("the merge function %q is nil", name)
		}
		text, err := cText(name)
		if err != nil {
			made.free()
			return nil, err
		}
		made.names, made.given = append(made.names, text), append(made.given, function)
	}
	if len(made.given) > 0 {
		made.place = (*C.fulgurite_merge_function)(C.calloc(made.count(), C.sizeof_fulgurite_merge_function))
	}
	return made, nil
}

func (f *mergeFunctions) count() C.size_t {
	return C.size_t(len(f.given))
}

// pass makes handles of the functions. The library releases them, also if it fails to open the database.
func (f *mergeFunctions) pass() *C.fulgurite_merge_function {
	for i, function := range f.given {
		C.fulgurite_go_set_function(f.place, C.size_t(i), f.names[i], C.uintptr_t(cgo.NewHandle(function)))
	}
	return f.place
}

func (f *mergeFunctions) free() {
	for _, name := range f.names {
		free(name)
	}
	C.free(unsafe.Pointer(f.place))
}

var errMergeExited = errors.New("it ended its goroutine (runtime.Goexit)")

// merged calls a function with copies, in a coroutine. If the function ends its goroutine, such as by t.FailNow, it
// ends only the coroutine, and not the goroutine that must return to the library. A coroutine runs on the thread of
// its caller, where the library refuses calls of a merge function.
func merged(
	function MergeFunction, key, value C.fulgurite_slice, operands []C.fulgurite_slice,
) ([]byte, error) {
	given := make([][]byte, len(operands))
	for i, operand := range operands {
		given[i] = copied(operand)
	}
	next, stop := iter.Pull2(func(yield func([]byte, error) bool) {
		result, err := []byte(nil), errMergeExited
		defer func() {
			if panicked := recover(); panicked != nil {
				err = fmt.Errorf("it panicked: %v", panicked)
			}
			yield(result, err)
		}()
		result, err = function(copied(key), copied(value), given)
	})
	result, err, _ := next()
	if err != errMergeExited {
		stop()
	}
	// Otherwise the coroutine stays where it is: a coroutine that ends by Goexit ends its caller, too.
	return result, err
}

// cMessage returns the message of an error as a text of C, which the caller frees.
func cMessage(err error) *C.char {
	return C.CString(strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "?"), "\x00", `\0`))
}
