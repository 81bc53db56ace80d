package io.waybill.replay.slice;

import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.replay.slice.SlicedStorage.State;
import java.nio.ByteBuffer;
import java.util.Optional;

/** A request and its response in a slice. */
record SlicedCall(SlicedMessage request, Optional<SlicedMessage> response) {

    /** Decodes the call at the buffer's position, and advances the position. */
    static SlicedCall decode(ByteBuffer chunk) throws MalformedSliceException {
        SlicedMessage request = SlicedMessage.decode(chunk);
        if (request.kind() != Kind.REQUEST) {
            throw new MalformedSliceException("expected a request, found a response");
        }
        return new SlicedCall(
                request, SlicedMessage.isResponse(chunk) ? Optional.of(SlicedMessage.decode(chunk)) : Optional.empty());
    }

    long storagesInEntries() {
        return storagesInEntries(request)
                + response.map(SlicedCall::storagesInEntries).orElse(0L);
    }

    private static long storagesInEntries(SlicedMessage message) {
        return message.storages().stream()
                .filter(storage -> storage.state() == State.ENTRY)
                .count();
    }
}
