package io.waybill.replay.run;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.handling.ErrorText;
import io.waybill.handling.Route;
import io.waybill.query.stored.Payload;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.run.CallBatch.CallToReplay;
import io.waybill.replay.state.ScheduledCall;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Separates recorded calls that can be replayed from those that can't. One thread. */
final class CallClassifier {

    /** Error codes after which a handler may still run, or hang. */
    private static final Set<ErrorCode> OF_ABANDONED = EnumSet.of(ErrorCode.HANDLER_GONE, ErrorCode.HANDLER_STUCK);

    /**
     * Error codes of the broker's own responses, also after a handler has begun. A handler may refuse with them, too.
     */
    private static final Set<ErrorCode> OF_BROKER = EnumSet.of(
            ErrorCode.ACCESS_DENIED,
            ErrorCode.JOURNAL_FULL,
            ErrorCode.JOURNAL_FAILED,
            ErrorCode.BACK_PRESSURE,
            ErrorCode.CLOSED,
            ErrorCode.WORKER_LOST,
            ErrorCode.PEER_CORRUPT,
            ErrorCode.INTENTIONAL_FAILURE,
            ErrorCode.RESPONSE_GONE,
            ErrorCode.TENSORS_GONE,
            ErrorCode.RESOURCE_UNAVAILABLE,
            ErrorCode.TOO_LARGE);

    private static final Set<ErrorCode> OF_BROKER_FOR_FETCHES =
            EnumSet.of(ErrorCode.REFERENCE_DELETED, ErrorCode.OWNER_LOST);

    private final MessageBuffer buffer = new MessageBuffer();
    private final Optional<String> withheld;
    private long left;

    /**
     * Creates a classifier.
     *
     * @param withheld why the recording can't be replayed at all; empty if it can
     */
    CallClassifier(Optional<String> withheld) {
        this.withheld = withheld;
    }

    /**
     * Returns the number of requests so far to which the broker itself responds, and which {@link #classify} omitted.
     */
    long left() {
        return left;
    }

    /** Classifies a call; empty if the broker itself responds to such requests. */
    Optional<CallToReplay> classify(ScheduledCall scheduled) {
        RecordedCall call = scheduled.call();
        RecordView request = call.request().in(buffer);
        int code = request.typeCode();
        boolean isFetch = code == MessageType.SCRIPT_RREF_FETCH_CALL.code();
        if (Route.isOfReferences(code) && !isFetch || isControl(code)) {
            left += scheduled.isSelected() ? 1 : 0;
            return Optional.empty();
        }
        String operation =
                Payload.operationOf(request).orElse(MessageType.of(code).name());
        if (call.response().isEmpty()) {
            return Optional.of(
                    new CallToReplay(scheduled, operation, Optional.empty(), "no response is on record", ""));
        }
        RecordView response = call.response().get().in(buffer);
        String error = response.type() == MessageType.EXCEPTION
                ? ": " + response.errorCode() + ", " + ErrorText.of(response)
                : "";
        String unfit = withheld.orElse("");
        if (response.handlerSequence() == 0 || isOfBroker(response, isFetch)) {
            unfit = "the broker responded to it, and no handler" + error;
        }
        String doubt =
                mayBeOfBroker(response) ? "the broker may have responded to it, and not its handler" + error : "";
        Optional<ComparedResponse> recorded =
                response.tensorCount() > 0 ? Optional.empty() : Optional.of(ComparedResponse.of(response, List.of()));
        return Optional.of(new CallToReplay(scheduled, operation, recorded, unfit, doubt));
    }

    private static boolean isControl(int typeCode) {
        return MessageType.of(typeCode).isRequest() && (typeCode & 0xff) > MessageType.LAST_USER_KIND;
    }

    /** Returns whether the broker gave an error, in place of a handler that did not return, or for a fetch. */
    private static boolean isOfBroker(RecordView response, boolean isFetch) {
        if (response.type() != MessageType.EXCEPTION) {
            return false;
        } else if (isFetch) {
            return OF_BROKER.contains(response.errorCode()) || OF_BROKER_FOR_FETCHES.contains(response.errorCode());
        }
        boolean isExpired = response.errorKind() == ErrorKind.TIMEOUT
                && ErrorText.of(response).contains("call " + MessageId.text(response.id()) + " had passed");
        return isExpired || OF_ABANDONED.contains(response.errorCode());
    }

    /** Returns whether an error may be the broker's, sent after the handler had responded, or the handler's own. */
    private static boolean mayBeOfBroker(RecordView response) {
        return response.type() == MessageType.EXCEPTION && OF_BROKER.contains(response.errorCode());
    }
}
