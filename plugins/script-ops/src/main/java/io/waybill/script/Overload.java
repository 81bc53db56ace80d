package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Argument;
import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.FunctionSchema;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueOptional;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.Operation;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.TypeKind;

/**
 * One overload of an operator: its parameters, and how it is run. Immutable, and safe for several threads.
 *
 * <p><b>Ownership.</b> Holds a few native objects that are as small as pointers: the handle, the defaults. They are freed when the
 * overload is no longer reachable, because a call may still be running when its component is deactivated.
 */
final class Overload {

    private final String name;
    private final String schema;
    private final List<Parameter> parameters;
    private final int positionalCount;
    private final int returnCount;
    private final boolean returnsDType;
    private final OperatorHandle handle;
    private final Operation operation;

    private Overload(FunctionSchema schema, List<Parameter> parameters, OperatorHandle handle, Operation operation) {
        this.name = text(schema.overload_name());
        this.schema = torch.toString(schema).getString();
        this.parameters = parameters;
        this.positionalCount =
                (int) parameters.stream().filter(p -> !p.isKeywordOnly()).count();
        Argument returns = schema.returns();
        this.returnCount = returns == null ? 0 : (int) returns.limit();
        this.returnsDType = returnCount == 1 && returns.real_type().get().kind().intern() == TypeKind.ScalarTypeType;
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
        List<Parameter> parameters = new ArrayList<>();
        Argument arguments = schema.arguments();
        for (long i = 0; arguments != null && i < arguments.limit(); i++) {
            parameters.add(parameter(arguments.getPointer(i)));
        }
        if (operator.isC10Op()) {
            OperatorHandle handle =
                    Dispatcher.singleton().findSchemaOrThrow(text(schema.name()), text(schema.overload_name()));
            handle.retainReference();
            return new Overload(schema, List.copyOf(parameters), handle, null);
        }
        Operation operation = operator.getOperation();
        operation.retainReference();
        return new Overload(schema, List.copyOf(parameters), null, operation);
    }

    /** JavaCPP gives null for an empty string. */
    static String text(BytePointer string) {
        return string == null ? "" : string.getString(StandardCharsets.UTF_8);
    }

    private static Parameter parameter(Argument argument) {
        int fixedLength = argument.N().has_value() ? argument.N().get() : 0;
        ParameterType type = ParameterType.of(argument.real_type().get(), fixedLength);
        IValueOptional given = argument.default_value();
        IValue defaultValue = null;
        if (given.has_value()) {
            defaultValue = new IValue(given.get());
            defaultValue.retainReference();
        }
        return new Parameter(
                argument.name().getString(), type, listType(argument.type()), argument.kwarg_only(), defaultValue);
    }

    private static Type.TypePtr listType(Type.TypePtr type) {
        Type.TypePtr bare =
                type.get().kind().intern() == TypeKind.OptionalType ? type.get().containedType(0) : type;
        if (bare.get().kind().intern() != TypeKind.ListType) {
            return null;
        }
        Type.TypePtr element = bare.get().containedType(0);
        element.retainReference();
        return element;
    }

    /** Empty for the overload without a name. */
    String name() {
        return name;
    }

    /** As libtorch writes it. */
    String schema() {
        return schema;
    }

    /** Whether its one result is the code of an element type. */
    boolean returnsDType() {
        return returnsDType;
    }

    /** How well the arguments fit: the sum of what each costs, or {@link ParameterType#NO_FIT}. */
    int fit(List<Value> positional, Map<String, Value> named) {
        if (positional.size() > positionalCount) {
            return ParameterType.NO_FIT;
        }
        int cost = 0;
        int namedTaken = 0;
        for (int i = 0; i < parameters.size(); i++) {
            Parameter parameter = parameters.get(i);
            Value value;
            if (i < positional.size()) {
                value = positional.get(i);
            } else {
                value = named.isEmpty() ? null : named.get(parameter.name());
                if (value == null) {
                    if (parameter.isRequired()) {
                        return ParameterType.NO_FIT;
                    }
                    continue;
                }
                namedTaken++;
            }
            int fit = parameter.type().fit(value);
            if (fit == ParameterType.NO_FIT) {
                return ParameterType.NO_FIT;
            }
            cost += fit;
        }
        return namedTaken == named.size() ? cost : ParameterType.NO_FIT;
    }

    /** Why the arguments do not fit, in one line. */
    String misfit(Invocation call) {
        List<Value> positional = call.positional();
        if (positional.size() > positionalCount) {
            return "takes at most " + positionalCount + " positional arguments, got " + positional.size();
        }
        for (int i = 0; i < parameters.size(); i++) {
            Parameter parameter = parameters.get(i);
            Value value =
                    i < positional.size() ? positional.get(i) : call.named().get(parameter.name());
            if (i < positional.size() && call.named().containsKey(parameter.name())) {
                return "argument '" + parameter.name() + "' is given twice, by position and by name";
            }
            if (value == null && parameter.isRequired()) {
                return "argument '" + parameter.name() + "' (" + parameter.type() + ") is missing";
            }
            if (value != null && parameter.type().fit(value) == ParameterType.NO_FIT) {
                return "argument '" + parameter.name() + "' must be " + parameter.type() + ", not "
                        + ParameterType.describe(value);
            }
        }
        List<String> names = parameters.stream().map(Parameter::name).toList();
        List<String> unknown = call.named().keySet().stream()
                .filter(given -> !names.contains(given))
                .toList();
        return "has no argument named '" + String.join("', '", unknown) + "'";
    }

    /** Fails unless a run leaves one value: what a response can carry. */
    void requireOneResult() throws RejectedMessageException {
        if (returnCount != 1) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    "Return value of a builtin operator or a TorchScript function should be a single IValue, got a vector"
                            + " of size " + returnCount);
        }
    }

    /** Puts arguments that fit on the stack, and defaults for those that were not given. */
    void push(Invocation call, CallStack stack) throws RejectedMessageException {
        List<Value> positional = call.positional();
        Map<String, Value> named = call.named();
        for (int i = 0; i < parameters.size(); i++) {
            Parameter parameter = parameters.get(i);
            Value value = i < positional.size() ? positional.get(i) : named.get(parameter.name());
            if (value == null) {
                stack.push(parameter.defaultValue());
            } else {
                stack.push(parameter, value);
            }
        }
    }

    /** Replaces the arguments on the stack by the results. */
    void run(IValueVector stack) {
        if (handle != null) {
            handle.callBoxed(stack);
        } else {
            operation.apply(stack);
        }
    }
}
