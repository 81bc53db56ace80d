package io.waybill;

import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The classes of the core that use files by themselves, beside {@code host}. Each is one that can't run over a simulated disk: the lists
 * may become shorter, and a class is added to one with a reason.
 */
final class FileUsers {

    /** What is done with files. */
    enum Use {
        /** At what there is: its size, its kind, who owns it. */
        LOOK,
        /** For its content, or the names in a directory. */
        OPEN,
        /** Made, written, moved, removed. */
        CHANGE
    }

    private static final Set<String> LOOKING = Set.of(
            "RespondedIds",
            "ArchiveFiles",
            "ArchiveSpace",
            "BesideCheck",
            "BootMark",
            "BundleHandlers",
            "BundleVersion",
            "DirectoryCheck",
            "FileCopies",
            "FileMark",
            "FileSpace",
            "FileStamp",
            "FreeSpace",
            "Home",
            "HomePlace",
            "IndexDirectory",
            "IndexStore",
            "JarCheck",
            "KeptJars",
            "KeptValues",
            "OsgiHost",
            "PeerCursors",
            "PowerCut",
            "QueueExtent",
            "QueueFiles",
            "QueueReader",
            "QueueRepair",
            "QueueStructure",
            "QueueWatch",
            "Recording",
            "Replay",
            "Removal",
            "Reservation",
            "RewrittenFile",
            "RocksLibrary",
            "RollFiles",
            "Salvage",
            "Segment",
            "SegmentMapping",
            "SettingsFile",
            "StateFiles",
            "SharedStore",
            "ShippedBundles",
            "SliceFile",
            "SliceOutput",
            "Staging",
            "StoredWorker",
            "StructureCheck",
            "TailedQueue",
            "WorkerSalvage");

    private static final Set<String> OPENING = Set.of(
            "BundleHandlers",
            "ComponentDeclaration",
            "FileMark",
            "JarCheck",
            "LastRecord",
            "OsgiHost",
            "QueueRepair",
            "QueueStructure",
            "RecordSearch",
            "ScriptBundles",
            "ScriptStaging",
            "SettingsFile",
            "ShippedBundles",
            "SliceFile",
            "SliceOutput",
            "StagedJar",
            "Staging",
            "SystemPackages",
            "TableLock",
            "TailedQueue",
            "TemporaryDirectory");

    private static final Set<String> CHANGING = Set.of(
            "BundleDirectory",
            "BundleHandlers",
            "ConfDirectory",
            "KeptJars",
            "PowerCut",
            "RocksLibrary",
            "ScriptStaging",
            "SliceOutput",
            "Staging",
            "TemporaryDirectory");

    private FileUsers() {}

    /** The simple names of the classes, of which none is used twice, and the package {@code host}. */
    static Set<String> whoMay(Use use) {
        Set<String> users = switch (use) {
            case LOOK -> LOOKING;
            case OPEN -> OPENING;
            case CHANGE -> CHANGING;
        };
        return Stream.concat(Stream.of("io.waybill.host."), users.stream()).collect(Collectors.toUnmodifiableSet());
    }
}
