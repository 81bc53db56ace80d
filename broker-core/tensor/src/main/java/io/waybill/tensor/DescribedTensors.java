package io.waybill.tensor;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Describes the tensors of a stored record for journal tools: kind and shape, with the elements of inlined ones.
 * Stateless.
 */
public final class DescribedTensors {

    private static final ByteBuffer NONE = ByteBuffer.allocate(0);

    private DescribedTensors() {}

    /**
     * Returns the tensors of a record that has passed its own check. Asking a storage for bytes that were not inlined,
     * or for an address, gets an exception.
     *
     * @throws MalformedRecordException when the record's tensor section is malformed
     */
    public static List<Tensor> of(RecordView record) throws MalformedRecordException {
        List<Tensor> tensors = new ArrayList<>();
        if (record.tensorCount() > 0) {
            SectionView section = new SectionView();
            section.check(record);
            byte[] copy = new byte[record.sectionLength()]; // one buffer for all storages: falsified ones could overlap
            record.buffer().memory().getBytes(record.sectionOffset(), copy);
            List<Described> storages = new ArrayList<>();
            for (int i = 0; i < section.storageCount(); i++) {
                storages.add(described(section, i, copy, record.sectionOffset()));
            }
            for (int i = 0; i < section.tensorCount(); i++) {
                tensors.add(section.tensor(i, storages.get(section.storageOf(i))));
            }
        }
        return tensors;
    }

    private static Described described(SectionView section, int storage, byte[] copy, int copiedFrom) {
        ByteBuffer content = NONE;
        if (section.isInline(storage)) {
            int from = (int) section.offset(storage) - copiedFrom;
            content = ByteBuffer.wrap(copy).slice(from, (int) section.size(storage));
        }
        return new Described(
                storage, section.targetDevice(storage), section.size(storage), section.isInline(storage), content);
    }

    /** Returns whether the tensor's bytes are in the record itself, and not in a segment. */
    public static boolean isInline(Tensor tensor) {
        return tensor.storage() instanceof Described described && described.isInline();
    }

    /** Returns the number of the tensor's storage in its record; tensors of one number share a storage. */
    public static int storageOf(Tensor tensor) {
        if (tensor.storage() instanceof Described described) {
            return described.number();
        }
        throw new IllegalArgumentException("expected a tensor that was only described");
    }

    private record Described(int number, Device device, long sizeBytes, boolean isInline, ByteBuffer content)
            implements Storage {

        private static final String TEXT = "the tensor is only described: its bytes were not read";

        @Override
        public long address() {
            throw new IllegalStateException(TEXT);
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            if (!isInline) {
                throw new IllegalStateException(TEXT);
            }
            return content.slice(Math.toIntExact(offset), length)
                    .asReadOnlyBuffer()
                    .order(ByteOrder.nativeOrder());
        }

        @Override
        public Storage retain() {
            return this;
        }

        @Override
        public void release() {
            // no count to release
        }
    }
}
