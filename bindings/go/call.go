package fulgurite

/*
#cgo linux LDFLAGS: -l:libfulgurite.a -lpthread -ldl -lm
#cgo !linux LDFLAGS: -lfulgurite
#include <stdlib.h>
#include <fulgurite.h>
*/
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// call runs a function of the library, and returns its error. The message belongs to the thread, so
// the goroutine stays on it until the message is read.
func call(run func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	switch code := run(); code {
	case C.FULGURITE_OK:
		return nil
	case C.FULGURITE_NOT_FOUND:
		return ErrNotFound
	default:
		return &Error{Code: int(code), message: C.GoString(C.fulgurite_error_message())}
	}
}

// pointer returns where bytes begin. Bytes that are empty but not nil have a place, too: in bounds of
// ranges, nil means none.
func pointer(bytes []byte) *C.uint8_t {
	if bytes == nil {
		return nil
	}
	if len(bytes) == 0 {
		return &nothing
	}
	return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(bytes)))
}

var nothing C.uint8_t

func size(bytes []byte) C.size_t {
	return C.size_t(len(bytes))
}

// copied returns a copy of bytes of the library; nil if there is no value.
func copied(slice C.fulgurite_slice) []byte {
	if slice.data == nil {
		return nil
	}
	value := make([]byte, int(slice.length))
	copy(value, unsafe.Slice((*byte)(unsafe.Pointer(slice.data)), int(slice.length)))
	return value
}

// packed puts byte strings one after the other, as the library takes them.
func packed(count int, at func(int) []byte) ([]byte, []C.size_t) {
	total := 0
	for i := range count {
		total += len(at(i))
	}
	bytes, ends := make([]byte, 0, total), make([]C.size_t, count)
	for i := range count {
		bytes = append(bytes, at(i)...)
		ends[i] = C.size_t(len(bytes))
	}
	return bytes, ends
}

func first(ends []C.size_t) *C.size_t {
	return unsafe.SliceData(ends)
}

// handle is an object of the library, which is released once: by its owner, or when it is collected.
type handle struct {
	id      uint64
	closed  atomic.Bool
	cleanup runtime.Cleanup
	// reading is held while values of a transaction are copied, and to change or end it.
	reading sync.RWMutex
}

// newHandle adds a cleanup to an owner, which holds the handle.
func newHandle[T any](owner *T, id uint64, release func(id uint64)) *handle {
	h := &handle{id: id}
	h.cleanup = runtime.AddCleanup(owner, func(h *handle) {
		if h.take() {
			// Closing a database waits for its exclusive transaction, whose cleanup must not wait for it.
			go release(h.id)
		}
	}, h)
	return h
}

// take reports whether the caller is the first to release the object.
func (h *handle) take() bool {
	return !h.closed.Swap(true)
}

// An object without a handle was never opened. It is nil, the result of a call that has failed, or a zero
// value. Its methods return ErrClosed.

func (db *DB) isMissing() bool {
	return db == nil || db.handle == nil
}

func (t *Table) isMissing() bool {
	return t == nil || t.handle == nil
}

func (txn *Txn) isMissing() bool {
	return txn == nil || txn.handle == nil
}

func (c *Changes) isMissing() bool {
	return c == nil || c.handle == nil
}

// cText returns a text of C, which the caller frees.
func cText(text string) (*C.char, error) {
	for i := range len(text) {
		if text[i] == 0 {
			return nil, invalid("%q has a byte 0", text)
		}
	}
	return C.CString(text), nil
}

func free(text *C.char) {
	C.free(unsafe.Pointer(text))
}
