package io.waybill.journal.check;

import io.waybill.host.SafeFiles;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RollFile;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Checks everything in a queue's files apart from the records. Uses positional reads: nothing is mapped, locked or
 * written, and no content can block it. Reads every file once. Stateless.
 */
public final class StructureCheck {

    private static final int MAX_FINDINGS = 100;

    private StructureCheck() {}

    /** Checks the files of a queue. Files that can't be opened are left to {@link QueueReader}. */
    public static void check(Path directory, SafeFiles files, StructureFindings findings) throws IOException {
        List<RollFile> rolled;
        try {
            rolled = RollFile.in(directory, files);
        } catch (NoSuchFileException e) {
            return;
        }
        List<RollFile> begun = new ArrayList<>(rolled);
        begun.removeIf(file -> !hasBegun(file));
        believe(found -> TableCheck.check(directory, begun, files, found), findings);
        for (int i = 0; i < rolled.size(); i++) {
            RollFile file = rolled.get(i);
            boolean hasNewer = rolled.subList(i + 1, rolled.size()).stream().anyMatch(begun::contains);
            believe(found -> look(file, hasNewer, files, found), findings);
        }
    }

    /**
     * Returns a description of the first damage in a queue's directory; empty when there is none. Reads all records.
     */
    public static String firstDamage(Path directory, JournalSettings settings, SafeFiles files) {
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = QueueReader.open(directory, files, settings)) {
            QueueStructure.damage(directory, files).ifPresent(damages::add);
            Step step = damages.isEmpty() ? reader.next() : Step.END;
            while (step == Step.RECORD) {
                step = reader.next();
                step = step == Step.END ? reader.searchBehindEnd() : step;
            }
            if (step == Step.DAMAGED) {
                damages.add(reader.damage());
            }
            if (damages.isEmpty()) {
                Found found = new Found();
                check(directory, files, found);
                damages.addAll(found.damages);
            }
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
        return damages.isEmpty()
                ? ""
                : damages.get(0).file() + ": " + damages.get(0).text();
    }

    /** Reports the findings that two checks agree on: a live writer may be between two steps. */
    private static void believe(Consumer<StructureFindings> look, StructureFindings findings) {
        Found found = new Found();
        look.accept(found);
        if (!found.isEmpty()) {
            Found again = new Found();
            look.accept(again);
            found.damages.stream().filter(again.damages::contains).forEach(findings::damaged);
            found.notes.stream().filter(again.notes::contains).forEach(findings::noted);
        }
    }

    private static void look(RollFile file, boolean hasNewer, SafeFiles files, StructureFindings found) {
        try (FileCheck check = new FileCheck(file, files, found)) {
            check.check(hasNewer);
        } catch (IOException e) {
            // reported by the reader of its records
        }
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
            if (all.size() < MAX_FINDINGS) {
                all.add(damage);
            }
        }
    }

    private static boolean hasBegun(RollFile file) {
        try {
            return Files.isRegularFile(file.path(), LinkOption.NOFOLLOW_LINKS)
                    && !QueueStructure.isUnpublished(file.path());
        } catch (IOException e) {
            return false;
        }
    }
}
