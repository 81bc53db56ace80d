package io.waybill.autograd.graph;

import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/**
 * A graph of a context as plain values and libtorch's objects, so that another version of this bundle can restore it.
 * Both versions know this form: a list of the messages that were sent, of those that were received, and of the leaves.
 *
 * @param about the values
 * @param natives the objects, in the order in which {@code about} mentions them, with a reference each; null for a
 *     missing one
 */
public record GraphArchive(Value about, List<Pointer> natives) {

    /** Builder of an archive. */
    static final class Writer {

        private final List<Value> sends = new ArrayList<>();
        private final List<Value> recvs = new ArrayList<>();
        private final List<Value> leaves = new ArrayList<>();
        private final List<Pointer> natives = new ArrayList<>();

        void send(long messageId, GradientEdges edges, Tensor[] sent) {
            List<Value> fields = new ArrayList<>(List.of(Value.of(messageId)));
            for (int i = 0; i < sent.length; i++) {
                fields.add(Value.of(edges.inputs[i]));
                natives.add(edges.nodes[i]);
                natives.add(sent[i]);
            }
            sends.add(new Value.Items(fields));
        }

        void recv(RecvId id, int size, Node node) {
            recvs.add(Value.tuple(Value.of(id.messageId()), Value.of(id.worker()), Value.of(size)));
            natives.add(node);
        }

        void leaf(Node accumulator, Tensor tensor, Tensor gradient) {
            leaves.add(Value.NONE);
            natives.add(accumulator);
            natives.add(tensor);
            natives.add(gradient);
        }

        GraphArchive end(long bytes) {
            return new GraphArchive(
                    Value.tuple(
                            new Value.Items(sends), new Value.Items(recvs), new Value.Items(leaves), Value.of(bytes)),
                    natives);
        }
    }

    List<List<Long>> sends() {
        return part(0).stream()
                .map(each -> numbers(((Value.Items) each).values()))
                .toList();
    }

    List<List<Long>> recvs() {
        return part(1).stream()
                .map(each -> numbers(((Value.Tuple) each).values()))
                .toList();
    }

    int leafCount() {
        return part(2).size();
    }

    long bytes() {
        return ((Value.Int) ((Value.Tuple) about).values().get(3)).value();
    }

    Iterator<Pointer> pointers() {
        return natives.iterator();
    }

    private List<Value> part(int i) {
        return ((Value.Items) ((Value.Tuple) about).values().get(i)).values();
    }

    private static List<Long> numbers(List<Value> values) {
        return values.stream().map(value -> ((Value.Int) value).value()).toList();
    }
}
