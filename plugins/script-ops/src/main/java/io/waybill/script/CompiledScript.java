package io.waybill.script;

import io.waybill.api.Script;
import io.waybill.script.source.Intrinsic;
import io.waybill.script.source.RpcText;
import io.waybill.script.source.ScriptRefusedException;
import io.waybill.script.source.SourceText;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.CompilationUnit;
import org.bytedeco.pytorch.Function;
import org.bytedeco.pytorch.FunctionVector;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.QualifiedName;
import org.bytedeco.pytorch.QualifiedNameOptional;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;

/**
 * One version of a script: its functions, and their native state in libtorch.
 *
 * <p><b>Lifetime.</b> Its compiler closes it. A call enters before it runs a function and leaves afterwards; the native
 * side is freed when it is closed and the last call has left. <b>Threads.</b> Any.
 */
final class CompiledScript implements AutoCloseable {

    /** Scripts of this process that are compiled and not freed. */
    private static final AtomicInteger LIVE = new AtomicInteger();

    private static final int MAX_FUNCTIONS = 1_000;

    private final String module;
    private final int ranking;
    private final List<ScriptFunction> functions = new ArrayList<>();
    /** Native objects; each holds one reference. */
    private final List<Pointer> owned = new ArrayList<>(2);
    /** The numbers of the sites at which it calls other workers. */
    private final List<Long> sites = new ArrayList<>(0);
    /** The maker's use of it, and one for each call in it. */
    private final AtomicInteger uses = new AtomicInteger(1);

    private CompiledScript(Script script) {
        this.module = script.module();
        this.ranking = script.ranking();
        LIVE.incrementAndGet();
    }

    /**
     * Compiles a source, or loads a module.
     *
     * @throws ScriptRefusedException with libtorch's text when it can't be compiled
     */
    @SuppressWarnings("try")
    static CompiledScript of(Script script) throws ScriptRefusedException {
        CompiledScript compiled = new CompiledScript(script);
        boolean done = false;
        try (PointerScope scope = new PointerScope()) {
            switch (script.form()) {
                case SOURCE -> compiled.compile(script.file());
                case MODULE -> compiled.load(script.file());
            }
            compiled.requireFunctions();
            done = true;
            return compiled;
        } catch (RuntimeException e) {
            throw ScriptRefusedException.of(e);
        } catch (IOException e) {
            throw new ScriptRefusedException("it can't be read: " + e.getMessage(), e);
        } finally {
            if (!done) {
                compiled.close();
            }
        }
    }

    private void compile(Path file) throws IOException, ScriptRefusedException {
        String text = SourceText.prepared(text(file));
        if (!RpcText.isNeeded(text)) {
            define(own(new CompilationUnit()), text).forEach(this::add);
            return;
        }
        RpcText.Prepared prepared = RpcText.of(text, this::resultType);
        Map<String, Function> defined = new LinkedHashMap<>();
        for (Function function : define(own(new CompilationUnit()), prepared.text())) {
            defined.put(Signature.text(function.name()), function);
        }
        for (RpcText.Target target : prepared.targets()) {
            Function bridge = defined.remove(target.bridge());
            defined.remove(target.caller());
            Type result = RpcGraphs.resultType(target.way(), bridge);
            RpcSite site =
                    new RpcSite(target.way(), module + "." + target.function(), ParameterType.of(result, result, 0));
            sites.add(site.register());
            RpcGraphs.call(bridge, sites.get(sites.size() - 1));
        }
        for (Intrinsic intrinsic : prepared.intrinsics()) {
            defined.remove(intrinsic.caller());
            RpcGraphs.call(defined.remove(intrinsic.bridge()), intrinsic);
        }
        for (Function function : defined.values()) {
            RpcGraphs.await(function);
            add(function);
        }
    }

    private void add(Function function) {
        functions.add(ScriptFunction.plain(this, module, function));
    }

    private List<Function> define(CompilationUnit unit, String text) {
        FunctionVector defined = unit.define(
                new QualifiedNameOptional(new QualifiedName(module)),
                new BytePointer(text, StandardCharsets.UTF_8),
                torch.nativeResolver(),
                null);
        List<Function> all = new ArrayList<>();
        for (long i = 0; i < defined.size(); i++) {
            all.add(defined.get(i));
        }
        return all;
    }

    /**
     * Returns the type that libtorch infers for a function's result, if the function makes no calls and so compiles by
     * itself.
     */
    private String resultType(String function, String textWithoutCalls) throws ScriptRefusedException {
        String why = "it calls other workers itself";
        try {
            for (Function defined : define(new CompilationUnit(), textWithoutCalls)) {
                if (Signature.text(defined.name()).equals(function)) {
                    return defined.getSchema()
                            .returns()
                            .type()
                            .get()
                            .annotation_str()
                            .getString();
                }
            }
        } catch (RuntimeException e) {
            why = ScriptRefusedException.of(e).getMessage();
        }
        throw new ScriptRefusedException("the function " + function
                + " is called on other workers, and the type of its result is not known: write it behind its header, as in"
                + " def " + function + "(x) -> Tensor; " + why);
    }

    private static String text(Path file) throws IOException, ScriptRefusedException {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
            String text = StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
            if (text.indexOf('\0') >= 0) {
                throw new ScriptRefusedException("a source holds text, and this has a zero byte");
            }
            return text;
        } catch (CharacterCodingException e) {
            throw new ScriptRefusedException("a source is text in UTF-8, and this is not", e);
        }
    }

    private void load(Path file) {
        JitModule loaded = own(torch.load(new BytePointer(file.toString(), StandardCharsets.UTF_8)));
        IValue self = own(new IValue(loaded._ivalue()));
        FunctionVector methods = loaded.type().methods();
        for (long i = 0; i < methods.size(); i++) {
            if (!Signature.text(methods.get(i).name()).startsWith("__")) {
                functions.add(ScriptFunction.method(this, module, methods.get(i), self));
            }
        }
    }

    private void requireFunctions() throws ScriptRefusedException {
        if (functions.isEmpty() || functions.size() > MAX_FUNCTIONS) {
            throw new ScriptRefusedException(
                    "a script holds 1 to " + MAX_FUNCTIONS + " functions, and this holds " + functions.size());
        }
    }

    private <P extends Pointer> P own(P pointer) {
        pointer.retainReference(); // so that the scope does not free it
        owned.add(pointer);
        return pointer;
    }

    List<ScriptFunction> functions() {
        return functions;
    }

    int ranking() {
        return ranking;
    }

    /** Begins a use; false when it is closed. */
    boolean enter() {
        return uses.getAndUpdate(held -> held == 0 ? 0 : held + 1) > 0;
    }

    /** Ends a use. */
    void leave() {
        if (uses.decrementAndGet() == 0) {
            for (int i = owned.size() - 1; i >= 0; i--) {
                owned.get(i).releaseReference();
            }
            sites.forEach(RpcSite::forget);
            LIVE.decrementAndGet();
        }
    }

    @Override
    public void close() {
        leave();
    }

    /** Returns how many scripts of this process are compiled and not freed. */
    static int liveCount() {
        return LIVE.get();
    }
}
