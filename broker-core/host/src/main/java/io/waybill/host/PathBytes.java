package io.waybill.host;

import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.Arrays;

/** Encodes paths for system calls. Stateless. */
final class PathBytes {

    private static final char FIRST_NOT_ASCII = 0x80; // characters that a locale can't read are not ASCII either

    private PathBytes() {}

    /** Returns the exact bytes of a path, in any locale, ended by a zero. */
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

    /** Encodes a path as a URI does, independently of the locale; a URI reads the file system at each use. */
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

    /** Returns the bytes of the last element of a path, ended by a zero. */
    static byte[] ofName(Path path) {
        byte[] whole = of(path.toAbsolutePath());
        int start = whole.length - 1;
        while (start > 0 && whole[start - 1] != '/') {
            start--;
        }
        return Arrays.copyOfRange(whole, start, whole.length);
    }
}
