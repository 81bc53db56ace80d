package io.waybill.replay.slice;

import io.waybill.api.MessageId;
import io.waybill.replay.recording.MessageReferences;
import io.waybill.replay.slice.SliceLayout.Part;
import io.waybill.rref.id.RRefId;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.agrona.collections.Long2LongHashMap;
import org.agrona.collections.LongArrayList;

/**
 * Index of the calls in a slice, built by reading and checking all of them once. Immutable afterwards, and then
 * thread-safe. Takes about 50 bytes for each call, and more for nested calls.
 */
final class SliceIndex {

    private static final int OFFSET_BITS = 32;

    private final Long2LongHashMap locations = new Long2LongHashMap(MessageId.NONE);
    private final Map<Long, List<Long>> children = new HashMap<>();
    private final Map<RRefId, Long> creations = new HashMap<>();
    private final Map<Part, Long> counts = new HashMap<>();
    private final LongArrayList selected = new LongArrayList();
    private final LongArrayList all = new LongArrayList();
    private long storages;

    /** Reads all chunks. */
    static SliceIndex of(SliceFile file, SliceInfo info) throws IOException {
        SliceIndex index = new SliceIndex();
        SliceCheck check = new SliceCheck(file, info);
        for (Part part : Part.values()) {
            for (int number = 0; number < file.chunks(part); number++) {
                index.read(file, check, part, number);
            }
        }
        index.requireCounts(file, info);
        index.children.values().forEach(ids -> ids.sort(Long::compareUnsigned));
        return index;
    }

    private void read(SliceFile file, SliceCheck check, Part part, int number) throws IOException {
        ByteBuffer chunk = file.chunk(part, number);
        while (chunk.hasRemaining()) {
            int at = chunk.position();
            try {
                SlicedCall call = SlicedCall.decode(chunk);
                RecordView request = check.check(call);
                add(part, request, location(part, number, at));
                storages += call.storagesInEntries();
            } catch (MalformedSliceException e) {
                throw e.at(file.path() + ": " + part.chunkName(number) + ", at byte " + at);
            }
        }
    }

    private void add(Part part, RecordView request, long location) throws MalformedSliceException {
        long id = request.id();
        boolean isNew = locations.put(id, location) == MessageId.NONE;
        MalformedSliceException.require(isNew, "expected each call once, found %s a second time", MessageId.text(id));
        counts.merge(part, 1L, Long::sum);
        all.addLong(id);
        if (part == Part.CALLS) {
            selected.addLong(id);
        }
        if (request.parent() != MessageId.NONE) {
            children.computeIfAbsent(request.parent(), any -> new ArrayList<>(2))
                    .add(id);
        }
        MessageReferences.created(request).ifPresent(made -> creations.put(made, id));
    }

    private void requireCounts(SliceFile file, SliceInfo info) throws MalformedSliceException {
        long calls = counts.getOrDefault(Part.CALLS, 0L);
        long needed = counts.getOrDefault(Part.NEEDED, 0L);
        boolean isSame = calls == info.calls() && needed == info.needed() && storages == info.storages();
        file.require(
                isSame && storages == file.tensors(),
                SliceLayout.INFO,
                "expected %d calls, %d more that they need and %d storages, found %d, %d and %d with %d entries",
                info.calls(),
                info.needed(),
                info.storages(),
                calls,
                needed,
                storages,
                file.tensors());
    }

    private static long location(Part part, int chunk, int offset) {
        return ((long) chunk << 1 | part.ordinal()) << OFFSET_BITS | offset;
    }

    /** Returns the part of a position. */
    static Part part(long location) {
        return Part.values()[(int) (location >>> OFFSET_BITS) & 1];
    }

    static int chunk(long location) {
        return (int) (location >>> OFFSET_BITS + 1);
    }

    static int offset(long location) {
        return (int) location;
    }

    /** Returns the position of a call. */
    OptionalLong find(long id) {
        long location = id == MessageId.NONE ? MessageId.NONE : locations.get(id);
        return location == MessageId.NONE ? OptionalLong.empty() : OptionalLong.of(location);
    }

    /** Returns the ids of the selected calls, in their order in the slice. */
    LongArrayList selected() {
        return selected;
    }

    /** Returns the ids of all calls, in their order in the slice. */
    LongArrayList all() {
        return all;
    }

    /** Returns the ids of the requests that a handler sent, ascending. */
    List<Long> children(long parent) {
        return parent == MessageId.NONE ? List.of() : children.getOrDefault(parent, List.of());
    }

    OptionalLong creation(RRefId reference) {
        Long id = creations.get(reference);
        return id == null ? OptionalLong.empty() : OptionalLong.of(id);
    }
}
