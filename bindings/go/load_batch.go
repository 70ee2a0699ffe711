package fulgurite

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import "runtime/cgo"

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
