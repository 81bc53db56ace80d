package io.waybill.script;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GenericDict;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.Operation;
import org.bytedeco.pytorch.OperatorVector;
import org.bytedeco.pytorch.Symbol;
import org.bytedeco.pytorch.Tuple;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;

/**
 * Creates libtorch's dicts, which Java can't construct, with the interpreter's own {@code aten::dict}, from a list of
 * pairs.
 *
 * <p><b>Threads.</b> Any. <b>Lifetime.</b> Libtorch is loaded before this class is.
 */
final class Dicts {

    /** Operations by the type of the keys. */
    private static final Map<String, Operation> MAKERS =
            List.of("str", "int", "bool", "float", "complex", "Tensor").stream()
                    .collect(Collectors.toMap(key -> key, Dicts::find));

    private Dicts() {}

    @SuppressWarnings("try")
    private static Operation find(String overload) {
        try (PointerScope scope = new PointerScope()) {
            OperatorVector found = torch.getAllOperatorsFor(Symbol.fromQualString("aten::dict"));
            for (long i = 0; i < found.size(); i++) {
                if (Signature.text(found.get(i).schema().overload_name()).equals(overload)) {
                    Operation operation = found.get(i).getOperation();
                    operation.retainReference();
                    return operation;
                }
            }
        }
        throw new IllegalStateException("libtorch has no operator aten::dict." + overload);
    }

    static boolean isKeyType(String type) {
        return type != null && MAKERS.containsKey(type);
    }

    /**
     * Creates a dict, in the order of the keys.
     *
     * @param keyType type for which {@link #isKeyType} is true
     * @param valueType type of the values, or a supertype
     */
    static IValue of(String keyType, Type.TypePtr valueType, List<IValue> keys, List<IValue> values) {
        GenericList pairs = new GenericList(GivenType.pointer("(" + keyType + ", " + GivenType.ANY + ")"));
        for (int i = 0; i < keys.size(); i++) {
            IValueVector pair = new IValueVector();
            pair.push_back(keys.get(i));
            pair.push_back(values.get(i));
            pairs.push_back(new IValue(Tuple.create(pair)));
        }
        IValueVector stack = new IValueVector();
        stack.push_back(new IValue(pairs));
        MAKERS.get(keyType).apply(stack);
        GenericDict dict = stack.get(0).toGenericDict();
        dict.unsafeSetValueType(valueType);
        return new IValue(dict);
    }
}
