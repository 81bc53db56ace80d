package io.waybill.home;

import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.host.SafeFiles;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Properties;
import java.util.regex.Pattern;

/**
 * Permanent properties of a home, in {@code home.properties}:
 *
 * <pre>
 * format=1
 * roll.cycle=MINUTELY
 * permissions=owner
 * directory=2097412
 * </pre>
 *
 * A home with an identity of its own has format 2, which also has {@code host=h1} and {@code ids=512-1023}. Keys that a
 * reader does not know are skipped, and stay in the file. Immutable.
 *
 * @param rollCycle name of the journals' roll cycle
 * @param directory inode of the home's directory, by which a copy of hard links differs from it; 0 when it isn't known
 * @param identity name of the host and range of worker ids
 */
record HomeProperties(String rollCycle, long directory, HomeIdentity identity) {
    /** Value of {@link #directory} in a home of an earlier version. */
    static final long UNKNOWN = 0;

    /** Format of a home of {@link HomeIdentity#LOCAL}, which has neither host nor ids: earlier versions read it. */
    static final int FORMAT = 1;
    /** Format of a home with another identity, which earlier versions refuse. */
    static final int FORMAT_WITH_IDENTITY = 2;

    static final String FILE = "home.properties";

    private static final int MAX_BYTES = 4096;
    private static final Pattern ROLL_CYCLE = Pattern.compile("[A-Z0-9_]{1,64}");
    private static final String DIRECTORY_LINE = "(?m)^directory=.*\\R?"; // compiled after a move only

    HomeProperties {
        if (!ROLL_CYCLE.matcher(rollCycle).matches()) {
            throw new IllegalArgumentException("roll cycle must match " + ROLL_CYCLE + ": " + rollCycle);
        }
    }

    static HomeProperties read(Path home, SafeFiles files) throws IOException {
        Path file = home.resolve(FILE);
        Properties properties = new Properties();
        try {
            properties.load(new ByteArrayInputStream(files.readSmall(file, MAX_BYTES)));
        } catch (IllegalArgumentException e) {
            throw new MalformedHomeFileException(file + ": " + e.getMessage(), e);
        }
        String format = properties.getProperty("format");
        if (format == null) {
            throw new MalformedHomeFileException(file + ": expected a format, found none");
        }
        boolean hasIdentity = format.equals(String.valueOf(FORMAT_WITH_IDENTITY));
        if (!hasIdentity && !format.equals(String.valueOf(FORMAT))) {
            throw new HomeException("home " + home + " can't be used: expected format " + FORMAT + " or "
                    + FORMAT_WITH_IDENTITY + ", found " + format + " in " + file
                    + "; use the version of Waybill that made it, or a later one");
        }
        String rollCycle = properties.getProperty("roll.cycle", "");
        if (!ROLL_CYCLE.matcher(rollCycle).matches()) {
            throw new MalformedHomeFileException(
                    file + ": expected a roll.cycle that matches " + ROLL_CYCLE + ", found '" + rollCycle + "'");
        }
        return new HomeProperties(
                rollCycle,
                directory(properties.getProperty("directory", "")),
                hasIdentity ? identity(properties, file) : HomeIdentity.LOCAL);
    }

    private static HomeIdentity identity(Properties properties, Path file) throws MalformedHomeFileException {
        try {
            return HomeIdentity.of(properties.getProperty("host", ""), properties.getProperty("ids", ""));
        } catch (IllegalArgumentException e) {
            throw new MalformedHomeFileException(file + ": " + e.getMessage(), e);
        }
    }

    private static long directory(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) { // a home of an earlier version; the next worker that joins writes it
            return UNKNOWN;
        }
    }

    /** Writes the directory of a home that was moved or restored into its file, and keeps the rest of the file. */
    static void replaceDirectory(Path home, long directory, SafeFiles files) throws IOException {
        Path file = home.resolve(FILE);
        String text = new String(files.readSmall(file, MAX_BYTES), StandardCharsets.ISO_8859_1);
        String others = Pattern.compile(DIRECTORY_LINE).matcher(text).replaceAll("");
        String end = others.isEmpty() || others.endsWith("\n") ? "" : "\n";
        files.replaceAmongWriters(
                file, (others + end + "directory=" + directory + "\n").getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Returns the file of a home that is created in a directory. */
    byte[] toBytes(long itsDirectory) {
        return ("# A Waybill home. All its workers go by it.\n"
                        + "format=" + (identity.isLocal() ? FORMAT : FORMAT_WITH_IDENTITY) + "\n"
                        + "roll.cycle=" + rollCycle + "\n"
                        + "permissions=owner\n"
                        + (identity.isLocal() ? "" : "host=" + identity.host() + "\nids=" + identity.ids() + "\n")
                        + "directory=" + itsDirectory + "\n")
                .getBytes(StandardCharsets.ISO_8859_1);
    }
}
