package io.waybill.journal.append;

import io.waybill.host.SafeFiles;
import io.waybill.journal.RollFile;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.LastRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;

/**
 * Checks the files of a queue for its own writer: a mapped file accepts records without an error after it was removed
 * or truncated. Every check covers the current file and some of the older ones; all of them when the directory changed.
 * Files removed by retention are not reported.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> One small entry for each file of the queue.
 */
public final class QueueWatch {

    /** Number of older files per check: each costs a microsecond. */
    private static final int OLDER_PER_LOOK = 16;

    private final Journal journal;
    private final List<Watched> older = new ArrayList<>();
    private final Watched table;
    private Watched current;
    private Written before; // extent at the last check; null when nothing was written
    private FileTime directoryChanged;
    private boolean lookAtAll = true;
    private int nextOlder;

    /** File with its key in the file system, and its min size. */
    private record Watched(Path path, int cycle, Object key, long bytes) {}

    private QueueWatch(Journal journal, Watched table) {
        this.journal = journal;
        this.table = table;
    }

    /** Begins to watch a journal that was opened just now. */
    public static QueueWatch open(Journal journal, SafeFiles files) throws IOException {
        QueueWatch watch = new QueueWatch(journal, watched(journal.directory().resolve(QueueStructure.TABLE), 0));
        watch.takeEntered();
        for (RollFile file : RollFile.in(journal.directory(), files)) {
            if (file.cycle() < watch.current.cycle()) {
                watch.older.add(watched(file.path(), file.cycle()));
            }
        }
        return watch;
    }

    /** Returns the number of the oldest file. */
    public int oldestCycle() {
        return older.stream().mapToInt(Watched::cycle).min().orElse(current.cycle());
    }

    private static Watched watched(Path path, int cycle) throws IOException {
        return new Watched(path, cycle, keyOf(path), Files.size(path));
    }

    /** Returns the file system's identity of a file, whatever its name; null when there is none of this name. */
    static Object keyOf(Path path) {
        try {
            return attributes(path).fileKey();
        } catch (IOException e) {
            return null;
        }
    }

    private static BasicFileAttributes attributes(Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * Checks the files.
     *
     * @param written extent to which the queue was written at the last read; null when nothing was
     * @throws IOException when a file can't be checked, which does not mean that it is lost
     * @return description of the loss; empty when nothing was lost
     */
    public String look(Written written) throws IOException {
        takeEntered();
        boolean all = lookAtAll | hasDirectoryChanged();
        String problem = problem(table);
        if (problem.isEmpty()) {
            problem = problem(current);
        }
        if (problem.isEmpty()) {
            problem = contentProblem();
        }
        if (problem.isEmpty()) {
            problem = olderProblem(all ? older.size() : Math.min(older.size(), OLDER_PER_LOOK));
        }
        before = written != null && written.length() > 0 ? written : before;
        return problem;
    }

    private void takeEntered() {
        for (EnteredFiles.EnteredFile next = journal.enteredFiles().nextUnwatched();
                next != null;
                next = journal.enteredFiles().nextUnwatched()) {
            if (current != null && next.leftAt() > 0 && next.cycle() != current.cycle()) {
                older.add(new Watched(current.path(), current.cycle(), current.key(), next.leftAt()));
            }
            current = new Watched(next.path(), next.cycle(), next.key(), 0);
        }
    }

    /**
     * Returns whether the directory changed. Two changes may lie within one tick of the file system's clock: so the
     * check after a change covers all files, too.
     */
    private boolean hasDirectoryChanged() throws IOException {
        FileTime changed;
        try {
            changed = attributes(journal.directory()).lastModifiedTime();
        } catch (NoSuchFileException e) {
            return true;
        }
        lookAtAll = !changed.equals(directoryChanged);
        directoryChanged = changed;
        return lookAtAll;
    }

    private String olderProblem(int files) throws IOException {
        for (int i = 0; i < files && !older.isEmpty(); i++) {
            nextOlder = nextOlder + 1 < older.size() ? nextOlder + 1 : 0;
            String problem = problem(older.get(nextOlder));
            if (!problem.isEmpty()) {
                return problem;
            }
        }
        int keptFrom = journal.enteredFiles().keptFrom();
        older.removeIf(file -> file.cycle() < keptFrom);
        return "";
    }

    private String problem(Watched file) throws IOException {
        BasicFileAttributes found;
        try {
            found = attributes(file.path());
        } catch (NoSuchFileException e) {
            boolean ours =
                    file != table && file.cycle() < journal.enteredFiles().keptFrom(); // read after the check
            return ours
                    ? ""
                    : file.path()
                            + " is gone: another process removed or renamed it; restart the worker, which goes on with what is left";
        }
        if (!found.fileKey().equals(file.key())) {
            return file.path() + " is another file than the one that this worker writes: it was replaced";
        }
        return found.size() < file.bytes()
                ? file.path() + " was cut: it has " + found.size() + " bytes and had " + file.bytes()
                : "";
    }

    /**
     * Returns the problem of the content of a file. A file that was cut may have grown again: then zeros are in place
     * of the last record, or of the header. Only records written before the previous check are read, for the file grows
     * meanwhile.
     */
    private String contentProblem() throws IOException {
        if (before == null) {
            return "";
        }
        String cut = QueueStructure.cutProblem(before.file());
        if (!cut.isEmpty()) {
            return cut;
        }
        try {
            return LastRecord.read(before.file(), before.start(), before.length(), before.nextSequence() - 1)
                    ? ""
                    : before.file() + " was cut or overwritten: record " + (before.nextSequence() - 1) + " at "
                            + before.start() + " is not there any more";
        } catch (NoSuchFileException e) {
            return ""; // the check of its name reports what was lost
        }
    }
}
