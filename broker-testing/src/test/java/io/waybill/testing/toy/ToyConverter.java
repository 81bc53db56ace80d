package io.waybill.testing.toy;

import io.waybill.api.Message;
import io.waybill.api.Value;
import io.waybill.api.device.ConvertsDevice;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.util.List;
import java.util.Optional;
import org.osgi.service.component.annotations.Component;

/** Copies to devices of the type toy and back, and responds with the tensor of a request, and where it was. */
@Component
@ConvertsDevice("toy")
@HandlesMessage("toy.echo")
public final class ToyConverter implements DeviceConverter, MessageHandler {

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
        byte[] content = ((ToyStorage) storage).content();
        Storage copy = buffers.allocate(content.length);
        copy.bytes(0, content.length).put(content);
        return Optional.of(copy);
    }

    @Override
    public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
        ToyStorage storage = new ToyStorage(target, new byte[(int) arrived.sizeBytes()]);
        arrived.bytes(0, storage.content().length).get(storage.content());
        return storage;
    }

    @Override
    public void handle(Message message, Outbox outbox) {
        Tensor tensor = message.tensors().get(0);
        tensor.storage().retain();
        outbox.respond(Value.list(Value.of(tensor.device().toString()), Value.of(tensor)));
    }
}
