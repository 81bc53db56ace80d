package io.waybill.cli.argument;

import io.waybill.api.tensor.Tensor;

/** Reader of the files that arguments name. The same name returns the same tensor, so that it is sent once. */
@FunctionalInterface
public interface TensorFiles {

    /**
     * Reads a tensor from a file.
     *
     * @throws ArgumentException if the file does not exist or contains no array
     */
    Tensor read(String file) throws ArgumentException;
}
