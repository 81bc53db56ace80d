package io.waybill.kept;

import io.waybill.api.tensor.TensorBuffers;
import io.waybill.host.SafeFiles;
import io.waybill.rref.id.RRefId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Values that one worker keeps on the disk: {@code <created_on>.<local_id>.value} each, in a directory that is created
 * with the first one. A file gets its name when it is complete. Nothing is synced: after a power cut no process is left
 * that could use a value.
 *
 * <p><b>Threads.</b> Thread-safe, as long as each reference is written, read and removed by one thread at a time.
 */
public final class KeptValues {

    /** Name of the directory in a worker's own directory. */
    public static final String DIRECTORY = "kept";

    private static final String VALUE = ".value";
    private static final String DAMAGED = ".damaged";
    private static final Pattern NAME = Pattern.compile("([0-9]{1,5})\\.([0-9]{1,15})\\.value");
    /** Names of incomplete files, left by a process that was killed while it wrote. */
    private static final Pattern HALF = Pattern.compile("\\.[0-9.]+\\.value\\.new");

    private static final int MAX_FILES = 10_000_000;

    private final Path directory;
    private final int owner;
    private final int epoch;
    private final SafeFiles files;

    /**
     * Opens the values of a worker.
     *
     * @param directory directory of the worker, which has this id and this epoch
     */
    public KeptValues(Path directory, int owner, int epoch, SafeFiles files) {
        this.directory = directory.resolve(DIRECTORY);
        this.owner = owner;
        this.epoch = epoch;
        this.files = files;
    }

    /** Returns the path of a value's file, whether it exists or not. */
    public Path file(RRefId id) {
        return directory.resolve(id.createdOn() + "." + id.localId() + VALUE);
    }

    /**
     * Writes a value, which survives this process from then on.
     *
     * @throws IllegalArgumentException when the value is beyond the limits of a file
     * @throws IOException when it can't be written; nothing is left then
     */
    public void write(KeptValue value) throws IOException {
        KeptWriter writer = new KeptWriter(value, owner, epoch);
        files.createPrivateDirectory(directory);
        files.replaceUnsynced(file(value.id()), writer);
    }

    /** Removes a value; does nothing when there is none. */
    public void forget(RRefId id) throws IOException {
        files.remove(file(id));
    }

    /** Lists the values that earlier incarnations of the worker kept. Removes incomplete files. */
    public List<RRefId> list() throws IOException {
        List<RRefId> ids = new ArrayList<>();
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return ids;
        }
        for (Path file : files.list(files.requirePrivateDirectory(directory), MAX_FILES)) {
            String name = file.getFileName().toString();
            if (HALF.matcher(name).matches()) {
                files.remove(file);
            }
            idOf(name).ifPresent(ids::add);
        }
        return ids;
    }

    private static Optional<RRefId> idOf(String name) {
        Matcher parts = NAME.matcher(name);
        try {
            return parts.matches()
                    ? Optional.of(new RRefId(Integer.parseInt(parts.group(1)), Long.parseLong(parts.group(2))))
                    : Optional.empty();
        } catch (IllegalArgumentException e) { // no worker has such an id
            return Optional.empty();
        }
    }

    /**
     * Reads a value, its storages into these buffers.
     *
     * @throws DamagedValueException when the file is not what was written; the caller should then {@linkplain #setAside
     * set it aside}
     * @throws IOException when it can't be read now
     * @throws io.waybill.api.CallException when there is no room for its storages
     */
    public KeptValue read(RRefId id, TensorBuffers buffers) throws IOException {
        Path file = file(id);
        try (FileChannel channel = files.openForReading(file, Long.MAX_VALUE)) {
            return new KeptReader(file, channel).read(id, owner, buffers);
        }
    }

    /**
     * Checks a file in the directory of a worker's kept values. Returns the problem; empty when there is none. Writes
     * nothing, and keeps only the head of the value in memory.
     */
    public static String damage(Path file, int owner, SafeFiles files) {
        Optional<RRefId> id = idOf(file.getFileName().toString());
        if (id.isEmpty()) {
            return file + " is no kept value";
        }
        try (FileChannel channel = files.openForReading(file, Long.MAX_VALUE)) {
            ByteBuffer piece = ByteBuffer.allocate(KeptLayout.PIECE_BYTES);
            new KeptReader(file, channel).read(id.get(), owner, size -> new PassedBytes(piece, size));
            return "";
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /**
     * Renames a damaged file, so that it is not read again.
     *
     * @return its new path
     */
    public Path setAside(RRefId id) throws IOException {
        Path file = file(id);
        Path aside = file.resolveSibling(file.getFileName() + DAMAGED);
        files.renameWithin(file, aside);
        return aside;
    }
}
