package io.waybill.api.device;

import io.waybill.api.tensor.Storage;

/**
 * A segment of tensor memory that is mapped into this process. Segments are the files through which larger tensors travel. A part of a peer's
 * segment that is used twice at a time gets a further mapping of its own, which is not reported.
 *
 * @param address of the first byte, at the start of a page
 * @param sizeBytes size of the mapping, more than 0
 * @param use who writes to it
 * @param readAddress of the first byte in a mapping that shows what the file has, to be pinned for reading: {@link Storage#readAddress} of most storages
 *     that arrive lies in it. Not writable for {@link Use#RECEIVES}; for {@link Use#SENDS} the same as {@code address}. Valid as long as that one
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
