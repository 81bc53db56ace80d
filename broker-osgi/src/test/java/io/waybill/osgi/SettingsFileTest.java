package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class SettingsFileTest {

    @TempDir
    Path directory;

    private Path file(String text) throws Exception {
        return Files.writeString(directory.resolve("a.cfg"), text, StandardCharsets.UTF_8);
    }

    @Test
    void mayBeginWithAByteOrderMarkAndHaveLinesOfAnySystem() throws Exception {
        assertThat(SettingsFile.read(file("\uFEFFlisten = grün \t\r\n\r\n# note\r\nother=1\r\n")))
                .isEqualTo(Map.of("listen", "grün", "other", "1"));
        assertThat(SettingsFile.read(file("\uFEFF"))).isEmpty();
    }

    @Test
    void mayBeALinkToAFile() throws Exception {
        Path link = Files.createSymbolicLink(directory.resolve("link.cfg"), file("a = 1"));
        assertThat(SettingsFile.read(link)).isEqualTo(Map.of("a", "1"));
        Path nowhere = Files.createSymbolicLink(directory.resolve("nowhere.cfg"), directory.resolve("nothing"));
        assertThatThrownBy(() -> SettingsFile.read(nowhere)).hasMessage(nowhere + " is a link that leads to no file");
        assertThatThrownBy(() -> SettingsFile.read(directory.resolve("nothing")))
                .isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void saysWhatIsWrongWithWhichFile() throws Exception {
        Path file = file("listen = C:\\venv\\u12");
        assertThatThrownBy(() -> SettingsFile.read(file))
                .hasMessage(file + ": Malformed \\uxxxx encoding. A backslash is written twice: \\\\");
        Files.write(file, new byte[] {'a', '=', (byte) 0xff});
        assertThatThrownBy(() -> SettingsFile.read(file)).hasMessage(file + " is not UTF-8");
        Files.write(file, new byte[(1 << 20) + 1]);
        assertThatThrownBy(() -> SettingsFile.read(file)).hasMessage(file + " has more than 1048576 bytes");
        assertThatThrownBy(() -> SettingsFile.read(directory)).hasMessage("expected a regular file: " + directory);
    }
}
