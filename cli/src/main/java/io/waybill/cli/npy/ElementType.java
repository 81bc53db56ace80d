package io.waybill.cli.npy;

import io.waybill.api.tensor.DType;
import java.util.Map;

/**
 * Layout of a file's elements: NumPy's {@code descr}.
 *
 * @param dtype libtorch's equivalent
 * @param swapBytes size of the units whose byte order is not this machine's; 1 if there are none
 */
record ElementType(DType dtype, int swapBytes) {

    private static final Map<String, DType> BY_CODE = Map.ofEntries(
            Map.entry("b1", DType.BOOL),
            Map.entry("i1", DType.INT8),
            Map.entry("u1", DType.UINT8),
            Map.entry("i2", DType.INT16),
            Map.entry("u2", DType.UINT16),
            Map.entry("i4", DType.INT32),
            Map.entry("u4", DType.UINT32),
            Map.entry("i8", DType.INT64),
            Map.entry("u8", DType.UINT64),
            Map.entry("f2", DType.FLOAT16),
            Map.entry("f4", DType.FLOAT32),
            Map.entry("f8", DType.FLOAT64),
            Map.entry("c8", DType.COMPLEX64),
            Map.entry("c16", DType.COMPLEX128));

    /** Parses a {@code descr}, such as {@code <f4}. */
    static ElementType parse(String descr) throws NpyException {
        DType dtype = descr.length() < 3 ? null : BY_CODE.get(descr.substring(1));
        char order = descr.isEmpty() ? 0 : descr.charAt(0);
        if (dtype == null || "<>=|".indexOf(order) < 0) {
            throw new NpyException("expected bool, an integer, a float or a complex type, found '"
                    + descr.substring(0, Math.min(descr.length(), 20)) + "'");
        }
        boolean isComplex = dtype == DType.COMPLEX64 || dtype == DType.COMPLEX128;
        int unit = isComplex ? dtype.sizeBytes() / 2 : dtype.sizeBytes();
        return new ElementType(dtype, order == '>' ? unit : 1);
    }

    static boolean isKnown(DType dtype) {
        return BY_CODE.containsValue(dtype);
    }

    /**
     * Returns the {@code descr} of a type in this machine's byte order, which is little-endian on all supported
     * machines.
     */
    static String descr(DType dtype) throws NpyException {
        for (Map.Entry<String, DType> entry : BY_CODE.entrySet()) {
            if (entry.getValue() == dtype) {
                return (dtype.sizeBytes() == 1 ? "|" : "<") + entry.getKey();
            }
        }
        throw new NpyException("NumPy has no type for " + dtype.torchName()
                + "; let the callee turn it into another, such as float32");
    }
}
