package io.waybill.api.device;

import io.waybill.api.tensor.Storage;

/**
 * A segment of tensor memory that is mapped into this process. Segments are the files through which larger tensors
 * travel. If a part of a peer's segment is used twice at the same time, it gets a second mapping, which is not
 * reported.
 *
 * @param address address of the first byte, at the start of a page
 * @param sizeBytes size of the mapping, more than 0
 * @param use direction of its tensors
 * @param readAddress address of the first byte in a mapping of the file's own pages, to be pinned for reading:
 *     {@link Storage#readAddress} of most incoming storages lies in it. Not writable for {@link Use#RECEIVES}; equal to
 *     {@code address} for {@link Use#SENDS}. Valid as long as {@code address}
 */
public record MappedSegment(long address, long sizeBytes, Use use, long readAddress) {

    /** Direction of the tensors in a segment. */
    public enum Use {
        /** Tensors that this worker sends: shared with its peers, and written by this worker. */
        SENDS,
        /** Tensors that this worker receives: a peer's file, mapped copy-on-write. */
        RECEIVES
    }
}
