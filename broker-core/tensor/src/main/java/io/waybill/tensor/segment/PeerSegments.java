package io.waybill.tensor.segment;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.host.Clock;
import io.waybill.host.SafeFiles;
import io.waybill.host.failure.HostFailures;
import io.waybill.tensor.TensorReceiver;
import io.waybill.tensor.memory.NativeMemory;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.agrona.collections.Long2ObjectHashMap;

/**
 * Segment files of one peer, mapped when a message first names them.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Created by {@link TensorReceiver#peer}; its caller closes it when
 * the peer has ended. Storages in use keep their mapping until they are released.
 */
public final class PeerSegments implements AutoCloseable {

    private final int peer;
    private final Path directory;
    private final SafeFiles files;
    private final NativeMemory memory;
    private final Clock clock;
    private final Long2ObjectHashMap<SegmentMapping> mappings = new Long2ObjectHashMap<>();
    private boolean closed;

    public PeerSegments(int peer, Path directory, SafeFiles files, NativeMemory memory, Clock clock) {
        this.peer = peer;
        this.directory = directory;
        this.files = files;
        this.memory = memory;
        this.clock = clock;
    }

    /** Returns the peer's worker id. */
    public int peer() {
        return peer;
    }

    /**
     * Returns a part of a segment, and maps its file if necessary.
     *
     * @throws RejectedMessageException {@link ErrorCode#TENSORS_GONE} when the file does not exist,
     * {@link ErrorCode#PEER_CORRUPT} when it is too short, {@link ErrorCode#RESOURCE_UNAVAILABLE} when the host has no
     * room for the mapping
     */
    public synchronized SegmentMapping.Part use(long segment, long offset, long length)
            throws RejectedMessageException {
        if (closed) {
            throw new IllegalStateException("the segments of worker " + peer + " are closed");
        }
        SegmentMapping mapping = mappings.get(segment);
        if (mapping == null) {
            mapping = open(segment);
            dropStale();
            mappings.put(segment, mapping);
        }
        return mapping.use(offset, length);
    }

    private SegmentMapping open(long segment) throws RejectedMessageException {
        Path path = Segment.path(directory, segment);
        try {
            return SegmentMapping.map(files.openNative(path, Long.MAX_VALUE), memory, clock);
        } catch (NoSuchFileException e) {
            throw new RejectedMessageException(
                    ErrorCode.TENSORS_GONE,
                    "worker " + peer + " sent tensors in a segment that isn't there any more: " + path,
                    e);
        } catch (IOException e) {
            throw new RejectedMessageException(
                    HostFailures.is(e) ? ErrorCode.RESOURCE_UNAVAILABLE : ErrorCode.PEER_CORRUPT,
                    "worker " + peer + " sent tensors in a segment that can't be opened: " + HostFailures.describe(e),
                    e);
        }
    }

    /** Unmaps files that the peer has removed, and which take up space until then. */
    private void dropStale() {
        mappings.values().removeIf(mapping -> {
            boolean stale = mapping.isStale();
            if (stale) {
                mapping.close();
            }
            return stale;
        });
    }

    /** Returns the number of mapped segment files. */
    public synchronized int mappedCount() {
        return mappings.size();
    }

    @Override
    public synchronized void close() {
        if (closed) {
            throw new IllegalStateException("the segments of a peer are closed once");
        }
        closed = true;
        mappings.values().forEach(SegmentMapping::close);
        mappings.clear();
    }
}
