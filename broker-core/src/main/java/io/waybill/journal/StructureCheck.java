package io.waybill.journal;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Checks all of a queue's files that is no record. By positional reads: nothing is mapped, locked or written, and nothing that lies there
 * can make it wait. Reads every file once. Stateless.
 */
public final class StructureCheck {

    private static final int MOST_FINDINGS = 100;

    private StructureCheck() {}

    /** Checks the files of a queue. What can't be opened is left to {@link QueueReader}. */
    public static void check(Path directory, SafeFiles files, StructureFindings findings) throws IOException {
        TableCheck.check(directory, files, findings);
        List<RollFile> rolled;
        try {
            rolled = RollFile.in(directory, files);
        } catch (NoSuchFileException e) {
            return;
        }
        for (int i = 0; i < rolled.size(); i++) {
            check(rolled.get(i), hasBegun(rolled.subList(i + 1, rolled.size())), files, findings);
        }
    }

    /** A live writer may be between two steps: only what two looks find is believed. */
    private static void check(RollFile file, boolean hasNewer, SafeFiles files, StructureFindings findings) {
        Found found = look(file, hasNewer, files);
        if (!found.isEmpty()) {
            Found again = look(file, hasNewer, files);
            found.damages.stream().filter(again.damages::contains).forEach(findings::damaged);
            found.notes.stream().filter(again.notes::contains).forEach(findings::noted);
        }
    }

    private static Found look(RollFile file, boolean hasNewer, SafeFiles files) {
        Found found = new Found();
        try (FileCheck check = new FileCheck(file, files, found)) {
            check.check(hasNewer);
        } catch (IOException e) {
            // told by the reader of its records
        }
        return found;
    }

    private static final class Found implements StructureFindings {
        private final List<Damage> damages = new ArrayList<>();
        private final List<Damage> notes = new ArrayList<>();

        boolean isEmpty() {
            return damages.isEmpty() && notes.isEmpty();
        }

        @Override
        public void damaged(Damage damage) {
            add(damages, damage);
        }

        @Override
        public void noted(Damage damage) {
            add(notes, damage);
        }

        private static void add(List<Damage> all, Damage damage) {
            if (all.size() < MOST_FINDINGS) {
                all.add(damage);
            }
        }
    }

    private static boolean hasBegun(List<RollFile> newer) throws IOException {
        for (RollFile file : newer) {
            if (Files.isRegularFile(file.path(), LinkOption.NOFOLLOW_LINKS)
                    && !QueueStructure.isUnpublished(file.path())) {
                return true;
            }
        }
        return false;
    }
}
