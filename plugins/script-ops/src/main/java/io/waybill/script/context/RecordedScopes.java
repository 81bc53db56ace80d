package io.waybill.script.context;

import java.util.ArrayDeque;
import java.util.Deque;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.Operation;
import org.bytedeco.pytorch.OperatorVector;
import org.bytedeco.pytorch.Symbol;
import org.bytedeco.pytorch.global.torch;

/**
 * Open scopes of a function's profile, from libtorch, which reports them like operators.
 *
 * <p><b>Threads.</b> The one that runs the function. <b>Ownership.</b> The {@code PointerScope} of the run frees its
 * objects.
 */
public final class RecordedScopes {

    private final Deque<IValue> open = new ArrayDeque<>();

    /** Libtorch's own operators, which a script in source can't name. */
    private static final class Operators {

        static final Operation ENTER = find("profiler::_record_function_enter_new", "");
        static final Operation EXIT = find("profiler::_record_function_exit", "_RecordFunction");

        @SuppressWarnings("try")
        private static Operation find(String name, String overload) {
            try (PointerScope scope = new PointerScope()) {
                OperatorVector found = torch.getAllOperatorsFor(Symbol.fromQualString(name));
                for (long i = 0; i < found.size(); i++) {
                    BytePointer text = found.get(i).schema().overload_name(); // null when it is empty
                    if (overload.equals(text == null ? "" : text.getString())) {
                        return found.get(i).getOperation().retainReference();
                    }
                }
            }
            throw new IllegalStateException("libtorch has no operator " + name + "." + overload);
        }
    }

    /** Begins a scope within the open ones. */
    public void begin(IValue name) {
        IValueVector stack = new IValueVector();
        stack.push_back(name);
        stack.push_back(new IValue());
        Operators.ENTER.apply(stack);
        open.push(new IValue(stack.get(0)));
    }

    /** Ends the innermost scope, if there is one. */
    public void end() {
        if (!open.isEmpty()) {
            IValueVector stack = new IValueVector();
            stack.push_back(open.pop());
            Operators.EXIT.apply(stack);
        }
    }

    /** Ends the scopes that a failed function left open. */
    public void endAll() {
        while (!open.isEmpty()) {
            end();
        }
    }
}
