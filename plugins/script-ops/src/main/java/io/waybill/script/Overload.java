package io.waybill.script;

import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.FunctionSchema;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.Operation;
import org.bytedeco.pytorch.OperatorHandle;

/**
 * One overload of an operator. Immutable, and safe for several threads.
 *
 * <p><b>Ownership.</b> Holds a handle as small as a pointer. It is freed when the overload is no longer reachable, because a call may still be running when its component is deactivated.
 */
final class Overload implements Routine {

    private final String name;
    private final Signature signature;
    private final OperatorHandle handle;
    private final Operation operation;

    private Overload(FunctionSchema schema, OperatorHandle handle, Operation operation) {
        this.name = Signature.text(schema.overload_name());
        this.signature = Signature.of(schema);
        this.handle = handle;
        this.operation = operation;
    }

    /**
     * Reads an overload from libtorch. What it keeps outlives the caller's {@code PointerScope}.
     *
     * @param operator that can be run without a graph and has a fixed number of parameters
     */
    static Overload of(org.bytedeco.pytorch.Operator operator) {
        FunctionSchema schema = operator.schema();
        if (operator.isC10Op()) {
            OperatorHandle handle = Dispatcher.singleton()
                    .findSchemaOrThrow(Signature.text(schema.name()), Signature.text(schema.overload_name()));
            handle.retainReference();
            return new Overload(schema, handle, null);
        }
        Operation operation = operator.getOperation();
        operation.retainReference();
        return new Overload(schema, null, operation);
    }

    /** Empty for the overload without a name. */
    String name() {
        return name;
    }

    @Override
    public Signature signature() {
        return signature;
    }

    @Override
    public void run(IValueVector stack) {
        if (handle != null) {
            handle.callBoxed(stack);
        } else {
            operation.apply(stack);
        }
    }
}
