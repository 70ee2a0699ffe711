package fulgurite

/*
#include <stdint.h>
#include <stdlib.h>
#include <fulgurite.h>
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// fulguriteGoNextBatch returns the next batch of a load, which the caller frees. The result is 1, 0 at
// the end, or -1 if the load is to fail.
//
//export fulguriteGoNextBatch
func fulguriteGoNextBatch(handle C.uintptr_t, bytes **C.uchar, length *C.size_t) C.int {
	batch, ok := cgo.Handle(handle).Value().(*loader).next()
	switch {
	case !ok:
		return -1
	case batch == nil:
		return 0
	}
	*bytes, *length = (*C.uchar)(C.CBytes(batch)), C.size_t(len(batch))
	return 1
}

//export fulguriteGoMerge
func fulguriteGoMerge(
	function C.uintptr_t, key, value C.fulgurite_slice, operands *C.fulgurite_slice, count C.size_t,
) C.int {
	called := cgo.Handle(function).Value().(MergeFunction)
	result, err := merged(called, key, value, unsafe.Slice(operands, int(count)))
	if err != nil {
		text := cMessage(err)
		defer free(text)
		return C.fulgurite_set_merge_error(text)
	}
	return C.fulgurite_set_merge_result(pointer(result), size(result))
}

//export fulguriteGoReleaseMerge
func fulguriteGoReleaseMerge(function C.uintptr_t) {
	cgo.Handle(function).Delete()
}
