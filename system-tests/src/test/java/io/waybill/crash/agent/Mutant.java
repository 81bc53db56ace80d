package io.waybill.crash.agent;

import java.util.List;

/** A bug that can be planted in the broker, with what the checker must say of it. */
public enum Mutant {
    RESPONSE_TWICE("TWO_RESPONSES", Runs.KILL, appending("respondTwice")),
    RESPONSE_DROPPED("RESPONSE_MISSING", Runs.KILL, appending("respondMost")),
    RESPONSE_OF_ANOTHER("RESPONSE_ALTERED", Runs.KILL, appending("respondOthers")),
    REQUEST_DROPPED("REQUEST_LOST", Runs.KILL, appending("requestMost")),
    ACKNOWLEDGED_BEFORE_WRITTEN("ID_REUSED", Runs.KILL_CALLER, appending("requestLater")),
    ID_REUSED(
            "ID_REUSED", Runs.KILL_CALLER, Change.instead(Names.WORKER, "<init>", Names.JOURNAL, "lastId", "olderId")),
    SEQUENCE_RESTARTED(
            "RECORD_MISSING",
            Runs.KILL,
            Change.instead(Names.JOURNAL, "<init>", "LastRecord", "sequence", "noSequence")),
    CHECKSUM_SKIPPED(
            "JOURNAL_DAMAGED", Runs.KILL, Change.instead(Names.BUFFER, "seal", Names.BUFFER, "checksum", "checksum")),
    CURSOR_NOT_ADVANCED(
            "TWO_RESPONSES",
            Runs.KILL_CALLEE,
            Change.instead("PeerReader", "writePosition", "CursorSlot", "requestsIndex", "keepCursor")),
    OUTCOME_TWICE("TWO_OUTCOMES", Runs.KILL, telling("reportTwice")),
    OUTCOME_DROPPED("NO_OUTCOME", Runs.KILL, telling("reportMost")),
    RESPONDED_CALL_LOST("LOST_TOO_EARLY", Runs.KILL, telling("reportLost")),
    LATE_RESPONSE_REPORTED(
            "TWO_OUTCOMES",
            Runs.KILL,
            Change.instead(Names.RECEIVER, "timedOut", Names.DELIVERY, "failUnrecorded", "failAndRemember"),
            Change.instead(Names.RECEIVER, "complete", Names.PENDING, "take", "takeOrReport")),
    INCARNATION_UNCHECKED(
            "RAN_IN_OTHER_INCARNATION",
            Runs.KILL_CALLEE,
            Change.instead(Names.EARLIER, "of", "WorkerDirectory", "epoch", "ownIncarnation"),
            Change.instead(Names.EARLIER, "isFor", Names.VIEW, "epoch", "anyIncarnation")),
    DEADLINE_IGNORED(
            "RAN_TOO_LATE",
            Runs.PAUSE,
            Change.instead(Names.SERVING, "serveNow", Names.VIEW, "deadlineNs", "noDeadline")),
    TIMED_OUT_EARLY(
            "TIMED_OUT_TOO_EARLY",
            Runs.KILL,
            Change.instead(Names.RECEIVER, "expire", Names.PENDING, "expire", "expireEarly")),
    PARKED_OVERTAKEN(
            "OUT_OF_ORDER",
            Runs.UPDATE,
            Change.instead(Names.SERVING, "serveOnce", "ParkingLot", "has", "nothingParked")),
    RUN_TWICE("RAN_TWICE", Runs.KILL, Change.instead("Exchange", "handle", "MessageHandler", "handle", "runTwice"));

    private final String caughtAs;
    private final String run;
    private final List<Change> changes;

    Mutant(String caughtAs, String run, Change... changes) {
        this.caughtAs = caughtAs;
        this.run = run;
        this.changes = List.of(changes);
    }

    /** The one place where a record is appended to a worker's queue; what takes its place looks at which. */
    private static Change appending(String instead) {
        return Change.instead("QueueAppender", "append", Names.JOURNAL, "append", instead);
    }

    private static Change telling(String instead) {
        return Change.instead(Names.DELIVERY, "respond", "ResponseListener", "onResponse", instead);
    }

    /** The kind of problem that the checker must find. */
    public String caughtAs() {
        return caughtAs;
    }

    /** The options of a run that shows it. */
    public String run() {
        return run;
    }

    List<Change> changes() {
        return changes;
    }

    /** What is done to workers with the bug: enough for it to show. */
    private static final class Runs {
        static final String KILL = "--who any --kills 2 --rate 4000";
        /** Requests park while a bundle is updated. */
        static final String UPDATE = "--bundled true --who any --kills 2 --rate 4000";

        static final String KILL_CALLER = "--who caller --kills 3 --rate 4000";
        static final String KILL_CALLEE = "--who callee --kills 3 --rate 4000";
        static final String PAUSE = "--fault pause --who callee --kills 1 --pause-most-ms 3000 --rate 4000";
    }

    /** Classes that several are planted in. */
    private static final class Names {
        static final String JOURNAL = "Journal";
        static final String WORKER = "WorkerParts";
        static final String RECEIVER = "ResponseReceiver";
        static final String DELIVERY = "OutcomeDelivery";
        static final String PENDING = "PendingCalls";
        static final String EARLIER = "PreviousIncarnation";
        static final String SERVING = "RequestDispatcher";
        static final String VIEW = "RecordView";
        static final String BUFFER = "MessageBuffer";
    }
}
