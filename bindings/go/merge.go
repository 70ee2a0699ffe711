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
	"fmt"
	"runtime/cgo"
	"strings"
	"unsafe"
)

// MergeFunction returns the new value of a key. value is the one that the key has; nil if it has none.
// operands are those that one transaction merges into the key, in the order of its calls, at least one.
//
// The result must depend on nothing else. The function may be called several times for one merge, and by
// several threads at once. Other commits may wait for it. It must not use the database or a transaction.
// An error or a panic makes the commit fail with ErrUnmergeable.
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

// merged calls a function with copies.
func merged(function MergeFunction, key, value C.fulgurite_slice, operands []C.fulgurite_slice) (result []byte, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("it panicked: %v", panicked)
		}
	}()
	given := make([][]byte, len(operands))
	for i, operand := range operands {
		given[i] = copied(operand)
	}
	return function(copied(key), copied(value), given)
}

// cMessage returns the message of an error as a text of C, which the caller frees.
func cMessage(err error) *C.char {
	return C.CString(strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "?"), "\x00", `\0`))
}
