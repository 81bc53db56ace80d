package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The search of the book as HTML: its index leads to places that are there, and its script finds what a reader looks for. */
@Timeout(60)
class BookSearchTest {

    private static final String CALL = "bookIndex(";
    private static final Path NODE = Path.of("/usr/bin/node");

    @TempDir
    Path root;

    @TempDir
    Path html;

    @Test
    void leadsToPlacesThatAreThere() throws IOException {
        new Book(Path.of("").toAbsolutePath().getParent()).writeTo(html);

        JsonNode index = index();
        Map<String, String> pages = new HashMap<>();
        for (JsonNode page : index.get("pages")) {
            pages.put(
                    page.get(0).asText(),
                    Files.readString(html.resolve(page.get(0).asText())));
        }
        List<String> missing = new ArrayList<>();
        for (JsonNode section : index.get("sections")) {
            String place = place(index, section);
            String[] parts = place.split("#");
            if (parts.length > 1 && !pages.get(parts[0]).contains(" id=\"" + parts[1] + "\"")) {
                missing.add(place);
            }
        }
        assertThat(missing).as("places in the index that no page has").isEmpty();
        assertThat(index.get("sections")).hasSizeGreaterThan(500);
        assertThat(pages).hasSizeGreaterThan(200);
        assertThat(placesOf("timed")).contains("operating/errors.html#TIMED_OUT");
    }

    @Test
    void hasTheWordsOfTextsCodeAndTablesAtTheirPlaces() throws IOException {
        writeBook();

        assertThat(placesOf("queue")).containsExactly("queues.html");
        assertThat(placesOf("rolls")).containsExactly("queues.html#queues-2");
        assertThat(placesOf("fenced")).containsExactly("queues.html#queues-2");
        assertThat(placesOf("max")).containsExactly("errors.html#TOO_LARGE");
        assertThat(placesOf("large")).containsExactly("errors.html#TOO_LARGE", "notes.html");
        assertThat(index().get("words").has("href")).isFalse();
    }

    @Test
    void findsTitlesFirstAndUnlistedPagesLast() throws Exception {
        writeBook();

        assertThat(found("large")).containsExactly("errors.html#TOO_LARGE", "notes.html");
        assertThat(found("closed")).containsExactly("errors.html#CLOSED", "errors.html");
        assertThat(found("TOO_LARGE")).containsExactly("errors.html#TOO_LARGE");
        assertThat(found("file rolls")).isEmpty(); // each in a section of its own
        assertThat(found("queues roll")).containsExactly("queues.html#queues-2");
        assertThat(found("queues"))
                .containsExactly("queues.html", "queues.html#queues-1", "queues.html#queues-2", "index.html");
        assertThat(found("...")).isEmpty();
    }

    private void writeBook() throws IOException {
        Path docs = Files.createDirectories(root.resolve("docs"));
        Files.writeString(docs.resolve("index.md"), """
                # Book

                **Parts**

                1. [Of queues](queues.md)
                2. [Errors](errors.md)
                """);
        Files.writeString(docs.resolve("queues.md"), """
                # Queues
                A *queue* is a [file](errors.md).
                ## Queues
                ## Queues
                It `rolls`.
                ```
                fenced
                ```
                """);
        Files.writeString(docs.resolve("errors.md"), """
                # Errors
                See [notes](notes.md) when closed.

                | code | when |
                |---|---|
                | <a id="CLOSED"></a>`CLOSED` | closed |
                | <a id="TOO_LARGE"></a>`TOO_LARGE` | above max |
                """);
        Files.writeString(docs.resolve("notes.md"), "# Large notes\nLarge.\n");
        new Book(root).writeTo(html);
    }

    private JsonNode index() throws IOException {
        String script = Files.readString(html.resolve("search-index.js"));
        assertThat(script).startsWith(CALL).endsWith(");\n");
        return new ObjectMapper().readTree(script.substring(CALL.length(), script.length() - ");\n".length()));
    }

    private List<String> placesOf(String word) throws IOException {
        JsonNode index = index();
        List<String> places = new ArrayList<>();
        int section = 0;
        for (JsonNode gap : index.get("words").get(word)) {
            section += gap.asInt();
            assertThat(section)
                    .as("number of a section with %s", word)
                    .isLessThan(index.get("sections").size());
            places.add(place(index, index.get("sections").get(section)));
        }
        return places;
    }

    private static String place(JsonNode index, JsonNode section) {
        String page = index.get("pages").get(section.get(0).asInt()).get(0).asText();
        String anchor = section.get(1).asText();
        return anchor.isEmpty() ? page : page + "#" + anchor;
    }

    /** Runs the scripts of the book as a page does, without a page. */
    private List<String> found(String query) throws Exception {
        assumeTrue(Files.isExecutable(NODE), () -> "there is no " + NODE);
        String program = "globalThis.bookIndex = loaded => globalThis.index = loaded;" //
                + Files.readString(html.resolve("search.js"))
                + Files.readString(html.resolve("search-index.js"))
                + "find(index, process.argv[2]).forEach(([place]) => console.log(place));";
        Path file = Files.writeString(html.resolve("program.js"), program);
        Process node = new ProcessBuilder(NODE.toString(), file.toString(), query)
                .redirectErrorStream(true)
                .start();
        String lines = new String(node.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(node.waitFor()).as(lines).isZero();
        return lines.lines().toList();
    }
}
