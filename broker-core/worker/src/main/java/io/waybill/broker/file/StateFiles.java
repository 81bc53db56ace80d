package io.waybill.broker.file;

import io.waybill.api.state.StateFileException;
import io.waybill.host.Clock;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Stores that one worker keeps on disk: {@code <owner>@<store>.state} each, in a directory that is created with the
 * first one. Replacing a file is atomic, also in a power cut.
 *
 * <p><b>Threads.</b> Thread-safe, as long as one thread at a time writes each store.
 */
public final class StateFiles {

    /** Name of the directory in a worker's own directory. */
    public static final String DIRECTORY = "state";

    private static final String SUFFIX = ".state";
    private static final Pattern OWNER = Pattern.compile("[A-Za-z0-9._()-]{1,150}");
    private static final Pattern FILE = Pattern.compile("([A-Za-z0-9._()-]{1,150})@([a-z0-9._-]{1,64})\\.state");
    /** Names of incomplete files, left by a process that was killed while it wrote. */
    private static final Pattern INCOMPLETE = Pattern.compile("\\..+\\.state\\.new");

    private static final int MAX_FILES = 1_000_000;

    private final Path directory;
    private final int worker;
    private final int epoch;
    private final SafeFiles files;
    private final Clock clock;

    /**
     * Opens the files of a worker.
     *
     * @param directory directory of the worker, which has this id and this epoch
     */
    public StateFiles(Path directory, int worker, int epoch, SafeFiles files, Clock clock) {
        this.directory = directory.resolve(DIRECTORY);
        this.worker = worker;
        this.epoch = epoch;
        this.files = files;
        this.clock = clock;
    }

    /**
     * Returns the path of a store's file, whether it exists or not.
     *
     * @throws IllegalArgumentException when no file can have the owner's name
     */
    public Path file(String owner, String store) {
        if (!OWNER.matcher(owner).matches()) {
            throw new IllegalArgumentException("the state of " + owner
                    + " can't be kept on disk: expected an owner's name of 1 to 150 of" + " a-z A-Z 0-9 . - _ ( )");
        }
        return directory.resolve(owner + "@" + store + SUFFIX);
    }

    /** Returns the sizes of all stores on disk. Removes incomplete files. */
    public Map<Path, Long> sizes() throws IOException {
        Map<Path, Long> sizes = new HashMap<>();
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return sizes;
        }
        for (Path file : files.list(files.requirePrivateDirectory(directory), MAX_FILES)) {
            String name = file.getFileName().toString();
            if (INCOMPLETE.matcher(name).matches()) {
                files.remove(file);
            } else if (isStore(file)) {
                sizes.put(file, files.allocatedBytes(file));
            }
        }
        return sizes;
    }

    /**
     * Reads the entries of a store; none when it has no file.
     *
     * @throws StateFileException when the file is damaged or can't be read
     */
    public List<StateRecord> read(String owner, String store) {
        Path file = file(owner, store);
        try (FileChannel channel = files.openForReading(file, StateFileLayout.MAX_FILE_BYTES)) {
            return new StateFileReader(channel).read(worker, utf8(owner), utf8(store), clock.wallNs());
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw new StateFileException(
                    "the store " + store + " of " + owner + " can't be read from " + file + ": " + e.getMessage()
                            + "; move the file away to begin with an empty store",
                    e);
        }
    }

    /**
     * Returns whether a file in the directory of a worker's stores is a store, by its name, and neither incomplete nor
     * of another kind.
     */
    public static boolean isStore(Path file) {
        String name = file.getFileName().toString();
        return name.endsWith(SUFFIX) && !name.startsWith(".");
    }

    /**
     * Returns the damage of a store's file; empty when it is whole.
     *
     * @param worker id of the worker to which it belongs
     */
    public static String damage(Path file, int worker, SafeFiles files) {
        Matcher name = FILE.matcher(file.getFileName().toString());
        if (!name.matches()) {
            return file + " is no store";
        }
        try (FileChannel channel = files.openForReading(file, StateFileLayout.MAX_FILE_BYTES)) {
            new StateFileReader(channel).read(worker, utf8(name.group(1)), utf8(name.group(2)), 0);
            return "";
        } catch (IOException e) {
            return "the store " + name.group(2) + " of " + name.group(1) + " can't be read from " + file + ": "
                    + e.getMessage();
        }
    }

    /** Writes a store. On failure the previous file stays. */
    public void write(String owner, String store, List<StateRecord> entries) throws IOException {
        files.createPrivateDirectory(directory);
        files.replaceAtomically(
                file(owner, store),
                new StateFileWriter(worker, epoch, utf8(owner), utf8(store), clock.wallNs(), entries));
    }

    /** Removes the file of a store; does nothing when there is none. */
    public void remove(String owner, String store) throws IOException {
        files.remove(file(owner, store));
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
