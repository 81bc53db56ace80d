package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import io.waybill.archive.ArchiveScan.Step;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lists the archive files of a worker, and opens one for its owner to continue. Stateless. */
final class ArchiveFiles {

    private static final Logger LOG = LoggerFactory.getLogger(ArchiveFiles.class);
    private static final int MAX_FILES = 1_000_000;
    private static final String SET_ASIDE = ".damaged";

    private ArchiveFiles() {}

    /** Lists the files of a queue, oldest first; their names sort by time. */
    static List<Path> in(Path workerDirectory, JournalQueue queue, SafeFiles files) throws IOException {
        Path directory = ArchiveLayout.directory(workerDirectory, queue);
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return List.of();
        }
        return files.list(directory, MAX_FILES).stream()
                .filter(path -> path.getFileName().toString().endsWith(ArchiveLayout.SUFFIX))
                .sorted(Comparator.comparing(path -> path.getFileName().toString()))
                .toList();
    }

    /** Returns the size of a file; 0 when it does not exist. */
    static long size(Path path) throws IOException {
        try {
            return (Long) Files.getAttribute(path, "size", LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    /**
     * Opens a file of this worker to append to; creates it when it does not exist. An incomplete record of a killed
     * process is truncated; damage is left in place and skipped.
     *
     * @param fresh header of a new file
     */
    static ArchiveWriter open(Path path, ArchiveHeader fresh, SafeFiles files) throws IOException {
        NativeFile file = files.openOwnNative(path);
        try {
            return open(file, path, fresh, files);
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    private static ArchiveWriter open(NativeFile file, Path path, ArchiveHeader fresh, SafeFiles files)
            throws IOException {
        FileBytes bytes = new FileBytes(file);
        Optional<ArchiveHeader> found = ArchiveWriter.read(bytes);
        if (bytes.size() <= ArchiveLayout.HEADER_BYTES && found.isEmpty()
                || found.isPresent() && found.get().isRemoved()) {
            ArchiveWriter.begin(file, fresh);
            return new ArchiveWriter(file, fresh, new IndexEntries(0), ArchiveLayout.HEADER_BYTES);
        }
        ArchiveHeader header = found.isPresent() ? found.get() : repair(file, bytes, fresh);
        if (header.tag() == 0) {
            files.renameWithin(path, path.resolveSibling(path.getFileName() + SET_ASIDE));
            LOG.error("{} is no archive file; it was set aside as *{}", path, SET_ASIDE);
            file.close();
            return open(path, fresh, files);
        }
        return goOn(file, bytes, header);
    }

    /** Recreates a damaged header, with the tag that the records have. Its tag is 0 when there is no record. */
    private static ArchiveHeader repair(NativeFile file, FileBytes bytes, ArchiveHeader fresh) throws IOException {
        ArchiveScan scan = new ArchiveScan(bytes, 0, ArchiveLayout.HEADER_BYTES);
        Step step = scan.next();
        while (step == Step.DAMAGE) {
            step = scan.next();
        }
        ArchiveHeader header =
                new ArchiveHeader(scan.tag(), fresh.worker(), fresh.queue(), false, fresh.madeNs(), fresh.stem());
        if (scan.tag() != 0) {
            ArchiveWriter.put(file, header);
            LOG.warn("The header of {} was damaged; it was recreated", file);
        }
        return header;
    }

    private static ArchiveWriter goOn(NativeFile file, FileBytes bytes, ArchiveHeader header) throws IOException {
        IndexBlocks blocks = new IndexBlocks(bytes, header.tag());
        IndexEntries entries = new IndexEntries(blocks.last());
        ArchiveScan scan = new ArchiveScan(bytes, header.tag(), blocks.end());
        for (Step step = scan.next(); step != Step.END; step = scan.next()) {
            if (step == Step.DAMAGE) {
                LOG.warn("{} has no record from {} to {}", file, scan.damagedFrom(), scan.position());
            } else if (scan.record().kind() != Kind.INDEX) {
                entries.add(scan.record());
            } else {
                blocks.add(scan.record());
                entries.clear(scan.record().offset());
            }
        }
        return new ArchiveWriter(file, header, entries, scan.position());
    }
}
