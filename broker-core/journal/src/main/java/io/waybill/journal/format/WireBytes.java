package io.waybill.journal.format;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Encoder of Chronicle's binary wire, as far as its own documents need it. One thread at a time. */
public final class WireBytes {

    private static final int ALIGNMENT = Long.BYTES;
    private static final int LONG_PADDING = 5;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final long from;

    public WireBytes(long from) {
        this.from = from;
    }

    long at() {
        return from + bytes.size();
    }

    public byte[] toBytes() {
        return bytes.toByteArray();
    }

    public WireBytes put(int value) {
        bytes.write(value);
        return this;
    }

    WireBytes bytes(byte[] more) {
        bytes.writeBytes(more);
        return this;
    }

    WireBytes int32(int value) {
        return little(value, Integer.BYTES);
    }

    WireBytes int64(long value) {
        return little(value, Long.BYTES);
    }

    private WireBytes little(long value, int length) {
        for (int i = 0; i < length; i++) {
            bytes.write((int) (value >> 8 * i));
        }
        return this;
    }

    WireBytes number(int value) {
        if (value <= 0xff) {
            return put(0xa1).put(value);
        }
        if (value <= 0xffff) {
            return put(value <= Short.MAX_VALUE ? 0xa5 : 0xa2).little(value, Short.BYTES);
        }
        return put(0xa6).int32(value);
    }

    private WireBytes text(String text) {
        return bytes(text.getBytes(StandardCharsets.US_ASCII));
    }

    WireBytes field(String name) {
        return put(0xc0 + name.length()).text(name);
    }

    public WireBytes event(String name) {
        return put(0xb9).put(name.length()).text(name);
    }

    WireBytes type(String name) {
        return put(0xb6).put(name.length()).text(name);
    }

    /** Adds padding, so that data after one more byte is aligned to a multiple of 8. */
    public WireBytes align() {
        int padding = (int) (-(at() + 1) & ALIGNMENT - 1);
        if (padding < LONG_PADDING) {
            for (int i = 0; i < padding; i++) {
                put(0x8f);
            }
            return this;
        }
        put(0x8e).int32(padding - LONG_PADDING);
        return little(0, padding - LONG_PADDING);
    }
}
