package io.waybill.distribution;

import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Heading;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** A page of the book, parsed. Its links between files of the checkout become those between the files of the book. */
final class BookPage {

    /**
     * A file of the checkout, by its path from the root, that a page links to; the anchor is empty for the file as a
     * whole.
     */
    record Target(Path file, String anchor) {
        @Override
        public String toString() {
            return anchor.isEmpty() ? file.toString() : file + "#" + anchor;
        }
    }

    private static final List<Extension> EXTENSIONS =
            List.of(TablesExtension.create(), HeadingAnchorExtension.create());
    private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();
    private static final Pattern ANCHOR = Pattern.compile(" id=\"([^\"]+)\"");
    private static final Path BOOK = Path.of("docs");
    private static final Path OTHERS = Path.of("checkout");

    private final Path file;
    private final Node document;
    private final String title;
    private final String body;
    private final List<Target> targets = new ArrayList<>();
    private final Set<String> anchors;
    private final List<BookSection> sections;

    BookPage(Path file, String markdown) {
        this.file = file;
        this.document = PARSER.parse(markdown);
        document.accept(new AbstractVisitor() {
            @Override
            public void visit(Link link) {
                note(link.getDestination());
                visitChildren(link);
            }

            @Override
            public void visit(Image image) {
                note(image.getDestination());
            }
        });
        Map<Node, String> ids = new HashMap<>();
        this.title = document.getFirstChild() instanceof Heading heading ? BookSection.text(heading) : file.toString();
        this.body = rendered(document, file, ids);
        this.anchors = ANCHOR.matcher(body)
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(HashSet::new));
        this.sections = BookSection.of(document, title, ids);
    }

    Path file() {
        return file;
    }

    Node document() {
        return document;
    }

    String title() {
        return title;
    }

    String body() {
        return body;
    }

    List<Target> targets() {
        return targets;
    }

    Set<String> anchors() {
        return anchors;
    }

    List<BookSection> sections() {
        return sections;
    }

    /** Renders a part of this page as it stands in the page of another file. */
    String rendered(Node part, Path reader) {
        return rendered(part, reader, new HashMap<>());
    }

    /** Returns where a file of the checkout is in the book. */
    static Path place(Path file) {
        Path placed = file.startsWith(BOOK) ? BOOK.relativize(file) : OTHERS.resolve(file);
        return Path.of(placed.toString().replaceFirst("\\.md$", ".html"));
    }

    /** Returns a link from the page of one file to that of another, or to itself. */
    static String link(Path from, Path to) {
        Path here = Path.of("/").resolve(place(from));
        Path there = Path.of("/").resolve(place(to));
        return here.equals(there)
                ? here.getFileName().toString()
                : here.getParent().relativize(there).toString();
    }

    /** Renders a part, notes the ids of its headings, and marks links to the reading page itself. */
    private String rendered(Node part, Path reader, Map<Node, String> ids) {
        String itself = link(reader, reader);
        return HtmlRenderer.builder()
                .extensions(EXTENSIONS)
                .attributeProviderFactory(context -> (node, tag, attributes) -> {
                    attributes.computeIfPresent("href", (name, destination) -> moved(destination, reader));
                    attributes.computeIfPresent("src", (name, destination) -> moved(destination, reader));
                    if (itself.equals(attributes.get("href"))) {
                        attributes.put("aria-current", "page");
                    }
                    if (node instanceof Heading) {
                        ids.put(node, attributes.get("id"));
                    }
                })
                .build()
                .render(part);
    }

    private void note(String destination) {
        URI link = URI.create(destination);
        if (!link.isAbsolute()) {
            targets.add(new Target(file(link), link.getFragment() == null ? "" : link.getFragment()));
        }
    }

    /** Returns a link of this page as the page of a file has it; those that leave the checkout stay as they are. */
    private String moved(String destination, Path reader) {
        URI link = URI.create(destination);
        if (link.isAbsolute()) {
            return destination;
        }
        return link(reader, file(link)) + (link.getRawFragment() == null ? "" : "#" + link.getRawFragment());
    }

    private Path file(URI link) {
        return link.getPath().isEmpty()
                ? file
                : file.resolveSibling(link.getPath()).normalize();
    }
}
