package io.waybill.replay.run;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.Tensor;
import io.waybill.handling.ErrorText;
import io.waybill.handling.Route;
import io.waybill.query.Payload;
import io.waybill.replay.Answer;
import io.waybill.replay.RecordedCall;
import io.waybill.replay.RecordedMessage;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Looks at recorded calls before they are replayed. One thread. */
final class CallReader {

    /** What a broker answers with, and no handler of its own accord. */
    private static final Set<ErrorCode> OF_THE_BROKER = EnumSet.of(
            ErrorCode.HANDLER_GONE,
            ErrorCode.HANDLER_STUCK,
            ErrorCode.JOURNAL_FULL,
            ErrorCode.JOURNAL_FAILED,
            ErrorCode.BACK_PRESSURE,
            ErrorCode.CLOSED,
            ErrorCode.WORKER_LOST,
            ErrorCode.PEER_CORRUPT,
            ErrorCode.INTENTIONAL_FAILURE,
            ErrorCode.ANSWER_GONE,
            ErrorCode.TENSORS_GONE,
            ErrorCode.TOO_LARGE);

    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final Optional<String> withheld;
    private long left;

    /** @param withheld why nothing can be run again; empty when it can */
    CallReader(Optional<String> withheld) {
        this.withheld = withheld;
    }

    /** Requests that the broker itself answers, so far: {@link #read} gave nothing for them. */
    long left() {
        return left;
    }

    /** Empty when the broker itself answers such requests. */
    Optional<ReadCall> read(RecordedCall call) {
        show(call.request());
        int code = view.typeCode();
        boolean fetch = code == MessageType.SCRIPT_RREF_FETCH_CALL.code();
        if (Route.isOfReferences(code) && !fetch || isControl(code)) {
            left++;
            return Optional.empty();
        }
        String operation = Payload.operationOf(view).orElse(view.type().name());
        return Optional.of(
                call.response().isPresent()
                        ? answered(call, operation, fetch)
                        : new ReadCall(call, operation, Optional.empty(), "no answer is on record"));
    }

    private ReadCall answered(RecordedCall call, String operation, boolean fetch) {
        show(call.response().orElseThrow());
        if (view.handlerSequence() == 0 || isOfBroker(fetch)) {
            String said =
                    view.type() == MessageType.EXCEPTION ? ": " + view.errorCode() + ", " + ErrorText.of(view) : "";
            return new ReadCall(call, operation, recorded(), "the broker answered it, and no handler" + said);
        }
        return new ReadCall(call, operation, recorded(), withheld.orElse(""));
    }

    private Optional<Answer> recorded() {
        return view.tensorCount() > 0 ? Optional.empty() : Optional.of(answer(List.of()));
    }

    private Answer answer(List<Tensor> tensors) {
        return new Answer(view.type(), view.copyPayload(), tensors, view.errorKind(), view.errorCode());
    }

    private boolean isOfBroker(boolean fetch) {
        if (view.type() != MessageType.EXCEPTION) {
            return false;
        }
        boolean valueGone = view.errorCode() == ErrorCode.REFERENCE_DELETED || view.errorCode() == ErrorCode.OWNER_LOST;
        return OF_THE_BROKER.contains(view.errorCode())
                || view.errorKind() == ErrorKind.TIMEOUT
                || view.errorKind() == ErrorKind.INTENTIONAL_FAILURE
                || fetch && valueGone;
    }

    /** The answer on record, with its tensors. */
    Answer answer(RecordedCall call, List<Tensor> tensors) {
        show(call.response().orElseThrow());
        return answer(tensors);
    }

    private void show(RecordedMessage message) {
        buffer.reserve(message.record().length);
        buffer.memory().putBytes(0, message.record());
    }

    private static boolean isControl(int typeCode) {
        return MessageType.of(typeCode).isRequest() && (typeCode & 0xff) > MessageType.LAST_USER_KIND;
    }
}
