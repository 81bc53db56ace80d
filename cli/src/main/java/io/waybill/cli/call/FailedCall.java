package io.waybill.cli.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.cli.argument.CallArguments;
import io.waybill.cli.command.CallErrorText;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.dispatch.HandlerKey;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.Served;
import io.waybill.home.WorkerRecord;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Explains a failed call to the user: with the callee's name, its record's id, and a handler that is away.
 *
 * @param to name or id of the callee
 * @param operation as it was asked for; null for a request of a type
 * @param words the arguments as they were written
 */
record FailedCall(CallingWorker caller, String to, Request request, String operation, List<String> words) {

    /** Characters of names in a record that is so full that it may lack some. */
    private static final int FULL_RECORD = Served.MAX_NAME_BYTES / 4 * 3;

    CommandFailedException explained(CallException failure) {
        Optional<Peer> callee = caller.peer(to);
        String text = named(failure.getMessage(), callee);
        text += typed(failure);
        if (failure.messageId() != MessageId.NONE) {
            text += parked(failure, callee) + "; its record: waybill journal show "
                    + MessageId.text(failure.messageId());
        }
        return new CommandFailedException(CallErrorText.of(failure, text), failure);
    }

    /** PyTorch's text names a node by its number, which says little to people. */
    private static String named(String text, Optional<Peer> callee) {
        String byNumber =
                callee.map(peer -> "Error on Node " + peer.id() + ": ").orElse("");
        return callee.isPresent() && text.startsWith(byNumber)
                ? "Error on " + callee.get().name() + ": " + text.substring(byNumber.length())
                : text;
    }

    /** A callee that expects a number or a tensor and got text: the sender's mark may be the wrong one. */
    private String typed(CallException failure) {
        if (failure.code() != ErrorCode.MALFORMED_BODY && failure.code() != ErrorCode.NO_MATCHING_SCHEMA) {
            return "";
        }
        return words.stream()
                .map(CallArguments::valueInText)
                .flatMap(Optional::stream)
                .findFirst()
                .map(word -> "; text was sent, and " + word + " sends a value")
                .orElse("");
    }

    /** A request without a handler that was there before waits for its return: a timeout alone would not say so. */
    private String parked(CallException failure, Optional<Peer> callee) {
        boolean mayBeParked = failure.code() == ErrorCode.TIMED_OUT
                && request.type().code() <= (MessageType.LAST_USER_KIND | MessageType.REQUEST_FLAG)
                && callee.isPresent()
                && callee.get().state() == PeerState.READY;
        if (!mayBeParked) {
            return "";
        }
        HandlerKey key = key();
        List<String> served = callee.get().record().map(WorkerRecord::serves).orElse(List.of());
        int names = served.stream().mapToInt(String::length).sum();
        if (names > FULL_RECORD) {
            return "";
        }
        boolean isServed = Stream.concat(Stream.of(key), HandlerKey.patternsFor(key).stream())
                .map(HandlerKey::text)
                .anyMatch(served::contains);
        return isServed ? "" : absent(key, callee.get().name(), callee.get().record());
    }

    /** What is said of an operation without a handler: one that left is awaited, one that never was may be a wrong name. */
    private static String absent(HandlerKey key, String name, Optional<WorkerRecord> record) {
        String text = "; " + name + " has no handler for " + key.text();
        String parks = record.map(said -> said.settings().getOrDefault(WorkerRecord.PARKS, ""))
                .orElse("");
        boolean hasLeft = Stream.concat(Stream.of(key), HandlerKey.patternsFor(key).stream())
                .anyMatch(each -> List.of(parks.split(" ")).contains(each.text()));
        return hasLeft
                ? text + " now, and parks such requests until one is installed: waybill bundle install --node " + name
                        + " FILE.jar"
                : text + ", and had none that left: see what it serves: waybill workers --json";
    }

    private HandlerKey key() {
        if (request.type() == MessageType.NAMED_CALL) {
            return new HandlerKey.OfOperation(operation);
        }
        boolean isFunction =
                request.type() == MessageType.SCRIPT_CALL && operation != null && !HandlerKey.isOperator(operation);
        String prefix = HandlerKey.FUNCTION_PREFIX;
        return isFunction
                ? HandlerKey.parse(operation.startsWith(prefix) ? operation : prefix + operation)
                : new HandlerKey.OfType(request.type());
    }
}
