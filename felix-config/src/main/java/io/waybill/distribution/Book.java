package io.waybill.distribution;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The book as HTML: its contents, and each page and file of the checkout that is reached from there by links. A link that leads nowhere fails the
 * build. Each page has the contents as a sidebar, those that the contents list have links to the next and the previous one, and a script searches all.
 */
final class Book {

    private static final Path CONTENTS = Path.of("docs/index.md");
    private static final List<String> RESOURCES = List.of("book.css", "search.js");
    private static final String PAGE = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
            <title>%1$s - Waybill</title>
            <link rel="stylesheet" href="%2$sbook.css"><script src="%2$ssearch.js" data-root="%2$s" defer></script></head><body>
            <nav class="contents" aria-label="Contents">
            <a href="%2$sindex.html">The Waybill book</a>
            <form role="search" hidden><input type="search" placeholder="Search (press /)" aria-label="Search the book"><ol></ol></form>
            %3$s</nav>
            <main>
            %4$s%5$s</main></body></html>
            """;

    private final Path root;
    private final Map<Path, BookPage> pages = new TreeMap<>();
    private final Set<Path> files = new HashSet<>();
    private final BookContents contents;

    Book(Path root) throws IOException {
        this.root = root;
        Deque<Path> found = new ArrayDeque<>(List.of(CONTENTS));
        while (!found.isEmpty()) {
            Path file = found.pop();
            if (!file.toString().endsWith(".md")) {
                files.add(file);
            } else if (!pages.containsKey(file)) {
                BookPage page = new BookPage(file, Files.readString(root.resolve(file)));
                pages.put(file, page);
                page.targets().stream()
                        .map(BookPage.Target::file)
                        .filter(target -> Files.isRegularFile(root.resolve(target)))
                        .forEach(found::add);
            }
        }
        this.contents = new BookContents(pages.get(CONTENTS));
    }

    void writeTo(Path directory) throws IOException {
        List<String> dead = deadLinks();
        if (!dead.isEmpty()) {
            throw new IOException("dead links in the book:\n" + String.join("\n", dead));
        }
        for (BookPage page : pages.values()) {
            Files.writeString(made(directory.resolve(BookPage.place(page.file()))), html(page));
        }
        for (Path file : files) {
            Files.copy(root.resolve(file), made(directory.resolve(BookPage.place(file))));
        }
        for (String resource : RESOURCES) {
            try (InputStream in = Book.class.getResourceAsStream(resource)) {
                Files.copy(in, directory.resolve(resource));
            }
        }
        Files.writeString(directory.resolve("search-index.js"), index());
    }

    /** Returns the links to a file or an anchor that is not there, each with its page. */
    List<String> deadLinks() {
        List<String> dead = new ArrayList<>();
        for (BookPage page : pages.values()) {
            for (BookPage.Target target : page.targets()) {
                BookPage other = pages.get(target.file());
                boolean there = other == null
                        ? files.contains(target.file())
                        : target.anchor().isEmpty() || other.anchors().contains(target.anchor());
                if (!there) {
                    dead.add(page.file() + " -> " + target);
                }
            }
        }
        return dead;
    }

    private String html(BookPage page) {
        Path file = page.file();
        String toRoot = "../".repeat(BookPage.place(file).getNameCount() - 1);
        String neighbours =
                neighbour(page, "prev", contents.previous(file)) + neighbour(page, "next", contents.next(file));
        return String.format(
                Locale.ROOT,
                PAGE,
                escaped(page.title()),
                toRoot,
                contents.sidebar(file),
                page.body(),
                neighbours.isEmpty()
                        ? ""
                        : "<nav class=\"neighbours\" aria-label=\"Pages\">" + neighbours + "</nav>\n");
    }

    private String neighbour(BookPage page, String relation, Optional<Path> neighbour) {
        return neighbour
                .map(file -> "<a rel=\"" + relation + "\" href=\"" + BookPage.link(page.file(), file) + "\">"
                        + escaped(pages.get(file).title()) + "</a>")
                .orElse("");
    }

    private String index() throws IOException {
        List<Path> listed = contents.order();
        List<BookPage> ordered = Stream.concat(
                        listed.stream(), pages.keySet().stream().filter(file -> !listed.contains(file)))
                .map(pages::get)
                .toList();
        return new BookIndex(ordered).script(listed.size());
    }

    private static Path made(Path file) throws IOException {
        Files.createDirectories(file.getParent());
        return file;
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }
}
