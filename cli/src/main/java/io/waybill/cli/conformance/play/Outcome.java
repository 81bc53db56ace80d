package io.waybill.cli.conformance.play;

import io.waybill.api.CallException;
import io.waybill.api.Value;

/** What came of a step. Immutable. */
sealed interface Outcome {

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
