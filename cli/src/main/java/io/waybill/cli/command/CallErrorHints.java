package io.waybill.cli.command;

import io.waybill.api.ErrorCode;

/** Hints for users about failed calls. Stateless. */
final class CallErrorHints {

    private CallErrorHints() {}

    /** Returns the hint to add to the error's text; empty when there is none. */
    static String after(ErrorCode code) {
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
                return "; make room on the home's disk";
            default:
                return "";
        }
    }
}
