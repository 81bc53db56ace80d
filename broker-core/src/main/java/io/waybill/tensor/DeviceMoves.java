package io.waybill.tensor;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The converters and streams of one message in one direction: for each device one converter, whatever is registered meanwhile, and its streams, which
 * all storages on that device get. Host memory has no streams, and costs no more than the lookup of its converter.
 *
 * <p><b>Threads.</b> Owned by the thread that moves the message's tensors. Reusable after {@link #clear}.
 */
final class DeviceMoves {

    private record Move(Device device, DeviceConverter converter, List<DeviceStream> streams) {}

    private final Converters converters;
    private final List<Move> moves = new ArrayList<>(0);

    DeviceMoves(Converters converters) {
        this.converters = converters;
    }

    /** Makes a storage readable for the host, as {@link DeviceConverter#prepareForSending} does. */
    Optional<Storage> prepare(Storage storage, TensorBuffers buffers) throws RejectedMessageException {
        Device device = storage.device();
        if (device.isCpu()) {
            return converters.forSending(device).prepareForSending(storage, List.of(), buffers);
        }
        Move move = move(device);
        if (move == null) {
            move = begin(device, converters.forSending(device));
        }
        return move.converter.prepareForSending(storage, move.streams, buffers);
    }

    /** Copies bytes that arrived to a device other than the host, as {@link DeviceConverter#allocateForReceiving} does. */
    Storage allocate(Storage arrived, Device target) throws RejectedMessageException {
        Move move = move(target);
        if (move == null) {
            move = begin(target, converters.forReceiving(target));
        }
        return move.converter.allocateForReceiving(arrived, target, move.streams);
    }

    private Move move(Device device) {
        for (int i = 0; i < moves.size(); i++) {
            if (moves.get(i).device.equals(device)) {
                return moves.get(i);
            }
        }
        return null;
    }

    private Move begin(Device device, DeviceConverter converter) throws RejectedMessageException {
        Move move = new Move(device, converter, converter.streams(device));
        moves.add(move);
        return move;
    }

    /** Ends the message. */
    void clear() {
        moves.clear();
    }
}
