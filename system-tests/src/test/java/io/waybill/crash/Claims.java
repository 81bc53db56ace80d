package io.waybill.crash;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Response;
import io.waybill.crash.history.Event;
import io.waybill.crash.history.Event.Kind;
import io.waybill.crash.history.EventLog;
import io.waybill.host.Clock;
import io.waybill.worker.Worker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Claims what earlier incarnations of a caller had asked and not heard, and writes down what it learns. One thread begins and awaits. */
final class Claims {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Worker worker;
    private final Clock clock;
    private final EventLog log;
    private List<CompletableFuture<Void>> claimed = List.of();

    Claims(Worker worker, Clock clock, EventLog log) {
        this.worker = worker;
        this.clock = clock;
        this.log = log;
    }

    void begin(List<Long> ids) {
        claimed = ids.stream()
                .map(id -> worker.claimAsync(id, PATIENCE).handle((response, failure) -> write(id, response, failure)))
                .toList();
    }

    private Void write(long id, Response response, Throwable failure) {
        if (failure == null) {
            int digest = Payloads.digest(response.payload());
            log.add(new Event(Kind.CLAIMED, 0, digest, id, clock.bootNs(), 0));
            response.close();
        } else {
            log.add(new Event(Kind.CLAIM_FAILED, codeOf(failure).number(), 0, id, clock.bootNs(), 0));
        }
        return null;
    }

    private static ErrorCode codeOf(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        return cause instanceof CallException call ? call.code() : ErrorCode.UNKNOWN;
    }

    /** Waits for all. Returns how many have no outcome after this time. */
    int await(Duration limit) throws InterruptedException, ExecutionException {
        try {
            CompletableFuture.allOf(claimed.toArray(CompletableFuture[]::new))
                    .get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            // counted below
        }
        return (int) claimed.stream().filter(claim -> !claim.isDone()).count();
    }
}
