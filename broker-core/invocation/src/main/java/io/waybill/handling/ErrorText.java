package io.waybill.handling;

import io.waybill.wire.RecordView;
import java.nio.charset.StandardCharsets;

/** Text of an error response. */
public final class ErrorText {

    private static final int MAX_BYTES = 64 << 10;

    private ErrorText() {}

    /** Returns the text of an error response. Replaces invalid UTF-8; truncates text longer than 64 KiB. */
    public static String of(RecordView record) {
        byte[] utf8 = record.copyPayload();
        return new String(utf8, 0, Math.min(utf8.length, MAX_BYTES), StandardCharsets.UTF_8);
    }
}
