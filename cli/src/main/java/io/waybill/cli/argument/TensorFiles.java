package io.waybill.cli.argument;

import io.waybill.api.tensor.Tensor;

/** Reads the files that arguments name. The same name gives the same tensor, so that it travels once. */
@FunctionalInterface
public interface TensorFiles {

    /**
     * Reads a tensor from a file.
     *
     * @throws ArgumentException when it does not exist or contains no array
     */
    Tensor read(String file) throws ArgumentException;
}
