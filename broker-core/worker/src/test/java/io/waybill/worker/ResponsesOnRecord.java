package io.waybill.worker;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The responses in a worker's journal: what was sent, whether anybody took it or not. */
public final class ResponsesOnRecord {

    /** One of them; kind and code are those of an error. */
    public record OnRecord(long id, ErrorKind kind, ErrorCode code, boolean isError) {

        @Override
        public String toString() {
            return isError ? code + " (" + kind + ")" : "a reply";
        }
    }

    private ResponsesOnRecord() {}

    /** Those to one request, oldest first. */
    public static List<OnRecord> to(long id, Worker worker) {
        List<OnRecord> found = new ArrayList<>();
        MessageBuffer buffer = new MessageBuffer();
        RecordView record = new RecordView(buffer);
        Path responses = worker.directory().path().resolve("responses");
        try (JournalTail tail = JournalTail.open(responses, Workers.SETTINGS.journal())) {
            while (tail.poll(buffer, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                if (record.id() == id) {
                    boolean isError = record.type() == MessageType.EXCEPTION;
                    found.add(new OnRecord(id, record.errorKind(), record.errorCode(), isError));
                }
            }
        }
        return found;
    }
}
