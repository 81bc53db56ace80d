package io.waybill.script;

import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch.TypeKind;

/**
 * Type of a parameter, which computes how well a value fits it. Immutable, and safe for several threads.
 *
 * <p>A fit is a cost: {@link #EXACT} if the value is of the type, more if it must be converted, {@link #NO_FIT} if it
 * can't be. The conversions are those of PyTorch for Python values, except that an int does not pass for a bool, and
 * none not for a tensor.
 */
final class ParameterType {

    /** Kind of value that a parameter accepts. */
    enum Kind {
        TENSOR("Tensor"),
        SCALAR("Scalar"),
        INT("int"),
        FLOAT("float"),
        COMPLEX("complex"),
        BOOL("bool"),
        STRING("str"),
        DEVICE("Device"),
        DTYPE("ScalarType"),
        /** Layouts and memory formats: their codes. */
        CODE("int"),
        OPTIONAL("?"),
        LIST("[]"),
        TUPLE("()"),
        DICT("Dict"),
        /** A generator of random numbers, given by its seed. */
        GENERATOR("Generator"),
        /** Any value that libtorch has: for a variable type or {@code Any}. */
        ANY("Any"),
        /** One of several types. */
        UNION("Union"),
        /** A reference to a value of another worker, which is a future in a function. */
        REFERENCE("RRef"),
        /** Accepts only its default: streams, objects of classes. */
        OTHER("");

        private final String text;

        Kind(String text) {
            this.text = text;
        }
    }

    static final int NO_FIT = -1;
    static final int EXACT = 0;
    /** Cost of an int for a float, or of a single int for a list of fixed length. */
    static final int CONVERTED = 1;
    /** Cost of any value for an open type: an overload that names the type precedes it. */
    static final int OPEN = 2;
    /** Cost of a number for a tensor: the last resort, so that {@code add(tensor, 3)} is add.Scalar. */
    static final int WRAPPED = 16;

    private final Kind kind;
    private final List<ParameterType> elements;
    private final int fixedLength;
    private final Type.TypePtr listType;
    private final String text;

    private ParameterType(
            Kind kind, List<ParameterType> elements, int fixedLength, Type.TypePtr listType, String text) {
        this.kind = kind;
        this.elements = elements;
        this.fixedLength = fixedLength;
        this.listType = listType;
        this.text = text;
    }

    /**
     * Reads a type.
     *
     * @param type declared type of the parameter
     * @param onStack type in the interpreter, where an element type is an int
     * @param fixedLength length of the list that a single number may stand for; 0 for none
     */
    static ParameterType of(Type type, Type onStack, int fixedLength) {
        TypeKind typeKind = type.kind().intern();
        switch (typeKind) {
            case OptionalType:
                return optional(of(contained(type, 0), contained(onStack, 0), fixedLength));
            case ListType:
                return list(type, onStack, fixedLength);
            case TupleType:
                return tuple(type, onStack);
            case DictType:
                return dict(type, onStack);
            case UnionType:
                return union(type, onStack);
            case NoneType:
                return optional(other(type));
            case FutureType:
                return reference(type, onStack);
            case VarType:
                return new ParameterType(
                        Kind.ANY, List.of(), 0, null, type.str().getString());
            default:
                Kind kind = kind(typeKind);
                return kind == Kind.OTHER ? other(type) : new ParameterType(kind, List.of(), 0, null, kind.text);
        }
    }

    private static Type contained(Type type, int index) {
        return type.containedType(index).get();
    }

    private static ParameterType other(Type type) {
        return new ParameterType(Kind.OTHER, List.of(), 0, null, type.str().getString());
    }

    private static ParameterType optional(ParameterType value) {
        String text = value.kind == Kind.OTHER ? value.text : value.text + "?";
        return new ParameterType(Kind.OPTIONAL, List.of(value), 0, null, text);
    }

    private static ParameterType list(Type type, Type onStack, int fixedLength) {
        ParameterType element = of(contained(type, 0), contained(onStack, 0), 0);
        if (element.kind == Kind.OTHER) {
            return other(type);
        }
        Type.TypePtr listType = elementType(onStack, 0);
        String length = fixedLength == 0 ? "" : Integer.toString(fixedLength);
        return new ParameterType(Kind.LIST, List.of(element), fixedLength, listType, element.text + "[" + length + "]");
    }

    /** Returns the element type; null if it is open and the value determines it. */
    private static Type.TypePtr elementType(Type onStack, int index) {
        Type.TypePtr declared = onStack.containedType(index);
        if (declared.get().hasFreeVariables()) {
            return null;
        }
        declared.retainReference();
        return declared;
    }

    private static ParameterType dict(Type type, Type onStack) {
        ParameterType key = of(contained(type, 0), contained(onStack, 0), 0);
        ParameterType value = of(contained(type, 1), contained(onStack, 1), 0);
        if (value.kind == Kind.OTHER || !Dicts.isKeyType(key.text)) {
            return other(type);
        }
        String text = "Dict(" + key + ", " + value + ")";
        return new ParameterType(Kind.DICT, List.of(key, value), 0, elementType(onStack, 1), text);
    }

    private static ParameterType reference(Type type, Type onStack) {
        ParameterType value = of(contained(type, 0), contained(onStack, 0), 0);
        return new ParameterType(Kind.REFERENCE, List.of(value), 0, null, "RRef(" + value + ")");
    }

    /** Returns the type of a union, of those members that can be sent. */
    private static ParameterType union(Type type, Type onStack) {
        List<ParameterType> choices = new ArrayList<>();
        for (int i = 0; i < type.containedTypeSize(); i++) {
            choices.add(of(contained(type, i), contained(onStack, i), 0));
        }
        return new ParameterType(
                Kind.UNION, List.copyOf(choices), 0, null, type.str().getString());
    }

    private static ParameterType tuple(Type type, Type onStack) {
        List<ParameterType> elements = new ArrayList<>();
        long count = type.containedTypeSize();
        for (int i = 0; i < count; i++) {
            elements.add(of(contained(type, i), contained(onStack, i), 0));
        }
        // a named tuple has its fields by position on the stack, too
        boolean isPlain = elements.stream().noneMatch(element -> element.kind == Kind.OTHER);
        String texts = elements.stream().map(ParameterType::toString).collect(Collectors.joining(", ", "(", ")"));
        return isPlain ? new ParameterType(Kind.TUPLE, List.copyOf(elements), 0, null, texts) : other(type);
    }

    private static Kind kind(TypeKind typeKind) {
        switch (typeKind) {
            case TensorType:
                return Kind.TENSOR;
            case NumberType:
                return Kind.SCALAR;
            case IntType:
            case SymIntType:
                return Kind.INT;
            case FloatType:
            case SymFloatType:
                return Kind.FLOAT;
            case ComplexType:
                return Kind.COMPLEX;
            case BoolType:
            case SymBoolType:
                return Kind.BOOL;
            case StringType:
                return Kind.STRING;
            case DeviceObjType:
                return Kind.DEVICE;
            case GeneratorType:
                return Kind.GENERATOR;
            case AnyType:
                return Kind.ANY;
            case ScalarTypeType:
                return Kind.DTYPE;
            case LayoutType:
            case MemoryFormatType:
                return Kind.CODE;
            default:
                return Kind.OTHER;
        }
    }

    Kind kind() {
        return kind;
    }

    /** Returns the element of a list, an optional or a reference; the keys of a dict. */
    ParameterType element() {
        return elements.get(0);
    }

    /** Returns the elements of a tuple, the members of a union, or the keys and the values of a dict. */
    List<ParameterType> elements() {
        return elements;
    }

    /**
     * Returns libtorch's type of a list's elements, or a dict's values, which an empty one needs, too; null if the
     * schema leaves it open.
     */
    Type.TypePtr listType() {
        return listType;
    }

    /** Returns the fixed length of a list; 0 for none. */
    int fixedLength() {
        return fixedLength;
    }

    /** Returns how well a value fits: {@link #NO_FIT}, {@link #EXACT}, or a cost above it. */
    int fit(Value value) {
        switch (kind) {
            case TENSOR:
                return ScriptValues.isTensor(value) ? EXACT : ScriptValues.isNumber(value) ? WRAPPED : NO_FIT;
            case SCALAR:
                return ScriptValues.isNumber(value) ? EXACT : NO_FIT;
            case INT:
                return value instanceof Value.Int
                        ? EXACT
                        : value instanceof Value.Bool || value instanceof Value.OfDType ? CONVERTED : NO_FIT;
            case FLOAT:
                return value instanceof Value.Float
                        ? EXACT
                        : value instanceof Value.Int || value instanceof Value.Bool ? CONVERTED : NO_FIT;
            case COMPLEX:
                return value instanceof Value.Complex ? EXACT : ScriptValues.isNumber(value) ? CONVERTED : NO_FIT;
            case BOOL:
                return value instanceof Value.Bool ? EXACT : NO_FIT;
            case STRING:
                return value instanceof Value.Text ? EXACT : NO_FIT;
            case DEVICE:
                return value instanceof Value.OfDevice ? EXACT : ScriptValues.isDeviceText(value) ? CONVERTED : NO_FIT;
            case DTYPE:
                return value instanceof Value.OfDType ? EXACT : value instanceof Value.Int ? CONVERTED : NO_FIT;
            case CODE:
                return value instanceof Value.Int ? EXACT : NO_FIT;
            case OPTIONAL:
                return value instanceof Value.None ? EXACT : element().fit(value);
            case LIST:
                return fitList(value);
            case TUPLE:
                return fitTuple(value);
            case DICT:
                return fitDict(value);
            case GENERATOR:
                return value instanceof Value.Int ? EXACT : NO_FIT;
            case REFERENCE:
                return value instanceof Value.OfRRef ? EXACT : NO_FIT;
            case ANY:
                return GivenType.of(value) == null ? NO_FIT : OPEN;
            case UNION:
                ParameterType choice = choice(value);
                return choice == null ? NO_FIT : choice.fit(value);
            case OTHER:
                return NO_FIT;
        }
        throw new AssertionError(kind);
    }

    private int fitList(Value value) {
        List<Value> values = ScriptValues.elements(value);
        ParameterType element = element();
        if (values == null) {
            boolean one = fixedLength > 0 && (element.kind == Kind.INT || element.kind == Kind.FLOAT);
            return one && element.fit(value) != NO_FIT ? CONVERTED : NO_FIT;
        }
        int worst = EXACT;
        for (int i = 0; i < values.size(); i++) {
            int fit = element.fit(values.get(i));
            if (fit == NO_FIT) {
                return NO_FIT;
            }
            worst = Math.max(worst, fit);
        }
        return worst;
    }

    private int fitTuple(Value value) {
        List<Value> values = ScriptValues.elements(value);
        if (values == null || values.size() != elements.size()) {
            return NO_FIT;
        }
        int worst = EXACT;
        for (int i = 0; i < values.size(); i++) {
            int fit = elements.get(i).fit(values.get(i));
            if (fit == NO_FIT) {
                return NO_FIT;
            }
            worst = Math.max(worst, fit);
        }
        return worst;
    }

    private int fitDict(Value value) {
        if (!(value instanceof Value.Dict dict)) {
            return NO_FIT;
        }
        int worst = EXACT;
        for (Map.Entry<Value, Value> entry : dict.entries().entrySet()) {
            int key = elements.get(0).fit(entry.getKey());
            int element = elements.get(1).fit(entry.getValue());
            if (key == NO_FIT || element == NO_FIT) {
                return NO_FIT;
            }
            worst = Math.max(worst, Math.max(key, element));
        }
        return worst;
    }

    /** Returns the member of a union that a value fits best, the first of several; null if it fits none. */
    ParameterType choice(Value value) {
        ParameterType best = null;
        for (ParameterType choice : elements) {
            int fit = choice.fit(value);
            if (fit != NO_FIT && (best == null || fit < best.fit(value))) {
                best = choice;
            }
        }
        return best;
    }

    /** Returns the text form of a schema. */
    @Override
    public String toString() {
        return text;
    }
}
