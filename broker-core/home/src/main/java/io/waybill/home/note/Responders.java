package io.waybill.home.note;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Bundles that had handlers in a worker, by the number in its responses: the file {@code responders} in its directory,
 * a line of text for each. The newest {@value #MAX} are kept. Stateless.
 */
public final class Responders {

    /** Name of the file in a worker's directory. */
    public static final String FILE = "responders";

    private static final int MAX = 8192;
    private static final int MAX_CHARS = 256;
    private static final int MAX_BYTES = MAX * (2 * MAX_CHARS * 3 + 20);
    private static final Pattern LINE = Pattern.compile("([0-9a-f]{16})\t([^\t]+)\t([^\t]*)");

    private Responders() {}

    /**
     * Bundle, or a part of a program.
     *
     * @param number number in the records of its responses
     * @param name symbolic name of the bundle
     */
    public record Responder(long number, String name, String version) {

        public Responder {
            name = printable(name);
            version = printable(version);
        }

        private static String printable(String text) {
            String plain = text.replaceAll("\\p{Cntrl}", "?");
            return plain.length() > MAX_CHARS ? plain.substring(0, MAX_CHARS) : plain;
        }

        // written out, as hashCode is: the JVM would generate them at the first use, which is in the path of each join
        @Override
        public boolean equals(Object other) {
            return other instanceof Responder that
                    && number == that.number
                    && name.equals(that.name)
                    && version.equals(that.version);
        }

        @Override
        public int hashCode() {
            return Long.hashCode(number);
        }

        /** Returns the name with the version. */
        @Override
        public String toString() {
            return version.isEmpty() ? name : name + " " + version;
        }
    }

    /** Adds the bundles that are not in the file. For the worker itself, one thread at a time. */
    public static void add(Path worker, Collection<Responder> present, SafeFiles files) throws IOException {
        Map<Long, Responder> known = read(worker, files);
        int before = known.size();
        for (Responder each : present) {
            known.putIfAbsent(each.number(), each);
        }
        if (known.size() > before) {
            List<Responder> all = new ArrayList<>(known.values());
            StringBuilder text = new StringBuilder();
            for (Responder each : all.subList(Math.max(0, all.size() - MAX), all.size())) {
                text.append(HexFormat.of().toHexDigits(each.number()))
                        .append('\t')
                        .append(each.name())
                        .append('\t')
                        .append(each.version())
                        .append('\n');
            }
            files.replaceUnsynced(worker.resolve(FILE), text.toString().getBytes(StandardCharsets.UTF_8));
        }
    }

    /** Returns the bundles that a worker has noted, oldest first; invalid lines are skipped. */
    public static Map<Long, Responder> read(Path worker, SafeFiles files) throws IOException {
        Map<Long, Responder> known = new LinkedHashMap<>();
        byte[] bytes;
        try {
            bytes = files.readSmall(worker.resolve(FILE), MAX_BYTES);
        } catch (NoSuchFileException e) {
            return known;
        }
        for (String line : new String(bytes, StandardCharsets.UTF_8).split("\n")) {
            Matcher parts = LINE.matcher(line);
            if (parts.matches()) {
                long number = Long.parseUnsignedLong(parts.group(1), 16);
                known.put(number, new Responder(number, parts.group(2), parts.group(3)));
            }
        }
        return known;
    }
}
