package io.waybill.query;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.journal.CallQuery;
import io.waybill.api.journal.CallRecord;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.ValueLine;
import io.waybill.wire.RecordView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Filter of messages by the fields of their records. Immutable. */
public final class MessageFilter {

    /** Filter that accepts all messages. */
    public static final MessageFilter ALL = new Builder().build();

    private static final int ANY = -1;
    private static final int MAX_RESPONSE_CHARS = 64 << 10;
    private static final long GREATEST_ID = -1L; // ids are unsigned

    private final int worker;
    private final int peer;
    private final long firstId;
    private final long lastId;
    private final long parent; // NONE for any
    private final int typeCode;
    private final NamePattern operation; // null for any
    private final List<ArgumentCondition> arguments;
    private final long sinceNs;
    private final long untilNs;
    private final CallRecord.Outcome outcome; // null for any
    private final ErrorCode errorCode; // null for any
    private final long slowerThanNs;
    private final String responseText; // null for any

    private MessageFilter(Builder from) {
        worker = from.worker;
        peer = from.peer;
        firstId = from.firstId;
        lastId = from.lastId;
        parent = from.parent;
        typeCode = from.typeCode;
        operation = from.operation;
        arguments = List.copyOf(from.arguments);
        sinceNs = from.sinceNs;
        untilNs = from.untilNs;
        outcome = from.outcome;
        errorCode = from.errorCode;
        slowerThanNs = from.slowerThanNs;
        responseText = from.responseText;
    }

    /** Builder of a filter, which readers of journals give out as a query. */
    public static final class Builder implements CallQuery {
        private int worker = ANY;
        private int peer = ANY;
        private long firstId;
        private long lastId = GREATEST_ID;
        private long parent = MessageId.NONE;
        private int typeCode = ANY;
        private NamePattern operation;
        private final List<ArgumentCondition> arguments = new ArrayList<>();
        private long sinceNs = Long.MIN_VALUE;
        private long untilNs = Long.MAX_VALUE;
        private CallRecord.Outcome outcome;
        private ErrorCode errorCode;
        private long slowerThanNs = Long.MIN_VALUE;
        private String responseText;

        @Override
        public Builder worker(int id) {
            worker = id;
            return this;
        }

        @Override
        public Builder peer(int id) {
            peer = id;
            return this;
        }

        @Override
        public Builder ids(long first, long last) {
            firstId = first;
            lastId = last;
            return this;
        }

        @Override
        public Builder parent(long id) {
            parent = id;
            return this;
        }

        @Override
        public Builder type(MessageType type) {
            typeCode = type.code();
            return this;
        }

        @Override
        public Builder operation(String name) {
            operation = new NamePattern(name);
            return this;
        }

        @Override
        public Builder argument(String path, Value value) {
            return argument(ArgumentCondition.equalTo(path, value));
        }

        public Builder argument(ArgumentCondition wanted) {
            arguments.add(wanted);
            return this;
        }

        @Override
        public Builder since(long wallNs) {
            sinceNs = wallNs;
            return this;
        }

        @Override
        public Builder until(long wallNs) {
            untilNs = wallNs;
            return this;
        }

        @Override
        public Builder outcome(CallRecord.Outcome wanted) {
            outcome = wanted;
            return this;
        }

        @Override
        public Builder error(ErrorCode wanted) {
            outcome = CallRecord.Outcome.ERROR;
            errorCode = wanted;
            return this;
        }

        @Override
        public Builder slowerThan(long ns) {
            slowerThanNs = ns;
            return this;
        }

        @Override
        public Builder responseText(String wanted) {
            responseText = wanted;
            return this;
        }

        public MessageFilter build() {
            return new MessageFilter(this);
        }
    }

    /** Returns whether it accepts all messages, like {@link #ALL}. */
    public boolean takesAll() {
        boolean ofIds = firstId == 0 && lastId == GREATEST_ID && parent == MessageId.NONE;
        boolean ofTimes = sinceNs == Long.MIN_VALUE && untilNs == Long.MAX_VALUE;
        boolean ofContent = typeCode == ANY && !asksForOperation() && !asksForOutcome() && errorCode == null;
        return worker == ANY && peer == ANY && ofIds && ofTimes && ofContent;
    }

    boolean takesWorker(int id) {
        return worker == ANY || worker == id;
    }

    /** Returns whether requests of this worker may match. */
    public boolean takesCaller(int id) {
        return takesWorker(id) && id >= MessageId.worker(firstId) && id <= MessageId.worker(lastId);
    }

    /** Returns whether requests to this worker may match. */
    public boolean takesReceiver(int id) {
        return peer == ANY || peer == id;
    }

    /** Returns whether a header matches, as far as a header can decide. */
    public boolean takes(RecordView header) {
        return MessageType.isKnown(header.typeCode())
                && (typeCode == ANY || typeCode == header.typeCode())
                && (peer == ANY || peer == header.to())
                && (parent == MessageId.NONE || parent == header.parent())
                && Long.compareUnsigned(header.id(), firstId) >= 0
                && Long.compareUnsigned(header.id(), lastId) <= 0
                && header.sentNs() >= sinceNs
                && header.sentNs() < untilNs;
    }

    /** Returns whether the operation and the arguments of a request match, after its header matched. */
    public boolean takesOperationOf(RecordView request) {
        return (operation == null
                        || Payload.operationOf(request)
                                .filter(operation::matches)
                                .isPresent())
                && (arguments.isEmpty() || takesArguments(Payload.of(request).call()));
    }

    private boolean takesArguments(Optional<Invocation> call) {
        return call.isPresent() && arguments.stream().allMatch(wanted -> wanted.isMetBy(call.get()));
    }

    /** Returns whether the filter depends on arguments or the content of responses, which some slices lack. */
    public boolean asksForContent() {
        return !arguments.isEmpty() || responseText != null;
    }

    /** Returns whether the filter depends on the payload. */
    boolean asksForOperation() {
        return operation != null || !arguments.isEmpty();
    }

    /** Returns whether the outcome and the duration of a call match. */
    public boolean takesOutcome(StoredCall call) {
        return (outcome == null || outcome == call.outcome())
                && (errorCode == null
                        || call.errorCode().filter(errorCode::equals).isPresent()
                        || call.rootCode().filter(errorCode::equals).isPresent())
                && (slowerThanNs == Long.MIN_VALUE
                        || call.tookNs().isPresent() && call.tookNs().get() > slowerThanNs);
    }

    /**
     * Returns whether a request that was sent at this time and has this response matches, as far as the response can
     * decide.
     */
    public boolean takesResponse(long sentNs, RecordView response) {
        CallRecord.Outcome found =
                response.type() == MessageType.EXCEPTION ? CallRecord.Outcome.ERROR : CallRecord.Outcome.OK;
        return (outcome == null || outcome == found)
                && (errorCode == null || response.errorCode() == errorCode)
                && (slowerThanNs == Long.MIN_VALUE || response.sentNs() - sentNs > slowerThanNs)
                && (responseText == null || takesResponse(Payload.of(response)));
    }

    /** Returns whether the filter depends on the content of the response. */
    public boolean asksForResponse() {
        return responseText != null;
    }

    /** Returns whether the content of a response matches. */
    public boolean takesResponse(Payload response) {
        return responseText == null
                || response.text().filter(text -> text.contains(responseText)).isPresent()
                || response.result()
                        .filter(value -> ValueLine.of(value, MAX_RESPONSE_CHARS).contains(responseText))
                        .isPresent();
    }

    /** Returns whether a request without a response can match. */
    public boolean takesUnanswered() {
        return (outcome == null || outcome == CallRecord.Outcome.NONE)
                && slowerThanNs == Long.MIN_VALUE
                && responseText == null;
    }

    /** Returns the only id that can match; empty if there may be several. */
    public OptionalLong onlyId() {
        return firstId == lastId ? OptionalLong.of(firstId) : OptionalLong.empty();
    }

    /** Returns whether the filter depends on the outcome of a request. */
    boolean asksForOutcome() {
        return outcome != null || slowerThanNs != Long.MIN_VALUE || responseText != null;
    }
}
