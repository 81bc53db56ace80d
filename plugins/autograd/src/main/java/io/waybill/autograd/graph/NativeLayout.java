package io.waybill.autograd.graph;

import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Edge;
import org.bytedeco.pytorch.InputMetadata;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TypeMeta;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Reads fields of libtorch's objects in place: the node of an edge, and the element type of an input, because
 * libtorch's functions for them return objects that must be freed, which costs more than the rest of a small node's
 * work; and the tensor of a leaf's node, for which the binding has no function.
 *
 * <p>The offsets of the fields are checked once against known objects. If one does not agree, libtorch's functions are
 * used, or there is no tensor.
 *
 * <p><b>Threads.</b> The one that traverses or runs a pass. <b>Lifetime.</b> libtorch is loaded before this class is.
 */
final class NativeLayout {

    /** A node at an address, which other owners keep alive. */
    private static final class NodeView extends Node {
        NodeView(long address) {
            super((Pointer) null);
            this.address = address;
        }
    }

    /** A tensor at an address, which other owners keep alive. */
    private static final class TensorView extends Tensor {
        TensorView(long address) {
            super((Pointer) null);
            this.address = address;
        }
    }

    /** Eight bytes at any address. */
    static final class Word extends LongPointer {
        Word() {
            super((Pointer) null);
        }

        long at(long where) {
            address = where;
            return get();
        }
    }

    /**
     * An edge begins with its pointer to the node; the options of an input have the element type's number after a
     * device of two bytes.
     */
    private static final int TYPE_SHIFT = 16;

    private static final int TYPE_MASK = 0xffff;

    private static final boolean IS_KNOWN = agrees();

    private static final String LEAF_NODE = "AccumulateGrad";
    /** Offset of the tensor in the node of a leaf, its only field; 0 if unknown. */
    private static final int LEAF_FIELD = leafField();

    private final Word word = new Word();

    /**
     * Returns the node of a valid edge: either a node that the graph keeps alive, or a counted one. In both cases the
     * caller frees the object.
     */
    Node node(Edge edge) {
        return IS_KNOWN ? nodeInPlace(edge) : Pointers.own(edge.function());
    }

    private Node nodeInPlace(Edge edge) {
        return new NodeView(word.at(edge.address()));
    }

    /** Returns the number of the element type that gradients for an input have. */
    int type(InputMetadata input) {
        return IS_KNOWN ? typeInPlace(input) : typeByCall(input);
    }

    private int typeInPlace(InputMetadata input) {
        return (int) (word.at(input.options().address()) >>> TYPE_SHIFT) & TYPE_MASK;
    }

    private static int typeByCall(InputMetadata input) {
        TypeMeta type = Pointers.own(input.dtype());
        int number = type.toScalarType().value;
        Pointers.free(type);
        return number;
    }

    /** Returns the tensor that the node of a leaf accumulates into, which the caller frees; null if it is unknown. */
    static Tensor leaf(Node accumulator) {
        boolean isLeaf = LEAF_FIELD != 0 && accumulator.name().getString().endsWith(LEAF_NODE);
        return isLeaf ? Pointers.keep(new TensorView(accumulator.address() + LEAF_FIELD)) : null;
    }

    /** Finds the offset of the tensor, which follows the base part of a leaf's node. */
    private static int leafField() {
        int behind = Loader.sizeof(Node.class);
        boolean agrees = behind > Long.BYTES;
        Word word = new Word();
        for (int i = 0; i < 2; i++) {
            Tensor leaf = Pointers.own(torch.zeros(new long[] {1}));
            leaf.set_requires_grad(true);
            Node node = Pointers.accumulator(leaf);
            agrees &= agrees
                    && node.name().getString().endsWith(LEAF_NODE)
                    && word.at(node.address() + behind)
                            == leaf.unsafeGetTensorImpl().address();
            Pointers.free(node);
            Pointers.free(leaf);
        }
        return agrees ? behind : 0;
    }

    private static boolean agrees() {
        NativeLayout layout = new NativeLayout();
        boolean agrees = true;
        for (ScalarType type :
                new ScalarType[] {ScalarType.Float, ScalarType.Double, ScalarType.BFloat16, ScalarType.ComplexDouble}) {
            TensorOptions options = Pointers.own(new TensorOptions(type));
            Tensor leaf = Pointers.own(torch.zeros(new long[] {1}, options));
            leaf.set_requires_grad(true);
            agrees &= layout.agrees(leaf);
            Pointers.free(leaf);
            Pointers.free(options);
        }
        return agrees;
    }

    private boolean agrees(Tensor leaf) {
        Tensor sum = Pointers.own(leaf.add(leaf));
        Node node = Pointers.own(sum.grad_fn());
        boolean agrees = typeInPlace(node.input_metadata(0)) == typeByCall(node.input_metadata(0));
        for (int i = 0; i < node.num_outputs(); i++) {
            Node counted = Pointers.own(node.next_edge(i).function());
            agrees &= nodeInPlace(node.next_edge(i)).address() == counted.address();
            Pointers.free(counted);
        }
        Pointers.free(node);
        Pointers.free(sum);
        return agrees;
    }
}
