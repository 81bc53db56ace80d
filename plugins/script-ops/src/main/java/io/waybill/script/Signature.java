package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.script.source.ElementTypes;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Argument;
import org.bytedeco.pytorch.FunctionSchema;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueOptional;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.TypeKind;

/**
 * Parameters and number of results of a routine, read from its schema. Immutable, and safe for several threads.
 *
 * <p><b>Ownership.</b> Holds small native objects, the defaults and the types of lists, which are freed when this
 * object is no longer reachable.
 */
final class Signature {

    private final String text;
    private final List<Parameter> parameters;
    private final int positionalCount;
    private final int generatorIndex;
    private final int returnCount;
    private final ElementTypes elementTypes;

    private Signature(String text, List<Parameter> parameters, Argument returns) {
        this.text = text;
        this.parameters = parameters;
        this.positionalCount =
                (int) parameters.stream().filter(p -> !p.isKeywordOnly()).count();
        this.generatorIndex = parameters.stream()
                .map(parameter -> isOptionalGenerator(parameter.type()))
                .toList()
                .indexOf(true);
        this.returnCount = returns == null ? 0 : (int) returns.limit();
        boolean isOne = returnCount == 1 && returns.real_type().get().kind().intern() == TypeKind.ScalarTypeType;
        this.elementTypes = isOne ? ElementTypes.ONE : ElementTypes.NONE;
    }

    private static boolean isOptionalGenerator(ParameterType type) {
        return type.kind() == ParameterType.Kind.OPTIONAL && type.element().kind() == ParameterType.Kind.GENERATOR;
    }

    /** Reads a schema. Its objects outlive the caller's {@code PointerScope}. */
    static Signature of(FunctionSchema schema) {
        return of(schema, torch.toString(schema).getString(), 0);
    }

    /**
     * Reads a schema without its first parameters, which callers do not provide.
     *
     * @param text text form of the schema
     */
    static Signature of(FunctionSchema schema, String text, int firstParameter) {
        List<Parameter> parameters = new ArrayList<>();
        Argument arguments = schema.arguments();
        for (long i = firstParameter; arguments != null && i < arguments.limit(); i++) {
            parameters.add(parameter(arguments.getPointer(i)));
        }
        return new Signature(text, List.copyOf(parameters), schema.returns());
    }

    /** Returns a string, for which JavaCPP has null if it is empty. */
    static String text(BytePointer string) {
        return string == null ? "" : string.getString(StandardCharsets.UTF_8);
    }

    private static Parameter parameter(Argument argument) {
        int fixedLength = argument.N().has_value() ? argument.N().get() : 0;
        ParameterType type =
                ParameterType.of(argument.real_type().get(), argument.type().get(), fixedLength);
        IValueOptional given = argument.default_value();
        IValue defaultValue = null;
        if (given.has_value()) {
            defaultValue = new IValue(given.get());
            defaultValue.retainReference();
        }
        return new Parameter(argument.name().getString(), type, argument.kwarg_only(), defaultValue);
    }

    /** Returns the positions of element types in the result of an operator. */
    ElementTypes elementTypes() {
        return elementTypes;
    }

    /** Returns how well the arguments fit: the sum of their costs, or {@link ParameterType#NO_FIT}. */
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

    /** Describes in one line why the arguments do not fit. */
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
                        + ScriptValues.describe(value);
            }
        }
        List<String> names = parameters.stream().map(Parameter::name).toList();
        List<String> unknown = call.named().keySet().stream()
                .filter(given -> !names.contains(given))
                .toList();
        return "has no argument named '" + String.join("', '", unknown) + "'";
    }

    /** Returns the refusal of a call that fits none of these signatures, with every schema and the reason. */
    static RejectedMessageException noMatch(String name, List<Signature> signatures, Invocation call) {
        StringBuilder text = new StringBuilder("no schema of ").append(name).append(" takes (");
        String separator = "";
        for (Value value : call.positional()) {
            text.append(separator).append(ScriptValues.describe(value));
            separator = ", ";
        }
        for (Map.Entry<String, Value> entry : call.named().entrySet()) {
            text.append(separator).append(entry.getKey()).append('=').append(ScriptValues.describe(entry.getValue()));
            separator = ", ";
        }
        text.append("):");
        for (Signature signature : signatures) {
            text.append("\n  ").append(signature).append("\n    ").append(signature.misfit(call));
        }
        return new RejectedMessageException(ErrorCode.NO_MATCHING_SCHEMA, text.toString());
    }

    /** Returns the index of the parameter that takes a generator or none; negative if there is none. */
    int generatorIndex() {
        return generatorIndex;
    }

    /** Returns whether these are the parameters of another signature and a generator. */
    boolean isWithGenerator(Signature other) {
        if (generatorIndex < 0 || parameters.size() != other.parameters.size() + 1) {
            return false;
        }
        List<Parameter> others = new ArrayList<>(parameters);
        others.remove(generatorIndex);
        for (int i = 0; i < others.size(); i++) {
            Parameter theirs = other.parameters.get(i);
            if (!others.get(i).name().equals(theirs.name())
                    || !others.get(i).type().toString().equals(theirs.type().toString())) {
                return false;
            }
        }
        return true;
    }

    /** Returns the number of results. */
    int returnCount() {
        return returnCount;
    }

    /** Fails if a run leaves no value, in PyTorch's words. */
    void requireResult() throws RejectedMessageException {
        if (returnCount == 0) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    "Return value of a builtin operator or a TorchScript function should be a single IValue, got a vector"
                            + " of size 0");
        }
    }

    /** Pushes fitting arguments, and defaults for omitted ones. */
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

    /** Returns libtorch's text form. */
    @Override
    public String toString() {
        return text;
    }
}
