package io.waybill.cli.command;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;

/**
 * Texts of failed calls for users, with a hint and the code, which is an anchor in the documentation, at the end.
 * Stateless.
 */
public final class CallErrorText {

    private CallErrorText() {}

    /**
     * Returns the line for a failed call.
     *
     * @param text text about the failure itself
     */
    public static String of(CallException failure, String text) {
        boolean isFromCallee = String.valueOf(failure.getMessage()).startsWith("Error on Node ");
        String hint = isFromCallee && failure.code() == ErrorCode.WORKER_LOST
                ? "" // the worker is live: it lost a process of its own, or a worker that it called
                : hint(failure.code());
        return text + hint + " [" + failure.code() + "]";
    }

    private static String hint(ErrorCode code) {
        switch (code) {
            case UNKNOWN_WORKER:
                return "; see who is there: waybill workers";
            case WORKER_LOST:
                return "; start it again: waybill node --name NAME";
            case UNKNOWN_TYPE:
                return "; see what it serves: waybill workers, or install a bundle: waybill bundle install --node NAME FILE.jar";
            case HANDLER_GONE:
                return "; start or install its bundle: waybill bundle start --node NAME BUNDLE";
            case HANDLER_STUCK:
                return "; see what is stuck: waybill bundle list --node NAME --handlers";
            case TIMED_OUT:
                return "; allow more time with --timeout";
            case BACK_PRESSURE:
                return "; try again when the peer has caught up";
            case JOURNAL_FULL:
                return "; make room on the home's disk, or raise the callee's retention.max-bytes if its log names that";
            default:
                return "";
        }
    }
}
