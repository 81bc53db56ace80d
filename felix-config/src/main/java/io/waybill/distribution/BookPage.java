package io.waybill.distribution;

import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** A page of the book, parsed. Its links between files of the checkout are those between the files of the book. */
final class BookPage {

    /** A file of the checkout, by its path from the root, that a page links to; the anchor is empty for the file as a whole. */
    record Target(Path file, String anchor) {
        @Override
        public String toString() {
            return anchor.isEmpty() ? file.toString() : file + "#" + anchor;
        }
    }

    private static final List<Extension> EXTENSIONS =
            List.of(TablesExtension.create(), HeadingAnchorExtension.create());
    private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();
    private static final HtmlRenderer RENDERER =
            HtmlRenderer.builder().extensions(EXTENSIONS).build();
    private static final Pattern ANCHOR = Pattern.compile(" id=\"([^\"]+)\"");
    private static final Pattern TITLE = Pattern.compile("(?m)^# (.+)$");
    private static final Path BOOK = Path.of("docs");
    private static final Path OTHERS = Path.of("checkout");
    private static final String STYLE = """
            body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 system-ui,sans-serif;color:#1b1f24;background:#fff}
            a{color:#0550ae}code{font:.9em ui-monospace,monospace;background:#f1f3f5;padding:.1em .25em;border-radius:3px}
            pre{background:#f1f3f5;padding:.8rem;overflow-x:auto;border-radius:4px}pre code{padding:0;background:none}
            table{border-collapse:collapse;display:block;overflow-x:auto}th,td{border:1px solid #d0d7de;padding:.3rem .6rem;text-align:left;vertical-align:top}
            img{max-width:100%}nav{font-size:.9rem;margin-bottom:1.5rem}
            @media(prefers-color-scheme:dark){body{color:#dfe3e8;background:#15181c}a{color:#79b8ff}code,pre{background:#22262c}th,td{border-color:#3a4048}}
            @media print{nav{display:none}body{max-width:none}}
            """;

    private final Path file;
    private final String title;
    private final String body;
    private final List<Target> targets = new ArrayList<>();
    private final Set<String> anchors;

    BookPage(Path file, String markdown) {
        this.file = file;
        this.title = TITLE.matcher(markdown)
                .results()
                .map(found -> found.group(1).replace("`", ""))
                .findFirst()
                .orElse(file.toString());
        Node document = PARSER.parse(markdown);
        document.accept(new AbstractVisitor() {
            @Override
            public void visit(Link link) {
                link.setDestination(moved(link.getDestination()));
                visitChildren(link);
            }

            @Override
            public void visit(Image image) {
                image.setDestination(moved(image.getDestination()));
            }
        });
        this.body = RENDERER.render(document);
        this.anchors = ANCHOR.matcher(body)
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(HashSet::new));
    }

    Path file() {
        return file;
    }

    List<Target> targets() {
        return targets;
    }

    Set<String> anchors() {
        return anchors;
    }

    /** Notes a link within the checkout, and returns where it leads in the book; others stay as they are. */
    private String moved(String destination) {
        URI link = URI.create(destination);
        if (link.isAbsolute()) {
            return destination;
        }
        Path to = link.getPath().isEmpty()
                ? file
                : file.resolveSibling(link.getPath()).normalize();
        String anchor = link.getFragment() == null ? "" : link.getFragment();
        targets.add(new Target(to, anchor));
        return toHere(to) + (anchor.isEmpty() ? "" : "#" + link.getRawFragment());
    }

    private String toHere(Path to) {
        Path here = place(file);
        return here.equals(place(to))
                ? here.getFileName().toString()
                : Path.of("/")
                        .resolve(here)
                        .getParent()
                        .relativize(Path.of("/").resolve(place(to)))
                        .toString();
    }

    /** Returns where a file of the checkout is in the book. */
    static Path place(Path file) {
        Path placed = file.startsWith(BOOK) ? BOOK.relativize(file) : OTHERS.resolve(file);
        return Path.of(placed.toString().replaceFirst("\\.md$", ".html"));
    }

    String html() {
        return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                + "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>" + escaped(title)
                + " - Waybill</title>\n<style>\n" + STYLE + "</style></head><body>\n<nav><a href=\""
                + toHere(Path.of("docs/index.md"))
                + "\">The Waybill book</a></nav>\n" + body + "</body></html>\n";
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }
}
