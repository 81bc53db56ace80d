package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The book as HTML has each page of the book, and no link that leads nowhere. */
@Timeout(60)
class BookTest {

    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

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

    private void write(String file, String content) throws IOException {
        Path path = directory.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, content);
    }
}
