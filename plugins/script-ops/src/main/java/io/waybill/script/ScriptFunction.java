package io.waybill.script;

import io.waybill.script.source.ElementTypes;
import org.bytedeco.pytorch.Function;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.global.torch;

/**
 * A function of a script, or a method of a saved module. Safe for several threads, as long as its script is open.
 *
 * <p><b>Ownership.</b> The script owns the native function and the module.
 */
final class ScriptFunction implements Routine {

    private final CompiledScript script;
    private final String name;
    private final Signature signature;
    private final Function function;
    private final IValue self;
    private final ElementTypes elementTypes;

    private ScriptFunction(
            CompiledScript script,
            String name,
            Signature signature,
            Function function,
            IValue self,
            ElementTypes elementTypes) {
        this.elementTypes = elementTypes;
        this.script = script;
        this.name = name;
        this.signature = signature;
        this.function = function;
        this.self = self;
    }

    /**
     * Creates a function without a module object.
     *
     * @param elementTypes positions of element types in its result, which are ints in libtorch
     */
    static ScriptFunction plain(CompiledScript script, String module, Function function, ElementTypes elementTypes) {
        String schema = torch.toString(function.getSchema()).getString();
        Signature signature = Signature.of(function.getSchema(), module + "." + schema, 0);
        return new ScriptFunction(script, name(module, function), signature, function, null, elementTypes);
    }

    /** Creates a method of a module, which is its first argument. */
    static ScriptFunction method(CompiledScript script, String module, Function function, IValue self) {
        String schema = torch.toString(function.getSchema()).getString().replaceFirst("\\([^,)]* self(, )?", "(");
        Signature signature = Signature.of(function.getSchema(), module + "." + schema, 1);
        return new ScriptFunction(script, name(module, function), signature, function, self, ElementTypes.NONE);
    }

    private static String name(String module, Function function) {
        return module + "." + Signature.text(function.name());
    }

    CompiledScript script() {
        return script;
    }

    /** Returns the name in calls, such as {@code math.scale}. */
    String name() {
        return name;
    }

    @Override
    public Signature signature() {
        return signature;
    }

    ElementTypes elementTypes() {
        return elementTypes;
    }

    /** Pushes the values before the caller's arguments. */
    void begin(CallStack stack) {
        if (self != null) {
            stack.push(self);
        }
    }

    @Override
    public void run(IValueVector stack) {
        function.run(stack);
    }

    @Override
    public String toString() {
        return name;
    }
}
