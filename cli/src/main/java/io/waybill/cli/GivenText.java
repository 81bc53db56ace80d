package io.waybill.cli;

import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The arguments and environment variables of this process, as bytes. Java decodes them by the locale and replaces
 * invalid bytes; a command must not continue with altered text. Stateless.
 */
final class GivenText {

    /** Environment variables that name a path. */
    private static final List<String> PATHS =
            List.of("WAYBILL_HOME", "XDG_STATE_HOME", "HOME", "WAYBILL_LOGBACK", "TMPDIR");

    private static final String WHAT_TO_DO =
            "; write it in UTF-8, or start bin/waybill, which finds a locale of that encoding";

    private GivenText() {}

    /** Describes text of this process that Java could not decode, in one line; empty if it decoded all of it. */
    static Optional<String> misread(String[] args, Map<String, String> environment) {
        Optional<String> argument =
                isAscii(String.join("", args)) ? Optional.empty() : misreadArgument(args, read("cmdline"));
        return argument.isPresent() ? argument : misreadVariable(environment);
    }

    /** Returns the first argument that differs from the last entries of the command line. */
    static Optional<String> misreadArgument(String[] args, List<byte[]> given) {
        int first = given.size() - args.length;
        for (int i = 0; i < args.length && first >= 0; i++) {
            if (!isSame(args[i], given.get(first + i))) {
                return Optional.of("argument " + (i + 1) + ": expected UTF-8, found '" + args[i] + "'" + WHAT_TO_DO);
            }
        }
        return Optional.empty();
    }

    private static Optional<String> misreadVariable(Map<String, String> environment) {
        for (String name : PATHS) {
            String value = environment.getOrDefault(name, "");
            byte[] written = (name + "=" + value).getBytes(StandardCharsets.UTF_8);
            if (!isAscii(value) && read("environ").stream().noneMatch(entry -> Arrays.equals(entry, written))) {
                return Optional.of(name + ": expected UTF-8, found '" + value + "'" + WHAT_TO_DO);
            }
        }
        return Optional.empty();
    }

    private static boolean isAscii(String text) {
        return text.chars().allMatch(c -> c < 0x80);
    }

    private static boolean isSame(String text, byte[] given) {
        return Arrays.equals(text.getBytes(StandardCharsets.UTF_8), given);
    }

    /** Returns the zero-terminated entries of a file of this process in /proc; none if there is no such file. */
    private static List<byte[]> read(String file) {
        List<byte[]> entries = new ArrayList<>();
        ByteArrayOutputStream entry = new ByteArrayOutputStream();
        try (FileInputStream in = new FileInputStream("/proc/self/" + file)) {
            for (byte next : in.readAllBytes()) {
                if (next == 0) {
                    entries.add(entry.toByteArray());
                    entry.reset();
                } else {
                    entry.write(next);
                }
            }
            return entries;
        } catch (IOException e) {
            return List.of(); // without /proc a comparison is impossible
        }
    }
}
