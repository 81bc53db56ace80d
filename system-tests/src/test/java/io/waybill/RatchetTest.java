package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class RatchetTest {

    private static final Predicate<String> UNKNOWN = path -> false;

    @TempDir
    private Path root;

    @BeforeEach
    void writesTwoFiles() throws IOException {
        write("Short", "class Short {}");
        write("Long", """
                class Long {
                    Long(int a, int b) {}
                    void six(int a, int b, int c, int d, int e, int f) {}
                    record Data(int a, int b, int c, int d, int e, int f) {
                        Data(int a, int b, int c, int d, int e, int f) {}
                    }
                    interface Wide { void seven(int a, int b, int c, int d, int e, int f, int g); }
                    Wide wide = new Wide() {
                        @Override
                        public void seven(int a, int b, int c, int d, int e, int f, int g) {}
                    };
                }
                """);
    }

    @Test
    void countsWhatAnAuthorDecides() throws IOException {
        assertThat(SourceSizes.of(root).methods())
                .extracting(Object::toString)
                .containsExactlyInAnyOrder("Long.(constructor) has 2", "Long.six has 6", "Long.Wide.seven has 7");
    }

    @Test
    void takesTheValuesThatItWrites() throws IOException {
        Ratchet ratchet = new Ratchet(SourceSizes.of(root));
        assertThat(ratchet.problems(values(ratchet.text()), UNKNOWN)).isEmpty();
    }

    @Test
    void refusesAHigherValueAndNamesWhatChanged() throws IOException {
        Properties accepted = values(new Ratchet(SourceSizes.of(root)).text());
        accepted.setProperty("file.lines.p90", "11");
        accepted.setProperty("methods.above.5.parameters", "1");
        assertThat(new Ratchet(SourceSizes.of(root)).problems(accepted, path -> path.endsWith("Short.java")))
                .containsExactly(
                        "p90 of files is 12 lines, at most 11; the largest that changed: Short has 1",
                        "methods of more than 5 parameters are 2, at most 1; the largest: Long.Wide.seven has 7, Long.six has 6");
    }

    @Test
    void asksForALowerValueWhenItIsFarBelow() throws IOException {
        Properties accepted = values(new Ratchet(SourceSizes.of(root)).text());
        accepted.setProperty("file.lines.p90", "17");
        assertThat(problems(accepted)).isEmpty();
        accepted.setProperty("file.lines.p90", "18");
        assertThat(problems(accepted))
                .containsExactly("p90 of files is 12 lines, and may still be 18: write the new value");
    }

    private List<String> problems(Properties accepted) throws IOException {
        return new Ratchet(SourceSizes.of(root)).problems(accepted, UNKNOWN);
    }

    private static Properties values(String text) throws IOException {
        Properties values = new Properties();
        values.load(new StringReader(text));
        return values;
    }

    private void write(String name, String text) throws IOException {
        Path directory = Files.createDirectories(root.resolve("src/main/java/p"));
        Files.writeString(directory.resolve(name + ".java"), text);
    }
}
