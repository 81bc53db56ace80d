package io.waybill.handling;

import io.waybill.wire.RecordView;
import java.nio.charset.StandardCharsets;

/** The text of an error response. */
public final class ErrorText {

    private static final int MAX_BYTES = 64 << 10;

    private ErrorText() {}

    /** Replaces what is no UTF-8; cuts what is longer than 64 KiB. */
    public static String of(RecordView record) {
        byte[] utf8 = record.copyPayload();
        return new String(utf8, 0, Math.min(utf8.length, MAX_BYTES), StandardCharsets.UTF_8);
    }
}
