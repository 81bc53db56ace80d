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
            "home.Home",
            "home.StoredWorker",
            "home.cursor.FileStamp",
            "home.cursor.PeerCursors",
            "journal.QueueFiles",
            "journal.append.QueueRepair",
            "journal.append.QueueWatch",
            "journal.append.Reservation",
            "journal.check.StructureCheck",
            "journal.format.QueueStructure",
            "journal.format.RollFiles",
            "journal.index.IndexDirectory",
            "journal.index.IndexStore",
            "journal.index.RocksLibrary",
            "journal.index.SharedStore",
            "journal.read.AnsweredIds",
            "journal.read.TailedQueue",
            "journal.read.QueueReader",
            "journal.recover.BootMark",
            "journal.recover.PowerCut",
            "journal.recover.QueueExtent",
            "journal.recover.RewrittenFile",
            "kept.KeptValues",
            "osgi.BundleVersion",
            "osgi.FileMark",
            "osgi.JarCheck",
            "osgi.KeptJars",
            "osgi.OsgiHost",
            "osgi.ShippedBundles",
            "osgi.Staging",
            "query.verify.BesideCheck",
            "query.verify.DirectoryCheck",
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
            "worker.upkeep.FileSpace");

    private static final Set<String> OPENING = Set.of(
            "journal.append.QueueRepair",
            "journal.format.QueueStructure",
            "journal.read.TailedQueue",
            "journal.read.LastRecord",
            "journal.read.TableLock",
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
            "journal.append.QueueRepair",
            "journal.append.Reservation",
            "journal.index.IndexDirectory",
            "journal.index.RocksLibrary",
            "journal.recover.PowerCut",
            "journal.recover.RewrittenFile",
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
