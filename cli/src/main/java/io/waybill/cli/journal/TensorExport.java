package io.waybill.cli.journal;

import io.waybill.api.MessageId;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.npy.Npy;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.stored.StoredStorage;
import io.waybill.query.stored.StoredTensors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Writes the tensors of messages as separate files, if their bytes were kept. For one thread. */
final class TensorExport {

    private final Path directory;
    private final StoredTensors stored;
    private long written;
    private long missing;

    /** @param directory created with the first file */
    TensorExport(Path directory, StoredTensors stored) {
        this.directory = directory;
        this.stored = stored;
    }

    /**
     * Writes the tensors of one record.
     *
     * @param part part of the message that the record is
     * @return the files' paths below the export's directory, by the tensors' numbers
     */
    Map<Integer, String> write(String part, StoredRecord record, Payload payload) throws IOException {
        Map<Integer, String> files = new HashMap<>();
        for (int i = 0; i < payload.tensors().size(); i++) {
            Tensor tensor = payload.tensors().get(i);
            String name = MessageId.text(record.id()) + "-" + part + "-" + i
                    + (Npy.has(tensor.dtype()) ? ".npy" : "." + tensor.dtype().torchName() + ".bin");
            if (write(record, tensor, name)) {
                files.put(i, directory.getFileName().resolve(name).toString());
                written++;
            } else {
                missing++;
            }
        }
        return files;
    }

    private boolean write(StoredRecord record, Tensor tensor, String name) throws IOException {
        StoredStorage storage = stored.storageOf(record, tensor);
        if (!storage.isKept()) {
            return false;
        }
        Files.createDirectories(directory);
        Path file = directory.resolve(name);
        if (storage.location() == StoredStorage.Location.RECORD) {
            write(file, tensor, HostView.of(tensor.storage()));
            return true;
        }
        Path spool = directory.resolve("." + name + ".storage");
        try (SpooledStorage spooled = SpooledStorage.create(spool, storage.sizeBytes())) {
            boolean isWhole = stored.read(record, tensor, spooled::append);
            if (isWhole) {
                write(file, tensor, spooled);
            }
            return isWhole;
        } finally {
            Files.deleteIfExists(spool);
        }
    }

    private static void write(Path file, Tensor tensor, Storage bytes) throws IOException {
        Tensor onHost =
                new Tensor(tensor.dtype(), tensor.sizes(), tensor.strides(), tensor.storageOffset(), false, bytes);
        if (Npy.has(tensor.dtype())) {
            Npy.write(file, onHost);
        } else {
            Npy.writeRaw(file, onHost);
        }
    }

    String summary() {
        return written + " tensors" + (missing == 0 ? "" : ", " + missing + " that were not kept");
    }
}
