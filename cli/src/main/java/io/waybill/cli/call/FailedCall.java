package io.waybill.cli.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.admin.Admin;
import io.waybill.cli.argument.CallArguments;
import io.waybill.cli.command.CallErrorText;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.show.ShellWord;
import io.waybill.dispatch.HandlerKey;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.Served;
import io.waybill.home.WorkerRecord;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Explanation of a failed call for the user: with the callee's name, the record's id, and the state of a missing
 * handler.
 *
 * @param to name or id of the callee
 * @param operation the requested operation; null for a request of a type
 * @param words the arguments as the user wrote them
 */
public record FailedCall(CallingWorker caller, String to, Request request, String operation, List<String> words) {

    /** Length of names from which a record may lack some, because it is nearly full. */
    private static final int FULL_RECORD = Served.MAX_NAME_BYTES / 4 * 3;

    private static final Duration DESCRIPTION_LIMIT = Duration.ofSeconds(5);

    /** Returns the failure with the text for the user. */
    public CommandFailedException explained(CallException failure) {
        Optional<Peer> callee = caller.peer(to);
        String text = named(failure.getMessage(), callee);
        text += typed(failure) + described(failure);
        if (failure.messageId() != MessageId.NONE) {
            text += parked(failure, callee) + "; its record: waybill journal show "
                    + MessageId.text(failure.messageId());
        }
        return new CommandFailedException(CallErrorText.of(failure, text), failure);
    }

    /** Replaces the number of a node in PyTorch's text with its name. */
    private static String named(String text, Optional<Peer> callee) {
        String byNumber =
                callee.map(peer -> "Error on Node " + peer.id() + ": ").orElse("");
        return callee.isPresent() && text.startsWith(byNumber)
                ? "Error on " + callee.get().name() + ": " + text.substring(byNumber.length())
                : text;
    }

    /**
     * Returns a hint for a callee that expected a number or a tensor and received text: the argument may need
     * {@code :=}.
     */
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

    /**
     * Returns the described arguments of an operation that refused its arguments, or where a callee's operations are
     * listed. The handler has decided; the description only helps to correct the call.
     */
    private String described(CallException failure) {
        if (failure.code() == ErrorCode.UNKNOWN_OPERATION && request.type() == MessageType.NAMED_CALL) {
            return "; see what it serves: waybill operations --worker " + ShellWord.quoted(to);
        }
        if (failure.code() != ErrorCode.MALFORMED_BODY || operation == null) {
            return "";
        }
        try {
            return Admin.of(caller.worker()).withLimit(DESCRIPTION_LIMIT).operation(to, key().text()).stream()
                    .flatMap(found -> found.description().stream())
                    .map(found -> "; " + OperationText.arguments(found))
                    .findFirst()
                    .orElse("");
        } catch (CallException | IllegalArgumentException e) {
            return ""; // the failure of the call itself is what matters
        }
    }

    /** Returns a hint for a request that waited for the return of a handler: the timeout alone would not show this. */
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

    /** Describes an operation without a handler: a removed handler is awaited, an unknown name may be wrong. */
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
