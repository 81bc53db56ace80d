package io.waybill.journal.recover;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Note in a queue's directory about the boot of the host in which the queue was last prepared: in the same boot no
 * written data can have been lost. Immutable.
 *
 * @param boot id of the boot; {@link #FAILED} when a sync failed since
 * @param firstCycle number of the first file that was begun in it
 * @param firstCounter first counter of a message id that was assigned in it
 */
public record BootMark(String boot, int firstCycle, long firstCounter) {

    /** Value that is not the id of any boot: the disk may differ from the kernel's cache. */
    static final String FAILED = "failed";

    private static final String FILE = "boot";
    private static final int MAX_BYTES = 256;
    private static final Pattern TEXT =
            Pattern.compile("boot=([0-9A-Za-z-]{1,64})\nfirst-cycle=([0-9]{1,9})\n" + "first-counter=([0-9]{1,15})\n");

    /** Returns the mark of a queue; empty when there is none that can be parsed. */
    static Optional<BootMark> read(Path directory, SafeFiles files) throws IOException {
        String text;
        try {
            text = new String(files.readSmall(directory.resolve(FILE), MAX_BYTES), StandardCharsets.US_ASCII);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        Matcher matcher = TEXT.matcher(text);
        return matcher.matches()
                ? Optional.of(new BootMark(
                        matcher.group(1), Integer.parseInt(matcher.group(2)), Long.parseLong(matcher.group(3))))
                : Optional.empty();
    }

    /** Returns whether there is a mark, readable or not: the queue was prepared once. */
    public static boolean isThere(Path directory) {
        return Files.exists(directory.resolve(FILE), LinkOption.NOFOLLOW_LINKS);
    }

    /** Replaces the previous mark, and syncs the new one to the disk. */
    void write(Path directory, SafeFiles files) throws IOException {
        files.replaceAtomically(directory.resolve(FILE), bytes());
    }

    /** Replaces the previous mark without a sync: if a power cut loses it, the queue is checked. */
    void writeUnsynced(Path directory, SafeFiles files) throws IOException {
        files.replaceUnsynced(directory.resolve(FILE), bytes());
    }

    private byte[] bytes() {
        return ("boot=" + boot + "\nfirst-cycle=" + firstCycle + "\nfirst-counter=" + firstCounter + "\n")
                .getBytes(StandardCharsets.US_ASCII);
    }
}
