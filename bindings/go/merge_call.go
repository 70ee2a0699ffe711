package fulgurite

/*
#include <fulgurite.h>
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

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
