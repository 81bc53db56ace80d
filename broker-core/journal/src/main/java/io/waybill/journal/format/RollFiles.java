package io.waybill.journal.format;

import io.waybill.host.SafeFiles;
import io.waybill.journal.RollFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;

/** Files of a queue, listed again when the directory changed. One thread at a time. */
public final class RollFiles {

    private static final FileTime NEVER = FileTime.fromMillis(Long.MIN_VALUE);

    private final Path directory;
    private final SafeFiles safeFiles;
    private List<RollFile> files = List.of();
    private FileTime listedAt = NEVER;
    private FileTime seenAt = NEVER;
    private boolean isComplete; // the list stays as it is

    public RollFiles(Path directory, SafeFiles safeFiles) {
        this.directory = directory;
        this.safeFiles = safeFiles;
    }

    /** Returns a list of these files, oldest first, whatever others exist. */
    public static RollFiles of(List<RollFile> files) {
        RollFiles only = new RollFiles(null, null);
        only.files = List.copyOf(files);
        only.isComplete = true;
        return only;
    }

    /** Lists the present files of a queue, once. */
    public static RollFiles present(Path directory, SafeFiles safeFiles) throws IOException {
        RollFiles present = new RollFiles(directory, safeFiles);
        present.refresh();
        present.isComplete = true;
        return present;
    }

    /**
     * Returns the oldest file that is newer than {@code file}, or the oldest of all for null; null when there is none.
     */
    public RollFile after(RollFile file) throws IOException {
        RollFile known = find(file);
        if (known != null) {
            return known;
        }
        refresh();
        return find(file);
    }

    private RollFile find(RollFile file) {
        int last = files.size() - 1;
        if (last < 0 || file != null && files.get(last).compareTo(file) <= 0) {
            return null;
        }
        for (RollFile candidate : files) {
            if (file == null || candidate.compareTo(file) > 0) {
                return candidate;
            }
        }
        return null;
    }

    private void refresh() throws IOException {
        if (isComplete) {
            return;
        }
        try {
            FileTime changed = Files.getLastModifiedTime(directory, LinkOption.NOFOLLOW_LINKS);
            if (changed.equals(listedAt)) {
                return;
            }
            // two changes may lie within one tick of the file system's clock: only what two checks found unchanged is
            // valid
            boolean completed = changed.equals(seenAt);
            seenAt = changed;
            files = RollFile.in(directory, safeFiles);
            listedAt = completed ? changed : NEVER;
        } catch (NoSuchFileException e) {
            files = List.of();
        }
    }
}
