package io.waybill.distribution;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The book as HTML: its contents, and each page and file of the checkout that is reached from there by links. A link that leads nowhere fails the
 * build.
 */
final class Book {

    private static final Path CONTENTS = Path.of("docs/index.md");

    private final Path root;
    private final Map<Path, BookPage> pages = new LinkedHashMap<>();
    private final Set<Path> files = new HashSet<>();

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
    }

    void writeTo(Path directory) throws IOException {
        List<String> dead = deadLinks();
        if (!dead.isEmpty()) {
            throw new IOException("dead links in the book:\n" + String.join("\n", dead));
        }
        for (BookPage page : pages.values()) {
            Path target = directory.resolve(BookPage.place(page.file()));
            Files.createDirectories(target.getParent());
            Files.writeString(target, page.html());
        }
        for (Path file : files) {
            Path target = directory.resolve(BookPage.place(file));
            Files.createDirectories(target.getParent());
            Files.copy(root.resolve(file), target);
        }
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
}
