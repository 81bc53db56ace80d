package io.waybill.tensor;

import io.waybill.api.Device;
import io.waybill.api.Storage;
import io.waybill.api.Tensor;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** What the tensors of a stored record are, for those who look at journals: kind and shape, without the elements. Stateless. */
public final class DescribedTensors {

    private DescribedTensors() {}

    /**
     * The tensors of a record that has passed its own check. Whoever asks their storages for bytes gets an exception.
     *
     * @throws MalformedRecordException when the record's tensor section is none
     */
    public static List<Tensor> of(RecordView record) throws MalformedRecordException {
        List<Tensor> tensors = new ArrayList<>();
        if (record.tensorCount() > 0) {
            SectionView section = new SectionView();
            section.check(record);
            for (int i = 0; i < section.tensorCount(); i++) {
                int storage = section.storageOf(i);
                tensors.add(section.tensor(
                        i,
                        new Unread(
                                section.targetDevice(storage),
                                section.size(storage),
                                section.isInline(storage),
                                storage)));
            }
        }
        return tensors;
    }

    /** Whether the tensor's bytes lie in the record itself, and not in a segment. */
    public static boolean isInline(Tensor tensor) {
        return tensor.storage() instanceof Unread unread && unread.isInline();
    }

    /** The number of the tensor's storage in its record. */
    public static int storageOf(Tensor tensor) {
        if (tensor.storage() instanceof Unread unread) {
            return unread.number();
        }
        throw new IllegalArgumentException("expected a tensor that was only described");
    }

    private record Unread(Device device, long sizeBytes, boolean isInline, int number) implements Storage {

        private static final String TEXT = "the tensor is only described: its bytes were not read";

        @Override
        public long address() {
            throw new IllegalStateException(TEXT);
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            throw new IllegalStateException(TEXT);
        }

        @Override
        public Storage retain() {
            return this;
        }

        @Override
        public void release() {
            // nothing is held
        }
    }
}
