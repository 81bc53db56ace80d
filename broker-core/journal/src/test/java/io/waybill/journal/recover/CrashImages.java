package io.waybill.journal.recover;

import io.waybill.journal.Roll;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * What a disk may hold of a directory's files after a power cut. A writer's files are looked at whenever it syncs one and whenever the test
 * says so; an image then takes of each page any version from the last one that was synced on, as a seed decides. Names of a queue's files are
 * there in the order in which they were made: file systems with a journal see to that.
 *
 * <p>One thread at a time, while the files stand still.
 */
final class CrashImages {

    static final int PAGE = 4096;
    static final int SECTOR = 512;
    private static final int MAX_BYTES = 8 << 20;

    private final Path directory;
    private final Map<String, History> files = new TreeMap<>();

    CrashImages(Path directory) {
        this.directory = directory;
    }

    /** What is known of one file. */
    private static final class History {
        /** The last synced version; empty when it was never synced: then not even its name need be there. */
        private byte[] synced = new byte[0];
        /** Versions since, oldest first. */
        private List<byte[]> since = List.of();

        private boolean named;
    }

    private static byte[] read(Path file) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "r")) {
            byte[] bytes = new byte[(int) Math.min(open.length(), MAX_BYTES)];
            open.readFully(bytes);
            return bytes;
        }
    }

    private List<Path> present() throws IOException {
        try (var list = Files.list(directory)) {
            return list.filter(Files::isRegularFile).sorted().toList();
        }
    }

    /** Looks at all files now. */
    synchronized void look() throws IOException {
        for (Path file : present()) {
            History history = files.computeIfAbsent(file.getFileName().toString(), name -> new History());
            byte[] now = read(file);
            if (history.since.isEmpty() || !Arrays.equals(history.since.get(history.since.size() - 1), now)) {
                history.since = new ArrayList<>(history.since);
                history.since.add(now);
            }
        }
    }

    /** A file, or the directory itself, is on the disk as it is now. */
    synchronized void synced(Path file) throws IOException {
        if (file.equals(directory)) {
            look();
            files.values().forEach(history -> history.named = true);
            return;
        }
        if (!file.getParent().equals(directory)) {
            return;
        }
        History history = files.computeIfAbsent(file.getFileName().toString(), name -> new History());
        history.synced = read(file);
        history.since = List.of();
    }

    /** Writes an image into an empty directory. */
    synchronized void write(Path to, long seed) throws IOException {
        Random random = new Random(seed);
        int unit = random.nextInt(3) == 0 ? SECTOR : PAGE;
        // some cuts take nearly everything that was not synced, others nearly nothing
        int chance = random.nextInt(101);
        boolean isOneGone = false;
        for (Map.Entry<String, History> file : files.entrySet()) {
            History history = file.getValue();
            boolean isQueueFile = file.getKey().endsWith(Roll.FILE_SUFFIX);
            boolean isThere = history.named || random.nextInt(4) != 0 && !(isQueueFile && isOneGone);
            isOneGone |= isQueueFile && !isThere;
            if (isThere) {
                Files.write(to.resolve(file.getKey()), image(history, unit, chance, random));
            }
        }
    }

    private static byte[] image(History history, int unit, int chance, Random random) {
        byte[] last = history.since.isEmpty() ? history.synced : history.since.get(history.since.size() - 1);
        // what the file's size is can be as old as its content; data that was synced is within it
        int size = random.nextInt(8) == 0
                ? Math.max(history.synced.length, random.nextInt(last.length + 1) / unit * unit)
                : last.length;
        byte[] image = new byte[size];
        for (int at = 0; at < size; at += unit) {
            int version =
                    random.nextInt(100) < chance ? random.nextInt(history.since.size() + 1) : history.since.size();
            byte[] from = version == 0 ? history.synced : history.since.get(version - 1);
            int length = Math.min(unit, Math.min(size, from.length) - at);
            if (length > 0) {
                System.arraycopy(from, at, image, at, length);
            }
        }
        return image;
    }
}
