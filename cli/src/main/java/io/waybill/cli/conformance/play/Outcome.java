package io.waybill.cli.conformance.play;

import io.waybill.api.CallException;
import io.waybill.api.Value;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** What came of a step. Immutable. */
sealed interface Outcome {

    /**
     * Waits for a future.
     *
     * @param limit after which it is a failure
     * @param read gives the value of what came
     */
    static <T> Outcome of(CompletableFuture<T> future, Duration limit, Function<T, Value> read) {
        try {
            return new Answer(read.apply(future.get(limit.toNanos(), TimeUnit.NANOSECONDS)));
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            return Failure.of(cause instanceof CompletionException ? cause.getCause() : cause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Failure.of(e);
        } catch (TimeoutException e) {
            return new Failure("", "", "StepTooLong", "no answer within the step's time");
        } catch (RuntimeException e) {
            return Failure.of(e);
        }
    }

    /** A value; {@link Value#NONE} for steps that give none. */
    record Answer(Value value) implements Outcome {}

    /**
     * An error.
     *
     * @param kind of a failed call; empty for other errors
     * @param code of a failed call; empty for other errors
     * @param type of the exception, as Java calls it without its package
     */
    record Failure(String kind, String code, String type, String text) implements Outcome {

        static Failure of(Throwable error) {
            String text = String.valueOf(error.getMessage());
            String type = error.getClass().getSimpleName();
            return error instanceof CallException call
                    ? new Failure(call.kind().name(), call.code().name(), type, text)
                    : new Failure("", "", type, text);
        }

        @Override
        public String toString() {
            return type + (code.isEmpty() ? "" : " " + kind + " " + code) + ": " + text;
        }
    }
}
