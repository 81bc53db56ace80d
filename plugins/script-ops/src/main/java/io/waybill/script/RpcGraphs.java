package io.waybill.script;

import io.waybill.api.CallException;
import io.waybill.api.RejectedMessageException;
import io.waybill.script.source.Intrinsic;
import io.waybill.script.source.RpcText;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Block;
import org.bytedeco.pytorch.BlockArrayRef;
import org.bytedeco.pytorch.Function;
import org.bytedeco.pytorch.Graph;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.IValueVectorConsumer;
import org.bytedeco.pytorch.JitNode;
import org.bytedeco.pytorch.ProfileIValueOp;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.Value;
import org.bytedeco.pytorch.ValueArrayRef;
import org.bytedeco.pytorch.global.torch;

/**
 * Inserts calls of Java into the graphs of compiled functions. Libtorch has one kind of node with external code:
 * {@code prim::profile_ivalue}, which passes the interpreter's stack to a callback. Here it starts a call, or waits for
 * one.
 *
 * <p><b>Threads.</b> A graph is changed before it is run. The callbacks run on the thread that runs the function.
 */
public final class RpcGraphs {

    private static final String WAIT = "aten::wait";

    /** Callbacks that are never freed, because graphs refer to their native sides. */
    private static final Callback CALL = new Callback() {
        @Override
        void run(IValueVector stack, long top) throws RejectedMessageException {
            RpcSite site = RpcSite.of(stack.get(top - 1).toInt());
            IValue result = calls().call(
                            site,
                            Signature.text(stack.get(top - 5).toStringRef()),
                            stack.get(top - 4),
                            stack.get(top - 3),
                            stack.get(top - 2).toDouble());
            IValueVector pair = new IValueVector();
            pair.push_back(result);
            pair.push_back(new IValue(true));
            stack.resize(top - 5);
            stack.push_back(new IValue(org.bytedeco.pytorch.Tuple.create(pair)));
        }
    };

    private static final Callback INTRINSIC = new Callback() {
        @Override
        void run(IValueVector stack, long top) throws RejectedMessageException {
            Intrinsic intrinsic = Intrinsic.values()[(int) stack.get(top - 1).toInt()];
            long first = top - 1 - intrinsic.arity();
            IValue result = calls().run(intrinsic, stack, first);
            IValueVector pair = new IValueVector();
            pair.push_back(result);
            pair.push_back(new IValue(true));
            stack.resize(first);
            stack.push_back(new IValue(org.bytedeco.pytorch.Tuple.create(pair)));
        }
    };

    private static final Callback AWAIT = new Callback() {
        @Override
        void run(IValueVector stack, long top) throws RejectedMessageException {
            calls().complete(stack.get(top - 1).toFuture());
            stack.resize(top);
        }
    };

    private RpcGraphs() {}

    /** Replaces the body of a bridge with a call, whose number it keeps. */
    static void call(Function bridge, long site) {
        call(bridge, site, CALL);
    }

    /** Replaces the body of a bridge with its intrinsic. */
    static void call(Function bridge, Intrinsic intrinsic) {
        call(bridge, intrinsic.ordinal(), INTRINSIC);
    }

    private static void call(Function bridge, long siteNumber, Callback callback) {
        Graph graph = torch.toGraphFunction(bridge).graph();
        Type.TypePtr type = new Type.TypePtr(graph.outputs().get(0).type()); // its owner is destroyed
        Value number = graph.insertConstant(new IValue(siteNumber));
        number.node().moveBefore(graph.block().return_node()); // moves it out of the blocks of the old body
        empty(graph.block(), number.node());
        ProfileIValueOp call = node(graph, callback);
        ValueArrayRef inputs = graph.inputs();
        for (long i = 0; i < inputs.size(); i++) {
            call.addInput(inputs.get(i));
        }
        call.addInput(number);
        graph.registerOutput(call.addOutput().setType(type));
        graph.appendNode(call);
    }

    private static void empty(Block block, JitNode butFor) {
        block.removeAllOutputs();
        List<JitNode> nodes = nodes(block);
        for (int i = nodes.size() - 1; i >= 0; i--) {
            if (nodes.get(i).address() != butFor.address()) {
                nodes.get(i).destroy(); // from the end: its results are no longer used
            }
        }
    }

    private static List<JitNode> nodes(Block block) {
        List<JitNode> nodes = new ArrayList<>();
        JitNode end = block.return_node();
        for (JitNode node = block.param_node().next(); node.address() != end.address(); node = node.next()) {
            nodes.add(node);
        }
        return nodes;
    }

    /** Inserts waits for the futures of calls before libtorch's own waits. */
    static void await(Function function) {
        Graph graph = torch.toGraphFunction(function).graph();
        List<JitNode> waits = new ArrayList<>();
        collectWaits(graph.block(), waits);
        for (JitNode wait : waits) {
            ProfileIValueOp await = node(graph, AWAIT);
            Value future = wait.input(0);
            await.addInput(future);
            Value same = await.addOutput().setType(future.type());
            await.insertBefore(wait);
            wait.replaceInput(0, same);
        }
    }

    private static ProfileIValueOp node(Graph graph, Callback callback) {
        ProfileIValueOp node = new ProfileIValueOp(graph, callback);
        // The graph owns it: neither the open scope nor the garbage collector may free it.
        node.retainReference();
        node.deallocate(false);
        return node;
    }

    private static void collectWaits(Block block, List<JitNode> waits) {
        for (JitNode node : nodes(block)) {
            if (node.kind().toQualString().getString().equals(WAIT)) {
                waits.add(node);
            }
            BlockArrayRef blocks = node.blocks();
            for (long i = 0; i < blocks.size(); i++) {
                collectWaits(blocks.get(i), waits);
            }
        }
    }

    /**
     * Returns the type of a call's result, from the type that its bridge returns: the result or its future, and a bool.
     */
    static Type resultType(RpcText.Way way, Function bridge) {
        Type pair = bridge.getSchema().returns().type().get();
        Type first = pair.containedType(0).get();
        return way == RpcText.Way.RPC_SYNC ? first : first.containedType(0).get();
    }

    /** Callback for libtorch's interpreter, with the frame's number on top of the stack. */
    private abstract static class Callback extends IValueVectorConsumer {

        Callback() {
            retainReference(); // otherwise the open scope would free it
        }

        /** @param top number of values below the frame's number */
        abstract void run(IValueVector stack, long top) throws RejectedMessageException;

        static ScriptCalls calls() {
            ScriptCalls calls = ScriptCalls.current();
            if (calls == null) {
                throw new IllegalStateException(
                        "a task that a function forked can't call other workers: only the function itself can");
            }
            return calls;
        }

        @Override
        @SuppressWarnings("checkstyle:IllegalCatch")
        public void call(IValueVector stack) {
            try {
                run(stack, stack.size() - 1);
            } catch (CallException | RejectedMessageException | IllegalStateException | IllegalArgumentException e) {
                throw new Failure(e);
            }
        }
    }

    /** Exception that libtorch converts to an error, with {@link #toString} in its text. */
    private static final class Failure extends RuntimeException {

        private static final long serialVersionUID = 1;

        Failure(Exception cause) {
            super(cause.getMessage(), cause);
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }
}
