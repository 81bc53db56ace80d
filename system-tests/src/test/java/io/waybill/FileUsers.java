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

    private static final String ROOT = "io.waybill.";

    private static final Set<String> LOOKING = Set.of(
            "archive.ArchiveFiles",
            "archive.ArchiveSpace",
            "home.FileStamp",
            "home.Home",
            "home.PeerCursors",
            "home.StoredWorker",
            "journal.AnsweredIds",
            "journal.BootMark",
            "journal.JournalTail",
            "journal.PowerCut",
            "journal.QueueExtent",
            "journal.QueueFiles",
            "journal.QueueReader",
            "journal.QueueRepair",
            "journal.QueueStructure",
            "journal.QueueWatch",
            "journal.Reservation",
            "journal.RewrittenFile",
            "journal.RollFiles",
            "journal.StructureCheck",
            "journal.index.IndexDirectory",
            "journal.index.IndexStore",
            "journal.index.RocksLibrary",
            "journal.index.SharedStore",
            "kept.KeptValues",
            "osgi.BundleVersion",
            "osgi.FileMark",
            "osgi.JarCheck",
            "osgi.KeptJars",
            "osgi.OsgiHost",
            "osgi.ShippedBundles",
            "osgi.Staging",
            "query.BesideCheck",
            "query.DirectoryCheck",
            "replay.BundleHandlers",
            "replay.Recording",
            "replay.Replay",
            "replay.slice.SliceFile",
            "replay.slice.SliceOutput",
            "salvage.FileCopies",
            "salvage.FreeSpace",
            "salvage.Salvage",
            "salvage.WorkerSalvage",
            "tensor.Segment",
            "tensor.SegmentMapping",
            "worker.FileSpace");

    private static final Set<String> OPENING = Set.of(
            "journal.JournalTail",
            "journal.LastRecord",
            "journal.QueueRepair",
            "journal.QueueStructure",
            "journal.TableLock",
            "osgi.ConfDirectory",
            "osgi.FileMark",
            "osgi.JarCheck",
            "osgi.OsgiHost",
            "osgi.ShippedBundles",
            "osgi.StagedJar",
            "osgi.Staging",
            "osgi.SystemPackages",
            "osgi.script.ScriptBundles",
            "osgi.script.ScriptStaging",
            "replay.BundleHandlers",
            "replay.TemporaryDirectory",
            "replay.slice.SliceFile",
            "replay.slice.SliceOutput");

    private static final Set<String> CHANGING = Set.of(
            "home.WorkerDirectory",
            "journal.PowerCut",
            "journal.QueueRepair",
            "journal.Reservation",
            "journal.RewrittenFile",
            "journal.index.IndexDirectory",
            "journal.index.RocksLibrary",
            "osgi.BundleDirectory",
            "osgi.ConfDirectory",
            "osgi.KeptJars",
            "osgi.Staging",
            "osgi.script.ScriptStaging",
            "replay.BundleHandlers",
            "replay.TemporaryDirectory",
            "replay.slice.SliceOutput");

    private FileUsers() {}

    /** The names of the classes, and the package {@code host}. */
    static Set<String> whoMay(Use use) {
        Set<String> users = switch (use) {
            case LOOK -> LOOKING;
            case OPEN -> OPENING;
            case CHANGE -> CHANGING;
        };
        return Stream.concat(Stream.of("host."), users.stream())
                .map(user -> ROOT + user)
                .collect(Collectors.toUnmodifiableSet());
    }
}
