package io.waybill.cli.npy;

import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;

/**
 * Header in front of the elements.
 *
 * <pre>
 * 0x93 "NUMPY"
 * u8   major version, 1 to 3
 * u8   minor version, 0
 * u16  length of the text that follows; u32 from version 2 on; little-endian
 * text {'descr': '&lt;f4', 'fortran_order': False, 'shape': (3, 4), } padded with blanks, ends in a newline
 * </pre>
 *
 * @param type of the elements
 * @param fortranOrder whether neighbours of the first dimension are adjacent, instead of the last one's
 * @param shape elements per dimension
 */
record NpyHeader(ElementType type, boolean fortranOrder, long[] shape) {

    /** Size of magic, version and the longer form of the length. */
    static final int PREFIX_BYTES = 12;
    /** Max length of the text. NumPy itself accepts 10,000 by default. */
    static final int MAX_TEXT_BYTES = 64 << 10;

    private static final int ALIGNMENT = 64;
    private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};

    /** Position of the text in a file. */
    record TextRange(int at, int length) {
        int end() {
            return at + length;
        }
    }

    /** Parses the first {@link #PREFIX_BYTES} bytes of a file, or all if it has fewer. */
    static TextRange location(ByteBuffer prefix) throws NpyException {
        ByteBuffer bytes = prefix.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        for (byte expected : MAGIC) {
            if (!bytes.hasRemaining() || bytes.get() != expected) {
                throw new NpyException("it does not begin with NumPy's magic bytes");
            }
        }
        if (bytes.remaining() < 4) {
            throw new NpyException("it ends inside the header");
        }
        int major = bytes.get();
        int minor = bytes.get();
        if (major < 1 || major > 3 || minor != 0) {
            throw new NpyException("expected format version 1.0, 2.0 or 3.0, found " + Byte.toUnsignedInt((byte) major)
                    + "." + Byte.toUnsignedInt((byte) minor));
        }
        if (major > 1 && bytes.remaining() < 4) {
            throw new NpyException("it ends inside the header");
        }
        long length = major == 1 ? Short.toUnsignedLong(bytes.getShort()) : Integer.toUnsignedLong(bytes.getInt());
        if (length > MAX_TEXT_BYTES) {
            throw new NpyException("expected a header of at most " + MAX_TEXT_BYTES + " bytes, found one of " + length);
        }
        return new TextRange(bytes.position(), (int) length);
    }

    /** Parses the text. */
    static NpyHeader parse(byte[] text) throws NpyException {
        // UTF-8 from version 3 on; Latin-1 before, which is equal for all accepted characters
        return new NpyHeaderText(new String(text, StandardCharsets.UTF_8)).parse();
    }

    /** Returns the whole header, from the magic bytes to the begin of the elements. */
    static byte[] bytes(String descr, boolean fortranOrder, long[] shape) {
        StringJoiner sizes = new StringJoiner(", ", "(", shape.length == 1 ? ",)" : ")");
        for (long size : shape) {
            sizes.add(Long.toString(size));
        }
        String text = "{'descr': '" + descr + "', 'fortran_order': " + (fortranOrder ? "True" : "False") + ", 'shape': "
                + sizes + ", }";
        int shortPrefix = MAGIC.length + 4;
        int total = (shortPrefix + text.length() + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        ByteBuffer bytes = ByteBuffer.allocate(total).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(MAGIC).put((byte) 1).put((byte) 0).putShort((short) (total - shortPrefix));
        bytes.put(text.getBytes(StandardCharsets.US_ASCII));
        while (bytes.remaining() > 1) {
            bytes.put((byte) ' ');
        }
        return bytes.put((byte) '\n').array();
    }

    /** Returns the size of the elements, in bytes. */
    long dataBytes() throws NpyException {
        try {
            return Math.multiplyExact(Tensor.elementCount(shape), type.dtype().sizeBytes());
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new NpyException("its shape has more elements than can be counted", e);
        }
    }

    /** Returns the strides, in elements. */
    long[] strides() {
        if (!fortranOrder) {
            return Tensor.contiguousStrides(shape);
        }
        long[] strides = new long[shape.length];
        long stride = 1;
        for (int i = 0; i < shape.length; i++) {
            strides[i] = stride;
            stride *= Math.max(1, shape[i]);
        }
        return strides;
    }
}
