package io.waybill.crash.agent;

import java.util.List;

/** Where a process may kill itself: at the n-th time that it comes by, which is drawn from 1 to {@link #maxPassings}. */
public enum Point {
    BEFORE_PAYLOAD(Role.ANY, 4000, Change.entry(Names.JOURNAL, "write")),
    AFTER_PAYLOAD(Role.ANY, 4000, Change.before(Names.JOURNAL, "write", Names.DOCUMENT, "close")),
    BEFORE_LENGTH_WORD(
            Role.ANY, 4000, Change.before(Names.APPENDING, "updateHeaderAndIndex", Names.WIRE, "updateHeader")),
    AFTER_LENGTH_WORD(
            Role.ANY, 4000, Change.after(Names.APPENDING, "updateHeaderAndIndex", Names.WIRE, "updateHeader")),
    /** It is in the journal, and nobody was told. */
    BEFORE_ACKNOWLEDGEMENT(Role.ANY, 4000, Change.exit(Names.JOURNAL, "append")),
    BEFORE_WAKING(Role.ANY, 4000, Change.entry("PeerLink", "ringIfAsleep")),
    BEFORE_CURSOR(Role.SERVER, 4000, Change.entry(Names.CURSOR, "requestsIndex")),
    AFTER_CURSOR(Role.SERVER, 4000, Change.exit(Names.CURSOR, "requestsIndex")),
    BEFORE_HANDLER(Role.SERVER, 4000, Change.entry("Exchange", "handle")),
    AFTER_HANDLER(Role.SERVER, 4000, Change.entry("ResponseWriter", "append")),
    BEFORE_OUTCOME(Role.CALLER, 4000, Change.entry("ResponseReceiver", "deliver")),
    AFTER_OUTCOME(Role.CALLER, 4000, Change.exit("ResponseReceiver", "deliver")),
    /** Of the two queues, at joining and later. */
    BEFORE_ROLL(Role.ANY, 5, Change.entry(Names.JOURNAL, "entered")),
    AFTER_ROLL(Role.ANY, 5, Change.exit(Names.JOURNAL, "entered")),
    AFTER_RESERVATION(Role.ANY, 6, Change.exit("Reservation", "extend")),
    AFTER_FIRST_HEADER(Role.ANY, 2, Change.exit(Names.JOURNAL, "createFile")),
    AFTER_REPAIR(Role.ANY, 2, Change.exit("QueueRepair", "prepare")),
    BEFORE_INDEX_WRITE(Role.ANY, 20, Change.entry(Names.INDEX, "write")),
    AFTER_INDEX_WRITE(Role.ANY, 20, Change.exit(Names.INDEX, "write")),
    BEFORE_INDEX_FLUSH(Role.ANY, 1, Change.entry(Names.INDEX, "flush")),
    AFTER_INDEX_FLUSH(Role.ANY, 1, Change.exit(Names.INDEX, "flush")),
    /** A sender's archive: before the bytes, between them and the record that says so, behind it. */
    BEFORE_ARCHIVED_BYTES(Role.CALLER, 20, Change.entry(Names.ARCHIVE, "append")),
    BEFORE_ARCHIVE_RECORD(Role.CALLER, 20, Change.before(Names.ARCHIVE, "append", Names.ARCHIVE, "write")),
    AFTER_ARCHIVE_RECORD(Role.CALLER, 20, Change.exit(Names.ARCHIVE, "append")),
    /** A store on disk: before its file, between its bytes and its name, behind them. */
    BEFORE_STATE(Role.ANY, 5, Change.entry("StateFiles", "write")),
    AFTER_STATE_BYTES(Role.ANY, 5, Change.exit("StateFileWriter", "writeTo")),
    AFTER_STATE(Role.ANY, 5, Change.exit("StateFiles", "write")),
    BEFORE_RECORD_OF_WORKER(Role.ANY, 2, Change.entry(Names.DIRECTORY, "write")),
    AFTER_RECORD_OF_WORKER(Role.ANY, 2, Change.exit(Names.DIRECTORY, "write")),
    AFTER_EPOCH(Role.ANY, 1, Change.exit("OwnerLock", "writeEpoch")),
    BEFORE_TAKING_CALLS(Role.ANY, 1, Change.entry(Names.DIRECTORY, "takesCalls")),
    BEFORE_BUNDLE_SWITCH(Role.NODE, 5, Change.entry("BundleSteps", "update")),
    AFTER_BUNDLE_SWITCH(Role.NODE, 5, Change.exit("BundleSteps", "update")),
    BEFORE_HANDLERS_LEAVE(Role.NODE, 15, Change.entry("HandlerRegistry", "withdrawAll")),
    AFTER_HANDLERS_LEFT(Role.NODE, 15, Change.exit("HandlerRegistry", "withdrawAll")),
    AFTER_HANDLERS_CAME(Role.NODE, 15, Change.exit("HandlerRegistry", "add")),
    AFTER_JAR_WAS_COPIED(Role.NODE, 5, Change.after("KeptJars", "keep", "java/nio/file/Files", "copy"));

    /** Who comes by. */
    public enum Role {
        SERVER,
        /** A server whose handlers come with bundles. */
        NODE,
        CALLER,
        ANY
    }

    private final Role role;
    private final int maxPassings;
    private final Change change;

    Point(Role role, int maxPassings, Change change) {
        this.role = role;
        this.maxPassings = maxPassings;
        this.change = change;
    }

    public Role role() {
        return role;
    }

    public int maxPassings() {
        return maxPassings;
    }

    List<Change> changes() {
        return List.of(change);
    }

    /** Classes that several points are in. */
    private static final class Names {
        static final String JOURNAL = "Journal";
        static final String CURSOR = "CursorSlot";
        static final String DIRECTORY = "WorkerDirectory";
        static final String INDEX = "IndexStore";
        static final String ARCHIVE = "ArchiveWriter";
        static final String DOCUMENT = "net/openhft/chronicle/wire/DocumentContext";
        static final String WIRE = "net/openhft/chronicle/wire/Wire";
        static final String APPENDING = "net/openhft/chronicle/queue/impl/single/StoreAppender$StoreAppenderContext";
    }
}
