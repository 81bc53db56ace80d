package io.waybill.script;

import java.util.List;
import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.FunctionSchema;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.Operation;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.Tag;

/**
 * One overload of an operator. Immutable, and safe for several threads.
 *
 * <p><b>Random numbers.</b> A run draws from its own generator, which is an argument of the overload or of its twin.
 * Overloads without either draw from the generator of the process, which is seeded for each run, one run at a time.
 *
 * <p><b>Ownership.</b> Holds a handle as small as a pointer. It is freed when the overload is no longer reachable,
 * because a call may still be running when its component is deactivated.
 */
final class Overload implements Routine {

    /**
     * Guards the generator of the process; an object of libtorch's, so that it is one for all versions of this bundle.
     */
    private static final Object PROCESS_GENERATOR = Generator.class;

    private final String name;
    private final Signature signature;
    private final OperatorHandle handle;
    private final Operation operation;
    private final boolean isRandom;
    /** Overload with the same arguments and a generator; null if there is none. */
    private final Overload twin;

    private Overload(
            String name,
            Signature signature,
            OperatorHandle handle,
            Operation operation,
            boolean isRandom,
            Overload twin) {
        this.name = name;
        this.signature = signature;
        this.handle = handle;
        this.operation = operation;
        this.isRandom = isRandom;
        this.twin = twin;
    }

    /**
     * Reads an overload from libtorch. Its objects outlive the caller's {@code PointerScope}.
     *
     * @param operator that can be run without a graph and has a fixed number of parameters
     */
    static Overload of(org.bytedeco.pytorch.Operator operator) {
        FunctionSchema schema = operator.schema();
        String qualified = Signature.text(schema.name());
        String name = Signature.text(schema.overload_name());
        Signature signature = Signature.of(schema);
        boolean isRandom = signature.generatorIndex() >= 0 || OperatorPolicy.isUntaggedRandom(qualified);
        if (operator.isC10Op()) {
            OperatorHandle handle = Dispatcher.singleton().findSchemaOrThrow(qualified, name);
            handle.retainReference();
            boolean isTagged = handle.hasTag(Tag.nondeterministic_seeded);
            return new Overload(name, signature, handle, null, isRandom || isTagged, null);
        }
        Operation operation = operator.getOperation();
        operation.retainReference();
        return new Overload(name, signature, null, operation, isRandom, null);
    }

    /** Returns this overload with its twin among the overloads of the operator, if it needs one and there is one. */
    Overload withTwin(List<Overload> overloads) {
        if (!isRandom || signature.generatorIndex() >= 0) {
            return this;
        }
        return overloads.stream()
                .filter(other -> other.signature.isWithGenerator(signature))
                .findFirst()
                .map(found -> new Overload(name, signature, handle, operation, isRandom, found))
                .orElse(this);
    }

    /** Returns whether a run may draw random numbers, and needs a seed. */
    boolean isRandom() {
        return isRandom;
    }

    /**
     * Runs on the arguments on the stack.
     *
     * @param seed seed of the run's random numbers, unless an argument is a generator
     */
    void run(IValueVector stack, long seed) {
        int generator = signature.generatorIndex();
        if (generator >= 0) {
            if (stack.get(generator).isNone()) {
                stack.put(generator, generator(seed));
            }
            run(stack);
        } else if (twin != null) {
            stack.insert(iterator(stack, twin.signature.generatorIndex()), generator(seed));
            twin.run(stack);
        } else if (isRandom) {
            synchronized (PROCESS_GENERATOR) {
                torch.manual_seed(seed);
                run(stack);
            }
        } else {
            run(stack);
        }
    }

    private static IValue generator(long seed) {
        return new IValue(torch.createCPUGenerator(seed));
    }

    private static IValueVector.Iterator iterator(IValueVector stack, int index) {
        IValueVector.Iterator at = stack.begin();
        for (int i = 0; i < index; i++) {
            at.increment();
        }
        return at;
    }

    /** Returns the name; empty for the overload without a name. */
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
