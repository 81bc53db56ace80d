/**
 * NumPy's {@code .npy} files as tensors.
 *
 * <h2>Starting point</h2>
 * {@link io.waybill.cli.npy.Npy} reads and writes a file. The elements never pass the Java heap.
 */
package io.waybill.cli.npy;
