package io.waybill.tensor;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Converters and streams of one message in one direction: one converter for each device, regardless of later
 * registrations, and its streams, which all storages on that device get. Host memory has no streams, and costs no more
 * than the lookup of its converter.
 *
 * <p><b>Threads.</b> Owned by the thread that moves the message's tensors, but for {@link #end}. Reusable after
 * {@link #clear}.
 */
final class DeviceMoves {

    private record Move(
            Device device, DeviceConverter converter, List<DeviceStream> streams, Consumer<DeviceConverter> end) {}

    private final Converters converters;
    private final boolean isForRequest;
    private final List<Move> moves = new ArrayList<>(0);
    private boolean ended;

    /** Creates the moves of a message that is sent, or of a response that arrived. */
    DeviceMoves(Converters converters) {
        this(converters, false);
    }

    private DeviceMoves(Converters converters, boolean isForRequest) {
        this.converters = converters;
        this.isForRequest = isForRequest;
    }

    /** Creates the moves of a request that arrived. */
    static DeviceMoves ofRequest(Converters converters) {
        return new DeviceMoves(converters, true);
    }

    /** Makes a storage readable for the host, as {@link DeviceConverter#prepareForSending} does. */
    Optional<Storage> prepare(Storage storage, TensorBuffers buffers) throws RejectedMessageException {
        Device device = storage.device();
        if (device.isCpu()) {
            return converters.forSending(device).prepareForSending(storage, List.of(), buffers);
        }
        Move move = sending(device);
        return move.converter.prepareForSending(storage, move.streams, buffers);
    }

    /**
     * Makes a handle of a storage on a device, as {@link MemorySharing#share} does.
     *
     * @return null when the storage has to be copied
     */
    byte[] share(Storage storage) throws RejectedMessageException {
        Move move = sending(storage.device());
        ByteBuffer handle = sharing(move).share(storage, move.streams).orElse(null);
        if (handle == null) {
            return null;
        }
        byte[] copy = new byte[handle.remaining()];
        handle.get(copy);
        return copy;
    }

    /** Makes a storage over memory that the sender shares, as {@link MemorySharing#open} does. */
    Storage open(byte[] handle, Storage shared, Device target) throws RejectedMessageException {
        Move move = receiving(target);
        return sharing(move).open(ByteBuffer.wrap(handle).asReadOnlyBuffer(), shared, target, move.streams);
    }

    /**
     * Returns how to share a storage. A converter other than the one for host memory, of which nothing is shared, is
     * called through its guard.
     */
    private static MemorySharing sharing(Move move) {
        return (MemorySharing) move.converter;
    }

    /**
     * Copies bytes that arrived to a device other than the host, as {@link DeviceConverter#allocateForReceiving} does.
     */
    Storage allocate(Storage arrived, Device target) throws RejectedMessageException {
        Move move = receiving(target);
        return move.converter.allocateForReceiving(arrived, target, move.streams);
    }

    private Move sending(Device device) throws RejectedMessageException {
        Move move = move(device);
        return move == null ? begin(device, converters.forSending(device), converters::sent) : move;
    }

    private Move receiving(Device target) throws RejectedMessageException {
        Move move = move(target);
        if (move != null) {
            return move;
        }
        return isForRequest
                ? begin(target, converters.forReceiving(target), converters::received)
                : begin(target, converters.forResponse(target), converters::sent);
    }

    private synchronized Move move(Device device) {
        for (int i = 0; i < moves.size(); i++) {
            if (moves.get(i).device.equals(device)) {
                return moves.get(i);
            }
        }
        return null;
    }

    private Move begin(Device device, DeviceConverter converter, Consumer<DeviceConverter> end)
            throws RejectedMessageException {
        boolean begun = false;
        try {
            Move move = new Move(device, converter, converter.streams(device), end);
            add(move);
            begun = true;
            return move;
        } finally {
            if (!begun) {
                end.accept(converter);
            }
        }
    }

    private synchronized void add(Move move) throws RejectedMessageException {
        if (ended) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_LOST, "the message ended while its tensors were moved to " + move.device);
        }
        moves.add(move);
    }

    /** Ends the message permanently, on any thread, also while another thread moves its tensors. */
    synchronized void end() {
        ended = true;
        clear();
    }

    /** Ends the message, and the use of its converters. */
    void clear() {
        for (int i = 0; i < moves.size(); i++) {
            moves.get(i).end.accept(moves.get(i).converter);
        }
        moves.clear();
    }
}
