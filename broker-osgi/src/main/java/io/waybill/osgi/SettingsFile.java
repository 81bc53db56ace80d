package io.waybill.osgi;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Properties;

/**
 * A file that an operator edits: keys and values in the form of {@link Properties}, in UTF-8, with or without a byte
 * order mark. It may be a symbolic link, as in a directory that a container mounts. Trailing blanks of a value are
 * dropped. Stateless.
 */
public final class SettingsFile {

    private static final int MAX_FILE_BYTES = 1 << 20;
    private static final String BYTE_ORDER_MARK = "\uFEFF";

    private SettingsFile() {}

    /**
     * Reads a file.
     *
     * @throws NoSuchFileException if it does not exist
     * @throws IOException if it can't be read, or is no file of settings; the text names the file
     */
    public static Properties read(Path file) throws IOException {
        Properties properties = new Properties();
        try {
            properties.load(new StringReader(text(file)));
        } catch (NoSuchFileException e) {
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                throw new IOException(file + " is a link that leads to no file", e);
            }
            throw e;
        } catch (AccessDeniedException e) {
            throw new IOException(file + " can't be read by this user", e);
        } catch (CharacterCodingException e) {
            throw new IOException(file + " is not UTF-8", e);
        } catch (IllegalArgumentException e) { // invalid sequence such as \\u12
            throw new IOException(file + ": " + e.getMessage() + " A backslash is written twice: \\\\", e);
        }
        properties.replaceAll((key, value) -> ((String) value).stripTrailing());
        return properties;
    }

    private static String text(Path file) throws IOException {
        if (Files.exists(file) && !Files.isRegularFile(file)) { // opening a FIFO would wait for its writer
            throw new IOException("expected a regular file: " + file);
        }
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_FILE_BYTES + 1);
        } catch (FileSystemException e) { // its text has the file's name
            throw e;
        } catch (IOException e) { // error of a disk or a mount; the JDK's text has only the reason
            throw new IOException(file + " can't be read: " + e.getMessage(), e);
        }
        if (bytes.length > MAX_FILE_BYTES) {
            throw new IOException(file + " has more than " + MAX_FILE_BYTES + " bytes");
        }
        String text = StandardCharsets.UTF_8
                .newDecoder()
                .decode(ByteBuffer.wrap(bytes))
                .toString();
        return text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text;
    }
}
