package io.waybill.autograd.graph;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.bytedeco.pytorch.Edge;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/** The recorded graph of a context as text: of each node its name and the number of the input, and in parentheses the nodes behind it. */
public final class GraphShape {

    private static final String ACCUMULATOR = "torch::autograd::AccumulateGrad";

    private final ContextGraph graph;

    private GraphShape(ContextGraph graph) {
        this.graph = graph;
    }

    /** The edges of each send function, by message id. A leaf is {@code leaf}, a receive function {@code recv}. */
    public static List<String> sends(ContextGraph graph) {
        List<PassEntry> entries = new ArrayList<>(graph.sends());
        Collections.sort(entries);
        List<String> shapes = new ArrayList<>();
        for (PassEntry entry : entries) {
            List<String> edges = new ArrayList<>();
            for (int i = 0; i < entry.edges.nodes.length; i++) {
                edges.add(new GraphShape(graph).shape(entry.edges.nodes[i], entry.edges.inputs[i]));
            }
            shapes.add(String.join(", ", edges));
        }
        return shapes;
    }

    /** The graph behind a tensor that was computed or received. */
    public static String behind(ContextGraph graph, Tensor tensor) {
        return new GraphShape(graph).shape(tensor.grad_fn(), tensor.output_nr());
    }

    private String shape(Node node, long input) {
        if (graph.recvOn(node.address()) != null) {
            return "recv:" + input;
        }
        String name = node.name().getString();
        if (name.equals(ACCUMULATOR)) {
            return "leaf:" + input;
        }
        List<String> next = new ArrayList<>();
        for (long i = 0; i < node.next_edges().size(); i++) {
            Edge edge = node.next_edge(i);
            next.add(edge.is_valid() ? shape(edge.function(), edge.input_nr()) : "none");
        }
        return name + ":" + input + "(" + String.join(", ", next) + ")";
    }
}
