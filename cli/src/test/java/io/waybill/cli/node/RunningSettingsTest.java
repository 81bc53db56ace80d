package io.waybill.cli.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.admin.SettingChange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RunningSettingsTest {

    @TempDir
    Path directory;

    private final List<NodeSettings> taken = new ArrayList<>();
    private Path file;
    private RunningSettings settings;

    @BeforeEach
    void start() throws IOException {
        file = Files.writeString(directory.resolve("waybill.properties"), "retention.max-age = 7h\n");
        settings = new RunningSettings(directory);
    }

    private List<SettingChange> reload(String text) throws IOException {
        Files.writeString(file, text);
        return settings.reload(taken::add);
    }

    @Test
    void takesOverWhatCanChangeAndNamesTheRest() throws IOException {
        String text = "retention.max-age = 1h\njournal.durability = each\n";
        SettingChange restart = new SettingChange("journal.durability", "process", "each", false);
        assertThat(reload(text)).containsExactly(restart, new SettingChange("retention.max-age", "7h", "1h", true));
        assertThat(taken).hasSize(1);
        assertThat(taken.get(0).worker().retention().maxAge()).isEqualTo(Duration.ofHours(1));
        assertThat(reload(text)).as("what needs a restart still does").containsExactly(restart);
        assertThat(taken).hasSize(1);
    }

    @Test
    void returnsToTheDefaultOfASettingThatIsGone() throws IOException {
        assertThat(reload("")).containsExactly(new SettingChange("retention.max-age", "7h", "0", true));
        assertThat(taken.get(0).worker().retention().maxAge()).isZero();
        assertThat(reload("")).isEmpty();
    }

    @Test
    void takesNothingOverFromAFileWithAMistake() throws IOException {
        assertThatThrownBy(() -> reload("retention.max-age = 1h\nretention.max-cycles = some\n"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("retention.max-cycles must be a whole number: some");
        assertThat(taken).isEmpty();
        assertThat(reload("retention.max-age = 7h\n")).isEmpty();
    }

    @Test
    void namesSettingsOfTheFramework() throws IOException {
        Files.writeString(directory.resolve("framework.properties"), "felix.log.level = 4\n");
        assertThat(settings.reload(taken::add))
                .containsExactly(new SettingChange("framework.properties felix.log.level", "", "4", false));
        assertThat(taken).isEmpty();
    }

    /** The book says which these are. */
    @Test
    void isDocumented() throws IOException {
        String page = Files.readString(Path.of("../docs/operating/configuration.md"));
        String listed = page.substring(page.indexOf("## Changing settings"));
        listed = listed.substring(0, listed.indexOf("\n## ", 1));
        List<String> names = new ArrayList<>();
        Pattern.compile("`([a-z]+\\.[a-z-]+)`")
                .matcher(listed)
                .results()
                .map(found -> found.group(1))
                .filter(NodeSettings.TABLE.pairs(3)::containsKey)
                .forEach(names::add);
        assertThat(names).containsExactlyInAnyOrderElementsOf(RunningSettings.LIVE);
    }
}
