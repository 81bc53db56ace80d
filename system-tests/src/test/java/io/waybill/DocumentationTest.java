package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The book says what the code says: its excerpts, tables and links are compared. */
@Timeout(60)
class DocumentationTest {

    /** A block of code whose comment names the file that it is taken from. */
    private static final Pattern EXCERPT =
            Pattern.compile("<!-- from: (\\S+) -->\n```\\w*\n(.*?)\n```", Pattern.DOTALL);

    private static final Pattern RECORD = Pattern.compile("^# (\\d+)\\. (.*)\n\n\\*\\*Status:\\*\\* (.*)\n");
    private static final Pattern CODE = Pattern.compile("```.*?```", Pattern.DOTALL);
    private static final Pattern LINK = Pattern.compile("]\\(([^)#\\s]+)(#[^)\\s]*)?\\)");

    private final Path root = Repository.root();

    @Test
    void showsCodeAsItIsCompiled() throws IOException {
        List<String> wrong = new ArrayList<>();
        int excerpts = 0;
        for (Path page : Repository.pages(root)) {
            Matcher excerpt = EXCERPT.matcher(Files.readString(page));
            while (excerpt.find()) {
                excerpts++;
                Path source = root.resolve(excerpt.group(1));
                if (!Files.isRegularFile(source) || !Files.readString(source).contains(excerpt.group(2))) {
                    wrong.add(root.relativize(page) + " shows what " + excerpt.group(1) + " does not say:\n"
                            + excerpt.group(2));
                }
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(excerpts).isGreaterThan(5);
    }

    @Test
    void linksToPagesThatAreThere() throws IOException {
        List<String> wrong = new ArrayList<>();
        for (Path page : Repository.pages(root)) {
            Matcher link = LINK.matcher(CODE.matcher(Files.readString(page)).replaceAll(""));
            while (link.find()) {
                String to = link.group(1);
                if (!to.contains("://") && !Files.exists(page.resolveSibling(to))) {
                    wrong.add(root.relativize(page) + " -> " + to);
                }
            }
        }
        assertThat(wrong).isEmpty();
    }

    @Test
    void listsEveryPageInTheContents() throws IOException {
        String contents = Files.readString(root.resolve("docs/index.md"))
                + Files.readString(root.resolve("docs/adr/README.md")).replace("](", "](adr/");
        List<String> missing = Repository.pages(root.resolve("docs")).stream()
                .map(page -> root.resolve("docs").relativize(page).toString())
                .filter(page -> !page.equals("index.md") && !contents.contains("](" + page + ")"))
                .toList();
        assertThat(missing).isEmpty();
    }

    /** The index has a line for each record, and its status unless it is accepted. */
    @Test
    void listsEveryDecisionWithItsTitleAndStatus() throws IOException {
        List<String> expected = new ArrayList<>();
        for (Path page : Repository.pages(root.resolve("docs/adr"))) {
            Matcher record = RECORD.matcher(Files.readString(page));
            if (!page.endsWith("README.md")) {
                assertThat(record.find())
                        .as("%s begins with its title and its status", page)
                        .isTrue();
                String status = record.group(3).replaceAll("\\[(\\d+)]\\([^)]*\\)", "$1");
                expected.add("- " + record.group(1) + " [" + record.group(2) + "](" + page.getFileName() + ")"
                        + (status.startsWith("accepted") ? "" : " (" + status + ")"));
            }
        }
        assertThat(rows("docs/adr/README.md", "- .*")).containsExactlyInAnyOrderElementsOf(expected);
    }

    @Test
    void namesEveryMessageType() throws IOException {
        List<String> expected = IntStream.range(0, 0x400)
                .filter(MessageType::isKnown)
                .mapToObj(MessageType::of)
                .filter(type -> !type.name().startsWith("USER_") && !type.name().startsWith("CONTROL_"))
                .map(type -> String.format(
                        Locale.ROOT,
                        "| 0x%03x | `%s` | %s | %s |",
                        type.code(),
                        type.name(),
                        type.isRequest() ? "request" : type.isResponse() ? "response" : "neither",
                        type.response().map(response -> "`" + response + "`").orElse("-")))
                .toList();
        assertThat(rows("docs/reference/message-types.md", "\\| 0x[0-9a-f]{3} \\| `.*"))
                .containsExactlyInAnyOrderElementsOf(expected);
    }

    @Test
    void namesEveryErrorCode() throws IOException {
        List<String> expected = IntStream.range(0, ErrorCode.values().length)
                .mapToObj(i -> ErrorCode.values()[i])
                .map(code -> "| <a id=\"" + code + "\"></a>`" + code + "` | " + code.number() + " | "
                        + code.blame().name().toLowerCase(Locale.ROOT) + " |")
                .toList();
        List<String> found = rows("docs/operating/errors.md", "\\| .*`[A-Z_]+` \\| \\d.*").stream()
                .map(row -> row.replaceAll("^((?:\\|[^|]*){3}\\|).*", "$1"))
                .toList();
        assertThat(found).containsExactlyElementsOf(expected);
    }

    @Test
    void showsCallsAsTheyAreEncoded() throws IOException {
        ValueEncoder call = new ValueEncoder();
        new Invocation("text.count", List.of(), Map.of("text", Value.of("to be"))).encode(call);
        ValueEncoder response = new ValueEncoder();
        response.value(new Value.Dict(Map.of(Value.of("words"), Value.of(2))));
        String page = Files.readString(root.resolve("docs/reference/values.md"));
        String bytes = page.replaceAll("  +[a-z\"].*", "").replaceAll("\\s+", " ");
        assertThat(bytes).contains(HexFormat.ofDelimiter(" ").formatHex(call.toBytes()));
        assertThat(bytes).contains(HexFormat.ofDelimiter(" ").formatHex(response.toBytes()));
        assertThat(page).contains(call.length() + " bytes");
    }

    private List<String> rows(String page, String form) throws IOException {
        return Files.readAllLines(root.resolve(page)).stream()
                .filter(line -> line.matches(form))
                .toList();
    }
}
