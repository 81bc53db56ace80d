package io.waybill.cli.call;

import io.waybill.api.CallException;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.cli.argument.ArgumentException;
import io.waybill.cli.argument.TensorFiles;
import io.waybill.cli.npy.Npy;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Tensors of a call's {@code .npy} files, each read once, directly into memory from which it is sent. For one thread.
 * Its creator closes it.
 */
public final class NpyTensors implements TensorFiles, AutoCloseable {

    private static final Tensor NOT_READ = Tensor.contiguous(DType.UINT8, new long[] {0}, EmptyStorage.INSTANCE);

    private final TensorBuffers buffers;
    private final Map<Path, Tensor> read = new HashMap<>();

    public NpyTensors(TensorBuffers buffers) {
        this.buffers = buffers;
    }

    /** Returns a reader that only checks the files: errors must be reported before any action. */
    public static TensorFiles checked() {
        return file -> {
            try {
                Npy.check(path(file));
                return NOT_READ;
            } catch (IOException e) {
                throw new ArgumentException(e.getMessage(), e);
            }
        };
    }

    @Override
    public Tensor read(String file) throws ArgumentException {
        Path path = path(file);
        try {
            Tensor tensor = read.get(path);
            if (tensor == null) {
                tensor = Npy.read(path, buffers::allocate);
                read.put(path, tensor);
            }
            return tensor;
        } catch (IOException | CallException e) {
            throw new ArgumentException(e.getMessage(), e);
        }
    }

    private static Path path(String file) throws ArgumentException {
        try {
            return Path.of(file).toAbsolutePath().normalize();
        } catch (InvalidPathException e) {
            throw new ArgumentException("no path: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        read.values().forEach(tensor -> tensor.storage().release());
        read.clear();
    }
}
