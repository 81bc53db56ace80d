package io.waybill.api.tensor;

import java.util.Locale;

/**
 * libtorch's element types with plain storage, with libtorch's codes ({@code c10/core/ScalarType.h}). Excludes
 * quantised types, whose storage means nothing without a quantizer, and types below one byte.
 */
public enum DType {
    UINT8(0, 1),
    INT8(1, 1),
    INT16(2, 2),
    INT32(3, 4),
    INT64(4, 8),
    FLOAT16(5, 2),
    FLOAT32(6, 4),
    FLOAT64(7, 8),
    COMPLEX32(8, 4),
    COMPLEX64(9, 8),
    COMPLEX128(10, 16),
    BOOL(11, 1),
    BFLOAT16(15, 2),
    BITS8(21, 1),
    BITS16(22, 2),
    FLOAT8_E5M2(23, 1),
    FLOAT8_E4M3FN(24, 1),
    FLOAT8_E5M2FNUZ(25, 1),
    FLOAT8_E4M3FNUZ(26, 1),
    UINT16(27, 2),
    UINT32(28, 4),
    UINT64(29, 8),
    FLOAT8_E8M0FNU(44, 1);

    private static final DType[] BY_CODE = new DType[64];

    static {
        for (DType type : values()) {
            BY_CODE[type.code] = type;
        }
    }

    private final int code;
    private final int sizeBytes;

    DType(int code, int sizeBytes) {
        this.code = code;
        this.sizeBytes = sizeBytes;
    }

    /** Returns libtorch's code, as sent. */
    public int code() {
        return code;
    }

    /** Returns the size of one element. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Returns PyTorch's name, such as {@code float32}. */
    public String torchName() {
        return name().toLowerCase(Locale.ROOT);
    }

    public static boolean isKnown(int code) {
        return code >= 0 && code < BY_CODE.length && BY_CODE[code] != null;
    }

    /**
     * Returns the type with this code.
     *
     * @throws IllegalArgumentException if libtorch has no type with plain storage for the code
     */
    public static DType of(int code) {
        if (!isKnown(code)) {
            throw new IllegalArgumentException("no element type with plain storage has the code " + code);
        }
        return BY_CODE[code];
    }

    /** Returns the type with PyTorch's name. */
    public static DType named(String torchName) {
        for (DType type : values()) {
            if (type.torchName().equals(torchName)) {
                return type;
            }
        }
        throw new IllegalArgumentException("no element type with plain storage is named " + torchName);
    }
}
