package io.waybill.host;

import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.Arrays;

/** Paths as system calls take them. Stateless. */
final class PathBytes {

    private static final char FIRST_NOT_ASCII = 0x80; // what a locale can't read is no ASCII either

    private PathBytes() {}

    /** The exact bytes of a path, whatever the locale, ended by a zero. */
    static byte[] of(Path path) {
        String text = path.toString();
        byte[] plain = new byte[text.length() + 1];
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) >= FIRST_NOT_ASCII || text.charAt(i) == 0) {
                return ofAny(path.toAbsolutePath());
            }
            plain[i] = (byte) text.charAt(i);
        }
        return plain;
    }

    /** Takes a URI's way around the locale, which looks at the file system at each use. */
    private static byte[] ofAny(Path path) {
        String raw = path.toUri().getRawPath();
        int end = raw.length() > 1 && raw.endsWith("/") ? raw.length() - 1 : raw.length();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(end + 1);
        for (int i = 0; i < end; i++) {
            char c = raw.charAt(i);
            if (c == '%') {
                bytes.write(Integer.parseInt(raw.substring(i + 1, i + 3), 16));
                i += 2;
            } else {
                bytes.write(c);
            }
        }
        bytes.write(0);
        return bytes.toByteArray();
    }

    /** The bytes of the last element of a path, ended by a zero. */
    static byte[] ofName(Path path) {
        byte[] whole = of(path.toAbsolutePath());
        int start = whole.length - 1;
        while (start > 0 && whole[start - 1] != '/') {
            start--;
        }
        return Arrays.copyOfRange(whole, start, whole.length);
    }
}
