package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.cursor.StoredCursor;
import io.waybill.home.cursor.StoredCursors;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Directory of a worker in any state, for tools. Reads by position, maps nothing, and writes nothing. Unusable parts
 * are left out, and reported by {@link #problems()}.
 *
 * <p>One thread at a time.
 */
public final class StoredWorker {

    private static final int MAX_LOCK_BYTES = 64;
    private static final Pattern EPOCH = Pattern.compile("(0|[1-9][0-9]{0,17}) *\n?");

    private final WorkerInfo info;
    private final Path path;
    private final SafeFiles files;
    private final List<Problem> problems = new ArrayList<>();
    private long callable;

    public StoredWorker(WorkerInfo info, Path path, SafeFiles files) {
        this.info = info;
        this.path = path;
        this.files = files;
    }

    /**
     * Damage of a file.
     *
     * @param text description, which also names the file
     */
    public record Problem(Path file, String text) {}

    private void problem(Path file, String text) {
        problems.add(new Problem(file, text));
    }

    /** Returns the damage found by the last reads. */
    public List<Problem> problems() {
        return List.copyOf(problems);
    }

    /**
     * Returns the epoch that took calls last, as {@link #cursors} found it; 0 when none did, or the file can't be read.
     */
    public long callableEpoch() {
        return callable;
    }

    /** Returns the epoch of the worker's last known incarnation; 0 when none is known. */
    public long epoch() {
        return Math.max(said().map(WorkerRecord::epoch).orElse(0L), lockEpoch());
    }

    /**
     * Returns a problem when {@code worker.json} and the lock name different incarnations; a worker that is joining is
     * between the two.
     */
    public Optional<String> epochProblem() {
        long said = said().map(WorkerRecord::epoch).orElse(0L);
        long locked = lockEpoch();
        return said == 0 || said == locked
                ? Optional.empty()
                : Optional.of(path + ": worker.json has generation " + said + ", and the lock " + locked);
    }

    /** Returns the published record. */
    public Optional<WorkerRecord> said() {
        Path file = path.resolve(WorkerDirectory.RECORD_FILE);
        try {
            WorkerRecord record = WorkerRecordJson.read(files.readSmall(file, WorkerRecordJson.MAX_BYTES), file);
            if (record.id() == info.id() && record.name().equals(info.name())) {
                return Optional.of(record);
            }
            problem(
                    file,
                    file + ": expected the record of " + info + ", found that of "
                            + new WorkerInfo(record.id(), record.name()));
        } catch (NoSuchFileException e) {
            // it never joined completely
        } catch (IOException | IllegalArgumentException e) {
            problem(file, String.valueOf(e.getMessage()));
        }
        return Optional.empty();
    }

    private long lockEpoch() {
        Path file = path.resolve("lock").resolve("owner");
        try {
            String text = new String(files.readSmall(file, MAX_LOCK_BYTES), StandardCharsets.ISO_8859_1);
            if (EPOCH.matcher(text).matches()) {
                return Long.parseLong(text.trim());
            }
            if (!text.isEmpty()) {
                problem(file, file + ": expected a generation, found " + text.length() + " other bytes");
            }
        } catch (NoSuchFileException e) {
            // it never joined completely
        } catch (IOException e) {
            problem(file, String.valueOf(e.getMessage()));
        }
        return 0;
    }

    /** Returns the positions up to which the worker has read its peers. */
    public List<StoredCursor> cursors() {
        Path file = StoredCursors.file(path);
        try {
            StoredCursors stored = StoredCursors.read(path, info, files, damage -> problem(file, file + ": " + damage));
            callable = stored.callableEpoch();
            return stored.slots();
        } catch (NoSuchFileException e) {
            if (Files.exists(path.resolve(WorkerDirectory.RECORD_FILE), LinkOption.NOFOLLOW_LINKS)) { // created later
                problem(file, file + ": expected the cursors of " + info + ", found no file");
            }
        } catch (IOException e) {
            problem(file, String.valueOf(e.getMessage()));
        }
        return List.of();
    }
}
