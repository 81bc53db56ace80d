package io.waybill.profiler.profile;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Flame graph of a profile: events of one name below one cause are one bar, as wide as their total time. Bars below
 * another one are its effects; the remaining width is its own time. Stateless.
 */
final class FlameGraph {

    private static final int WIDTH = 1200; // pixels
    private static final int ROW = 22;
    private static final double MIN_WIDTH = 1; // narrower bars are not drawn
    private static final double US = 1_000;

    /** Events of one name below one cause. */
    private static final class Node {

        private final Map<String, Node> inside = new LinkedHashMap<>();
        private final ProfileEvent first;
        private int count;
        private long totalNs;

        Node(ProfileEvent first) {
            this.first = first;
        }

        /** Returns the width in the picture: inner events may run concurrently, with a longer total time. */
        long widthNs() {
            return Math.max(
                    totalNs, inside.values().stream().mapToLong(Node::widthNs).sum());
        }

        int depth() {
            return 1 + inside.values().stream().mapToInt(Node::depth).max().orElse(0);
        }
    }

    private FlameGraph() {}

    /** Draws events, which are ordered so that each follows its cause. */
    static String of(List<ProfileEvent> events) {
        Node root = new Node(null);
        List<Node> nodes = new ArrayList<>();
        for (ProfileEvent event : events) {
            Node around = event.parent() < 0 ? root : nodes.get(event.parent());
            Node node = around.inside.computeIfAbsent(event.ownName(), name -> new Node(event));
            node.count++;
            node.totalNs += event.durationNs();
            nodes.add(node);
        }
        StringBuilder out = new StringBuilder(String.format(
                Locale.ROOT, "<svg width=\"%d\" height=\"%d\">\n", WIDTH + 10, (root.depth() - 1) * ROW + 10));
        draw(root, 0, -1, WIDTH / (double) Math.max(1, root.widthNs()), out);
        return out.append("</svg>\n").toString();
    }

    private static void draw(Node node, double x, int row, double scale, StringBuilder out) {
        double width = node.widthNs() * scale;
        if (width < MIN_WIDTH) {
            return;
        }
        if (node.first != null) {
            out.append(String.format(
                    Locale.ROOT,
                    "<g><title>%s\n%d times, %.1f µs</title><rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
                    ProfilePage.escaped(node.first.name()),
                    node.count,
                    node.totalNs / US,
                    node.first.kind().name().toLowerCase(Locale.ROOT),
                    x,
                    row * ROW,
                    width,
                    ROW - 2));
            out.append(String.format(
                    Locale.ROOT,
                    "<text class=\"on\" x=\"%.1f\" y=\"%d\">%s</text></g>\n",
                    x + 3,
                    row * ROW + 14,
                    ProfilePage.shortened(node.first.ownName(), width - 6)));
        }
        double at = x;
        for (Node inside : node.inside.values()) {
            draw(inside, at, row + 1, scale, out);
            at += inside.widthNs() * scale;
        }
    }
}
