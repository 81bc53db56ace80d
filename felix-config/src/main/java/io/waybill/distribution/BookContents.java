package io.waybill.distribution;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.commonmark.node.ListBlock;
import org.commonmark.node.Node;
import org.commonmark.node.Paragraph;

/** The contents of the book: in which order its pages are read, and the sidebar of each. */
final class BookContents {

    private final BookPage contents;
    private final List<Path> order;

    /** Takes the page with the contents: paragraphs that begin with a group's title, each with a list of links below. */
    BookContents(BookPage contents) {
        this.contents = contents;
        this.order = Stream.concat(
                        Stream.of(contents.file()), contents.targets().stream().map(BookPage.Target::file))
                .filter(file -> file.toString().endsWith(".md"))
                .distinct()
                .toList();
    }

    /** Returns the contents themselves, then each page where it is first listed. */
    List<Path> order() {
        return order;
    }

    Optional<Path> previous(Path page) {
        int at = order.indexOf(page);
        return at > 0 ? Optional.of(order.get(at - 1)) : Optional.empty();
    }

    Optional<Path> next(Path page) {
        int at = order.indexOf(page);
        return at >= 0 && at + 1 < order.size() ? Optional.of(order.get(at + 1)) : Optional.empty();
    }

    /** Returns the groups with their links as HTML, those open that list the page. */
    String sidebar(Path page) {
        StringBuilder sidebar = new StringBuilder();
        for (Node node = contents.document().getFirstChild(); node != null; node = node.getNext()) {
            if (node instanceof ListBlock && node.getPrevious() instanceof Paragraph title) {
                String links = contents.rendered(node, page);
                sidebar.append(links.contains("aria-current") ? "<details open>" : "<details>")
                        .append("<summary>")
                        .append(contents.rendered(title.getFirstChild(), page))
                        .append("</summary>\n")
                        .append(links)
                        .append("</details>\n");
            }
        }
        return sidebar.toString();
    }
}
