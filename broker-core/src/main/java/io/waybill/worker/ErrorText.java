package io.waybill.worker;

import io.waybill.wire.RecordView;
import java.nio.charset.StandardCharsets;

/** The text of an error response. */
final class ErrorText {

    private static final int MAX_BYTES = 64 << 10;

    private ErrorText() {}

    /** Replaces what is no UTF-8; cuts what is longer than 64 KiB. */
    static String of(RecordView record) {
        byte[] utf8 = record.copyPayload();
        return new String(utf8, 0, Math.min(utf8.length, MAX_BYTES), StandardCharsets.UTF_8);
    }
}
