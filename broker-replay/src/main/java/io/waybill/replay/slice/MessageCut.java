package io.waybill.replay.slice;

import io.waybill.api.tensor.Tensor;
import io.waybill.query.stored.Payload;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.recording.StorageBytes;
import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.replay.slice.SlicedStorage.State;
import io.waybill.tensor.DescribedTensors;
import io.waybill.wire.Envelope;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32;

/** Converts a recorded message to its form in a slice. One thread. */
final class MessageCut {

    private static final byte[] NO_DIGEST = {};

    private final Payloads payloads;
    private final StorageBytes beside;
    private final Entries entries;
    private final MessageBuffer buffer = new MessageBuffer();
    private final MessageBuffer reduced = new MessageBuffer();

    /** Receiver of the storages whose bytes become entries. */
    interface Entries {

        /**
         * Writes one entry.
         *
         * @param checksum CRC-32 of its bytes
         */
        void write(RecordedMessage message, Kind kind, RecordView record, int number, long size, long checksum)
                throws IOException;
    }

    MessageCut(Payloads payloads, StorageBytes beside, Entries entries) {
        this.payloads = payloads;
        this.beside = beside;
        this.entries = entries;
    }

    /** Converts a message for a chunk, after writing the bytes of its storages. */
    SlicedMessage cut(RecordedMessage message, Kind kind) throws IOException {
        RecordView record = message.in(buffer);
        List<SlicedStorage> storages = new ArrayList<>();
        for (Map.Entry<Integer, Tensor> each : storages(record).entrySet()) {
            storages.add(cut(message, kind, record, each.getKey(), each.getValue()));
        }
        byte[] digest = payloads == Payloads.DIGEST ? digestOfPayload(message.record(), record) : NO_DIGEST;
        byte[] kept = payloads == Payloads.FULL ? message.record() : withoutPayload(record);
        return new SlicedMessage(kind, payloads, message.fileName(), kept, digest, storages);
    }

    /** Returns one tensor of each storage that the slice must describe. */
    private Map<Integer, Tensor> storages(RecordView record) {
        Map<Integer, Tensor> storages = new LinkedHashMap<>();
        if (record.tensorCount() == 0) {
            return storages;
        }
        try {
            for (Tensor tensor : DescribedTensors.of(record)) {
                if (payloads != Payloads.FULL || !DescribedTensors.isInline(tensor)) {
                    storages.putIfAbsent(DescribedTensors.storageOf(tensor), tensor);
                }
            }
        } catch (MalformedRecordException e) {
            return Map.of(); // its receiver refused it for the same reason
        }
        return storages;
    }

    private SlicedStorage cut(RecordedMessage message, Kind kind, RecordView record, int number, Tensor tensor)
            throws IOException {
        long size = tensor.storage().sizeBytes();
        if (payloads == Payloads.NONE) {
            return new SlicedStorage(number, State.LEFT_OUT, size, "");
        }
        MessageDigest digest = sha256();
        CRC32 checksum = new CRC32();
        if (DescribedTensors.isInline(tensor)) {
            digest.update(tensor.storage().bytes(0, (int) size));
        } else {
            Optional<String> problem = beside.missing(message, record, number, size);
            if (problem.isEmpty()) {
                problem = beside.read(
                        message, record, number, payloads == Payloads.DIGEST ? digest::update : checksum::update);
            }
            if (problem.isPresent()) {
                return new SlicedStorage(number, State.NOT_KEPT, size, problem.get());
            }
        }
        if (payloads == Payloads.DIGEST) {
            return new SlicedStorage(number, State.DIGEST, size, digest.digest(), "");
        }
        entries.write(message, kind, record, number, size, checksum.getValue());
        return new SlicedStorage(number, State.ENTRY, size, "");
    }

    private static byte[] digestOfPayload(byte[] bytes, RecordView record) {
        MessageDigest digest = sha256();
        digest.update(bytes, Envelope.HEADER_LENGTH, record.payloadLength());
        return digest.digest();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** Returns the envelope, followed only by the name of the operation. */
    private byte[] withoutPayload(RecordView record) {
        int kept = Payload.operationBytes(record);
        byte[] bytes = new byte[Envelope.HEADER_LENGTH + kept];
        record.buffer().memory().getBytes(0, bytes);
        ByteBuffer header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        header.putInt(Envelope.PAYLOAD_LENGTH, kept)
                .putInt(Envelope.SECTION_LENGTH, 0)
                .putShort(Envelope.TENSOR_COUNT, (short) 0)
                .put(Envelope.FLAGS, (byte)
                        (header.get(Envelope.FLAGS) & (Envelope.REPEATED | Envelope.ACROSS_INCARNATIONS)));
        reduced.reserve(bytes.length);
        reduced.memory().putBytes(0, bytes);
        reduced.seal(record.sequence());
        reduced.memory().getBytes(0, bytes);
        return bytes;
    }
}
