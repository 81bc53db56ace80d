package io.waybill.conformance.worker;

import io.waybill.api.CallException;
import io.waybill.api.Value;
import io.waybill.conformance.cases.CaseFormatException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** A value or an error. Immutable. */
sealed interface StepOutcome {

    /**
     * Returns the outcome of an action: a result or an error.
     *
     * @throws CaseFormatException of the action, which is no outcome
     */
    static StepOutcome of(Callable<Value> action) {
        try {
            return new Result(action.call());
        } catch (CaseFormatException e) {
            throw e;
        } catch (TimeoutException e) {
            return new Failure("", "", "StepTooLong", "no response within the step's time");
        } catch (ExecutionException e) {
            return Failure.of(e.getCause());
        } catch (Exception e) { // the action's, whatever it is
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            return Failure.of(e);
        }
    }

    /** A value; {@link Value#NONE} of steps that give none. */
    record Result(Value value) implements StepOutcome {}

    /**
     * An error.
     *
     * @param kind of a failed call; empty for other errors
     * @param code of a failed call; empty for other errors
     * @param type of the exception: its simple name
     */
    record Failure(String kind, String code, String type, String text) implements StepOutcome {

        static Failure of(Throwable thrown) {
            Throwable error = thrown instanceof CompletionException ? thrown.getCause() : thrown;
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
