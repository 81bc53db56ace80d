package io.waybill.tensor;

import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.device.DeviceRegistry;
import io.waybill.host.Host;
import io.waybill.host.NativeCalls;
import io.waybill.host.SafeFiles;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.segment.PeerSegments;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.agrona.UnsafeApi;

/**
 * Receives records that the test names on standard input, one file a line, and responds to each with a line: the sum of the tensors' bytes
 * before and after it wrote over them, and the leases it released. Argument: the sender's segments.
 */
final class ReceivingProcess {

    private final NativeMemory memory = new NativeMemory(NativeCalls.load());
    private final HostMemory host = new HostMemory(memory);
    private final StringBuilder response = new StringBuilder();
    private final TensorReceiver receiver = new TensorReceiver(
            (sender, lease) -> response.append(' ').append(lease),
            new DeviceRegistry(Host.real().threads()),
            host,
            memory,
            new SafeFiles(NativeCalls.load()),
            Host.real().clock());

    public static void main(String[] arguments) throws Exception {
        ReceivingProcess process = new ReceivingProcess();
        PeerSegments peer = process.receiver.peer(Transit.SENDER, Path.of(arguments[0]));
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String file = lines.readLine(); file != null; file = lines.readLine()) {
            System.out.println("answer " + process.receive(Path.of(file), peer));
            System.out.flush();
        }
    }

    private String receive(Path file, PeerSegments peer) throws Exception {
        byte[] bytes = Files.readAllBytes(file);
        MessageBuffer buffer = new MessageBuffer();
        buffer.reserve(bytes.length);
        buffer.memory().putBytes(0, bytes);
        RecordView record = new RecordView(buffer);
        record.check();
        response.setLength(0);
        try {
            ReceivedTensors received = receiver.decode(record, peer);
            response.append(sum(received)).append(' ');
            for (Tensor tensor : received.tensors()) {
                Storage storage = tensor.storage();
                UnsafeApi.setMemory(storage.address(), storage.sizeBytes(), (byte) 1);
            }
            response.append(sum(received));
            received.release();
        } catch (io.waybill.api.RejectedMessageException e) {
            response.append(' ').append(e.code());
        }
        return response.toString();
    }

    private static long sum(ReceivedTensors received) {
        long sum = 0;
        for (Tensor tensor : received.tensors()) {
            ByteBuffer bytes = tensor.storage().bytes(0, (int) tensor.storage().sizeBytes());
            for (int i = 0; i < bytes.capacity(); i++) {
                sum += bytes.get(i);
            }
        }
        return sum;
    }
}
