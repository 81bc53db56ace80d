package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The book as HTML has each page of the book, the contents beside it, and no link that leads nowhere. */
@Timeout(60)
class BookTest {

    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    private static final Pattern LINK = Pattern.compile(" (?:href|src)=\"(?![a-z]+:)([^\"]+)\"");
    private static final Pattern ID = Pattern.compile(" id=\"([^\"]+)\"");
    private static final Pattern NEIGHBOUR = Pattern.compile("<a rel=\"([a-z]+)\" href=\"([^\"]+)\">(.+?)</a>");

    @TempDir
    Path directory;

    @Test
    void hasEachPageAndNoDeadLink() throws IOException {
        Path html = directory.resolve("html");
        new Book(ROOT).writeTo(html);

        List<String> missing;
        try (Stream<Path> pages = Files.walk(ROOT.resolve("docs"))) {
            missing = pages.filter(page -> page.toString().endsWith(".md"))
                    .map(page -> ROOT.resolve("docs").relativize(page).toString())
                    .map(page -> page.replaceFirst("\\.md$", ".html"))
                    .filter(page -> !Files.isRegularFile(html.resolve(page)))
                    .toList();
        }
        assertThat(missing).isEmpty();
        assertThat(Files.readString(html.resolve("operating/errors.html")))
                .contains("<a id=\"TIMED_OUT\"></a>")
                .contains("href=\"../index.html\"")
                .contains("<title>Errors by code - Waybill</title>");
        assertThat(Files.readString(html.resolve("index.html"))).contains("href=\"operating/errors.html\"");
        assertThat(deadLinks(html)).as("links of the HTML that lead nowhere").isEmpty();
    }

    @Test
    void hasTheContentsBesideEachPageAndItsNeighboursBelow() throws IOException {
        write("docs/index.md", """
                # Book
                In reading order.

                **First** - of all

                1. [A](part/a.md)
                2. [B](b.md), and [B's end](b.md#end)

                **Second**

                1. [A](part/a.md)
                2. [C](c.md)
                """);
        write("docs/part/a.md", "# The a\n");
        write("docs/b.md", "# The `b`\n## End\n[d](d.md)\n");
        write("docs/c.md", "# The c & more\n");
        write("docs/d.md", "# The d\n");

        new Book(directory).writeTo(directory.resolve("html"));

        assertThat(contentsIn("part/a.html")).isEqualTo("""
                <details open><summary><strong>First</strong></summary>
                <ol>
                <li><a href="a.html" aria-current="page">A</a></li>
                <li><a href="../b.html">B</a>, and <a href="../b.html#end">B's end</a></li>
                </ol>
                </details>
                <details open><summary><strong>Second</strong></summary>
                <ol>
                <li><a href="a.html" aria-current="page">A</a></li>
                <li><a href="../c.html">C</a></li>
                </ol>
                </details>
                """);
        assertThat(contentsIn("b.html"))
                .contains("<details open><summary><strong>First", "<details><summary><strong>Second");
        assertThat(contentsIn("d.html"))
                .contains("<li><a href=\"b.html\">B</a>")
                .doesNotContain("open", "aria-current");
        assertThat(neighboursIn("index.html")).containsExactly("next part/a.html The a");
        assertThat(neighboursIn("part/a.html")).containsExactly("prev ../index.html Book", "next ../b.html The b");
        assertThat(neighboursIn("b.html")).containsExactly("prev part/a.html The a", "next c.html The c &amp; more");
        assertThat(neighboursIn("c.html")).containsExactly("prev b.html The b");
        assertThat(neighboursIn("d.html")).isEmpty();
    }

    @Test
    void reachesPagesBesideTheBookAndFiles() throws IOException {
        write("docs/index.md", "# Book\n[a](part/a.md#some-title)\n");
        write(
                "docs/part/a.md",
                "# A\n## Some title\n[license](../../LICENSE), [example](../../examples/x/README.md)\n");
        write("examples/x/README.md", "# X\n[back](../../docs/index.md) [there](https://example.org/x.md)\n");
        write("LICENSE", "text");

        new Book(directory).writeTo(directory.resolve("html"));

        assertThat(directory.resolve("html/checkout/LICENSE")).hasContent("text");
        assertThat(directory.resolve("html/part/a.html"))
                .content()
                .contains("href=\"../checkout/LICENSE\"", "href=\"../checkout/examples/x/README.html\"");
        assertThat(directory.resolve("html/checkout/examples/x/README.html"))
                .content()
                .contains("href=\"../../../index.html\"", "href=\"https://example.org/x.md\"");
    }

    @Test
    void refusesLinksThatLeadNowhere() throws IOException {
        write("docs/index.md", "# Book\n[a](a.md#other) [b](missing.md) [c](#here)\n");
        write("docs/a.md", "# A\n");

        Book book = new Book(directory);

        assertThat(book.deadLinks())
                .containsExactlyInAnyOrder(
                        "docs/index.md -> docs/a.md#other",
                        "docs/index.md -> docs/missing.md",
                        "docs/index.md -> docs/index.md#here");
        assertThatThrownBy(() -> book.writeTo(directory.resolve("html")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("docs/index.md -> docs/missing.md");
    }

    private String contentsIn(String page) throws IOException {
        String html = Files.readString(directory.resolve("html").resolve(page));
        return html.substring(html.indexOf("</form>\n") + "</form>\n".length(), html.indexOf("</nav>"));
    }

    private List<String> neighboursIn(String page) throws IOException {
        return NEIGHBOUR
                .matcher(Files.readString(directory.resolve("html").resolve(page)))
                .results()
                .map(found -> found.group(1) + " " + found.group(2) + " " + found.group(3))
                .toList();
    }

    /** Returns the links and sources of pages, those beside and below their texts too, whose file or anchor is not there. */
    private static Set<String> deadLinks(Path html) throws IOException {
        Map<Path, String> texts = new HashMap<>();
        Map<Path, Set<String>> anchors = new HashMap<>();
        try (Stream<Path> files = Files.walk(html)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String text = file.toString().endsWith(".html") ? Files.readString(file) : "";
                texts.put(file, text);
                anchors.put(file, matches(ID, text).collect(Collectors.toSet()));
            }
        }
        Set<String> dead = new TreeSet<>();
        texts.forEach((file, text) -> matches(LINK, text).distinct().forEach(link -> {
            String[] parts = link.split("#");
            Set<String> found = anchors.get(file.resolveSibling(parts[0]).normalize());
            if (found == null || parts.length > 1 && !found.contains(parts[1])) {
                dead.add(html.relativize(file) + ": " + link);
            }
        }));
        return dead;
    }

    private static Stream<String> matches(Pattern pattern, String text) {
        return pattern.matcher(text).results().map(found -> found.group(1));
    }

    private void write(String file, String content) throws IOException {
        Path path = directory.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, content);
    }
}
