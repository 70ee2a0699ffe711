package fulgurite

/*
#include <fulgurite.h>
*/
import "C"

import (
	"context"
	"runtime"
	"time"
)

// StreamMetadata has the limits of a stream, which ApplyRetention applies, and bytes that the program
// stores with it.
type StreamMetadata struct {
	// MaxAge is the age up to which events are kept. 0 sets no limit.
	MaxAge time.Duration
	// MaxCount is the number of newest events that are kept. 0 sets no limit.
	MaxCount uint64
	// Custom is what the program wants to store.
	Custom []byte
}

// Retention says what ApplyRetention keeps of the log, beside the limits of streams. The zero value limits
// nothing.
type Retention struct {
	// MaxAge is the age up to which events are kept. 0 sets no limit.
	MaxAge time.Duration
	// MaxCount is the number of newest events that are kept, and MaxBytes roughly their size. 0 sets no limit.
	MaxCount, MaxBytes uint64
}

// RetentionReport says what ApplyRetention has removed.
type RetentionReport struct {
	// First is the first position that the log keeps.
	First uint64
	// ChunksRemoved is the number of chunks of events that were removed whole, and ChunksRewritten the number
	// of those from which some events were removed.
	ChunksRemoved, ChunksRewritten uint64
}

// TruncateStream truncates a stream: events with versions lower than before are no longer read from it.
// They stay in the log until ApplyRetention. Versions continue.
func (s *EventStore) TruncateStream(ctx context.Context, stream string, before uint64) error {
	return inBackground(ctx, func() error {
		name := []byte(stream)
		return s.do(func(c C.fulgurite_event_store) C.int {
			return C.fulgurite_truncate_stream(c, pointer(name), size(name), C.uint64_t(before))
		})
	})
}

// DeleteStream deletes a stream, if it has the expected version: it can no longer be read, and
// ApplyRetention removes its events from the log. The next append opens it again, with the version after
// its last one.
func (s *EventStore) DeleteStream(ctx context.Context, stream string, expected Expected) error {
	return s.deleteStream(ctx, stream, expected, false)
}

// DeleteStreamForever is DeleteStream, but later appends return ErrTombstone.
func (s *EventStore) DeleteStreamForever(ctx context.Context, stream string, expected Expected) error {
	return s.deleteStream(ctx, stream, expected, true)
}

func (s *EventStore) deleteStream(ctx context.Context, stream string, expected Expected, forever bool) error {
	if err := expected.check(); err != nil {
		return err
	}
	return inBackground(ctx, func() error {
		name := []byte(stream)
		return s.do(func(c C.fulgurite_event_store) C.int {
			return C.fulgurite_delete_stream(c, pointer(name), size(name), C.int64_t(expected), C.bool(forever))
		})
	})
}

// SetStreamMetadata replaces the metadata of a stream, which is created if there was none. A deleted
// stream stays deleted, and has the metadata when it is opened again.
func (s *EventStore) SetStreamMetadata(ctx context.Context, stream string, metadata StreamMetadata) error {
	age, err := microseconds(metadata.MaxAge)
	if err != nil {
		return err
	}
	parts := packParts(len(metadata.Custom), 0)
	given := C.fulgurite_stream_metadata{
		max_age_us: age, max_count: C.uint64_t(metadata.MaxCount), custom: parts.add(metadata.Custom),
	}
	return inBackground(ctx, func() error {
		name := []byte(stream)
		var pinner runtime.Pinner
		defer pinner.Unpin()
		parts.pin(&pinner)
		return s.do(func(c C.fulgurite_event_store) C.int {
			return C.fulgurite_set_stream_metadata(c, pointer(name), size(name), &given)
		})
	})
}

// StreamMetadata returns the metadata of a stream, also of a deleted one. The error is ErrStreamNotFound
// if there never was such a stream.
func (s *EventStore) StreamMetadata(stream string) (StreamMetadata, error) {
	name := []byte(stream)
	var metadata StreamMetadata
	err := s.do(func(c C.fulgurite_event_store) C.int {
		var found C.fulgurite_stream_metadata
		code := C.fulgurite_get_stream_metadata(c, pointer(name), size(name), &found)
		if code == C.FULGURITE_OK {
			// The bytes belong to the thread, which do does not leave meanwhile.
			metadata = StreamMetadata{
				MaxAge: duration(uint64(found.max_age_us)), MaxCount: uint64(found.max_count), Custom: copied(found.custom),
			}
		}
		return code
	})
	return metadata, err
}

// ApplyRetention removes events from the log: those beyond the limits, those beyond the limits of their
// streams, and those of truncated and deleted streams. Positions and versions of other events do not
// change. Limits of the log apply to chunks of up to 8,000 bytes, and the newest chunk stays.
func (s *EventStore) ApplyRetention(ctx context.Context, retention Retention) (RetentionReport, error) {
	age, err := microseconds(retention.MaxAge)
	if err != nil {
		return RetentionReport{}, err
	}
	given := C.fulgurite_retention{
		size: C.sizeof_fulgurite_retention, max_age_us: age,
		max_count: C.uint64_t(retention.MaxCount), max_bytes: C.uint64_t(retention.MaxBytes),
	}
	report := new(C.fulgurite_retention_report)
	err = inBackground(ctx, func() error {
		return s.do(func(c C.fulgurite_event_store) C.int { return C.fulgurite_apply_retention(c, &given, report) })
	})
	if err != nil {
		return RetentionReport{}, err
	}
	return RetentionReport{
		First: uint64(report.first), ChunksRemoved: uint64(report.chunks_removed),
		ChunksRewritten: uint64(report.chunks_rewritten),
	}, nil
}

// microseconds returns an age as the library has it, rounded up, so that a short one does not mean none.
func microseconds(age time.Duration) (C.uint64_t, error) {
	if age < 0 {
		return 0, invalid("the age %v is negative", age)
	}
	whole := age / time.Microsecond
	if age%time.Microsecond != 0 {
		whole++
	}
	return C.uint64_t(whole), nil
}

// duration returns an age of the library. An age beyond the range of durations is the longest one.
func duration(microseconds uint64) time.Duration {
	const longest = time.Duration(1<<63 - 1)
	if microseconds > uint64(longest/time.Microsecond) {
		return longest
	}
	return time.Duration(microseconds) * time.Microsecond
}
