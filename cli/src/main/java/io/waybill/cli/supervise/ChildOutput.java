package io.waybill.cli.supervise;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Reads the output of a process, line by line, up to its end. Very long lines are truncated. Stateless. */
final class ChildOutput {

    private static final int MAX_LINE_CHARS = 4096;

    private ChildOutput() {}

    static void read(InputStream stream, Consumer<String> lines) {
        StringBuilder line = new StringBuilder();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
            for (int c = in.read(); c >= 0; c = in.read()) {
                if (c == '\n') {
                    lines.accept(line.toString());
                    line.setLength(0);
                } else if (line.length() < MAX_LINE_CHARS) {
                    line.append((char) c);
                }
            }
        } catch (IOException e) {
            // treated as its end
        }
        if (line.length() > 0) {
            lines.accept(line.toString());
        }
    }
}
