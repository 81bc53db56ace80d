package io.waybill.distribution;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Heading;
import org.commonmark.node.HtmlInline;
import org.commonmark.node.IndentedCodeBlock;
import org.commonmark.node.Node;
import org.commonmark.node.Text;

/**
 * Result of the search of the book: the text from a heading, or from an anchor such as that of an error code, to the next one.
 *
 * @param anchor of the section in its page; empty for the beginning of the page
 * @param words in lower case
 */
record BookSection(String anchor, String title, Set<String> words) {

    /** A word, as {@code wordsOf} of search.js splits a query. */
    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}]+");

    private static final Pattern ANCHOR = Pattern.compile("<a id=\"([^\"]+)\">");

    /** Returns the sections of a page, whose headings have ids. */
    static List<BookSection> of(Node document, String title, Map<Node, String> ids) {
        List<BookSection> sections = new ArrayList<>(List.of(new BookSection("", title, new TreeSet<>())));
        document.accept(new Texts() {
            @Override
            public void visit(Heading heading) {
                if (heading != document.getFirstChild()) {
                    sections.add(new BookSection(ids.get(heading), BookSection.text(heading), new TreeSet<>()));
                }
                visitChildren(heading);
            }

            @Override
            public void visit(HtmlInline html) {
                Matcher anchor = ANCHOR.matcher(html.getLiteral());
                if (anchor.matches()) {
                    sections.add(new BookSection(anchor.group(1), anchor.group(1), new TreeSet<>()));
                }
            }

            @Override
            void text(String text) {
                WORD.matcher(text.toLowerCase(Locale.ROOT))
                        .results()
                        .forEach(word ->
                                sections.get(sections.size() - 1).words().add(word.group()));
            }
        });
        return sections;
    }

    /** Returns the text of a part of a page, without its markup. */
    static String text(Node part) {
        StringBuilder all = new StringBuilder();
        part.accept(new Texts() {
            @Override
            void text(String text) {
                all.append(text);
            }
        });
        return all.toString();
    }

    /** Visits all texts of a page, code as well. */
    private abstract static class Texts extends AbstractVisitor {

        abstract void text(String text);

        @Override
        public void visit(Text text) {
            text(text.getLiteral());
        }

        @Override
        public void visit(Code code) {
            text(code.getLiteral());
        }

        @Override
        public void visit(FencedCodeBlock code) {
            text(code.getLiteral());
        }

        @Override
        public void visit(IndentedCodeBlock code) {
            text(code.getLiteral());
        }
    }
}
