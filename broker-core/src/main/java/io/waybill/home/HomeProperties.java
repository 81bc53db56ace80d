package io.waybill.home;

import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
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
 * Keys that a reader does not know are skipped. Immutable.
 *
 * @param rollCycle the name of the journals' roll cycle
 * @param directory inode of the home's directory, by which a copy of hard links differs from it; 0 when it isn't known
 */
record HomeProperties(String rollCycle, long directory) {
    /** Value of {@link #directory} in a home of an earlier version. */
    static final long UNKNOWN = 0;

    static final int FORMAT = 1;
    static final String FILE = "home.properties";

    private static final int MAX_BYTES = 4096;
    private static final Pattern ROLL_CYCLE = Pattern.compile("[A-Z0-9_]{1,64}");

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
        if (!format.equals(String.valueOf(FORMAT))) {
            throw new HomeException("home " + home + " has format " + format + "; this version reads " + FORMAT);
        }
        String rollCycle = properties.getProperty("roll.cycle", "");
        if (!ROLL_CYCLE.matcher(rollCycle).matches()) {
            throw new MalformedHomeFileException(
                    file + ": expected a roll.cycle that matches " + ROLL_CYCLE + ", found '" + rollCycle + "'");
        }
        return new HomeProperties(rollCycle, directory(properties.getProperty("directory", "")));
    }

    private static long directory(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) { // a home of an earlier version; the next worker that joins writes it
            return UNKNOWN;
        }
    }

    HomeProperties in(long itsDirectory) {
        return new HomeProperties(rollCycle, itsDirectory);
    }

    byte[] toBytes() {
        return ("# A Waybill home. All its workers go by it.\n"
                        + "format=" + FORMAT + "\n"
                        + "roll.cycle=" + rollCycle + "\n"
                        + "permissions=owner\n"
                        + "directory=" + directory + "\n")
                .getBytes(StandardCharsets.ISO_8859_1);
    }
}
