package io.waybill.script;

import io.waybill.api.Script;
import io.waybill.script.source.ElementTypes;
import io.waybill.script.source.Intrinsic;
import io.waybill.script.source.RpcText;
import io.waybill.script.source.SavedCalls;
import io.waybill.script.source.ScriptRefusedException;
import io.waybill.script.source.SourceArchive;
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
import java.util.Set;
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
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;

/**
 * One version of a script: its functions, and their native state in libtorch.
 *
 * <p><b>Lifetime.</b> Its compiler closes it. A call enters before it runs a function and leaves afterwards; the native
 * side is freed when it is closed and the last call has left. <b>Threads.</b> Any.
 */
final class CompiledScript implements AutoCloseable {

    /** Number of scripts of this process that are compiled and not freed. */
    private static final AtomicInteger LIVE = new AtomicInteger();

    private static final int MAX_FUNCTIONS = 1_000;

    /** Max number of refused functions of a source, after which the source is refused. */
    private static final int MAX_REFUSED = 100;

    private final String module;
    private final int ranking;
    private final List<ScriptFunction> functions = new ArrayList<>();
    /** Reasons why functions of a source are not served, by function name. */
    private final Map<String, String> refusals = new LinkedHashMap<>();
    /** Native objects; each holds one reference. */
    private final List<Pointer> owned = new ArrayList<>(2);
    /** Numbers of the sites that call other workers. */
    private final List<Long> sites = new ArrayList<>(0);
    /** Count of uses: one by the creator, and one for each call in it. */
    private final AtomicInteger uses = new AtomicInteger(1);

    private CompiledScript(Script script) {
        this.module = script.module();
        this.ranking = script.ranking();
        LIVE.incrementAndGet();
    }

    /**
     * Compiles a source, or loads a module.
     *
     * @throws ScriptRefusedException with libtorch's text if it can't be compiled
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
        String text = text(file);
        RpcText.Prepared prepared = RpcText.isNeeded(text) ? null : new RpcText.Prepared(text, List.of(), Set.of());
        while (prepared == null) {
            try {
                prepared = RpcText.of(text, (function, plain) -> resultType(file, function, plain));
            } catch (ScriptRefusedException e) {
                SourceText.Cut cut = SourceText.without(text, e).orElseThrow(() -> e);
                refusals.put(cut.function(), e.getMessage());
                text = cut.text();
            }
        }
        SourceText source = SourceText.of(module, prepared.text());
        Map<String, Function> defined = define(source, file, RpcText.isNeeded(text));
        refusals.putAll(source.refusals());
        for (RpcText.Target target : prepared.targets()) {
            bridge(target, defined);
        }
        for (Intrinsic intrinsic : prepared.intrinsics()) {
            defined.remove(intrinsic.caller());
            RpcGraphs.call(defined.remove(intrinsic.bridge()), intrinsic);
        }
        for (Function function : defined.values()) {
            ElementTypes types = source.elementTypes(Signature.text(function.name()));
            functions.add(ScriptFunction.plain(this, module, function, types));
        }
    }

    private void bridge(RpcText.Target target, Map<String, Function> defined) throws ScriptRefusedException {
        Function bridge = defined.remove(target.bridge());
        defined.remove(target.caller());
        if (bridge == null) {
            throw new ScriptRefusedException(
                    "the calls of " + target.function() + " can't be compiled: " + refusals.get(target.bridge()));
        }
        Type result = RpcGraphs.resultType(target.way(), bridge);
        RpcSite site = new RpcSite(target.way(), module + "." + target.function(), ParameterType.of(result, result, 0));
        sites.add(site.register());
        RpcGraphs.call(bridge, sites.get(sites.size() - 1));
    }

    /**
     * Compiles the functions of a source, and refuses those that can't be compiled.
     *
     * @param calls whether they call other workers
     */
    private Map<String, Function> define(SourceText source, Path file, boolean calls)
            throws IOException, ScriptRefusedException {
        for (int refused = 0; ; refused++) {
            Path archive = Files.createTempFile(file.toAbsolutePath().getParent(), module, ".tmp");
            try {
                SourceArchive.write(source, archive);
                return functions(
                        source, calls, torch.load(new BytePointer(archive.toString(), StandardCharsets.UTF_8)));
            } catch (RuntimeException e) {
                ScriptRefusedException refusal = ScriptRefusedException.of(e, source);
                if (!source.refuse(refusal) || refused == MAX_REFUSED) {
                    throw refusal;
                }
            } finally {
                Files.delete(archive);
            }
        }
    }

    private Map<String, Function> functions(SourceText source, boolean calls, JitModule loaded) {
        own(loaded);
        CompilationUnit unit = own(loaded._ivalue().compilation_unit());
        Map<String, Function> defined = new LinkedHashMap<>();
        for (String function : source.functions()) {
            defined.put(function, unit.find_function(new QualifiedName(source.namespace() + "." + function)));
        }
        FunctionVector all = unit.get_functions();
        for (long i = 0; i < all.size(); i++) { // methods of classes wait, too
            if (calls) {
                RpcGraphs.await(all.get(i));
            } else { // libtorch waits by itself, also on its own threads; this defines a function before its first call
                torch.toGraphFunction(all.get(i)).graph();
            }
        }
        return defined;
    }

    /**
     * Returns the type that libtorch infers for a function's result, if the function has no calls, so that it compiles
     * by itself.
     */
    private String resultType(Path file, String function, String textWithoutCalls) throws ScriptRefusedException {
        String why = "it calls other workers itself";
        try {
            SourceText source = SourceText.of(module, textWithoutCalls);
            Function defined = define(source, file, false).get(function);
            if (defined != null) {
                return defined.getSchema()
                        .returns()
                        .type()
                        .get()
                        .annotation_str()
                        .getString();
            }
            why = source.refusals().getOrDefault(function, why);
        } catch (IOException e) {
            why = e.getMessage();
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
            } else if (text.startsWith("\ufeff")) {
                throw new ScriptRefusedException("a source begins with its text, and this with a byte order mark:"
                        + " save it as UTF-8 without one");
            }
            return text;
        } catch (CharacterCodingException e) {
            throw new ScriptRefusedException("a source is text in UTF-8, and this is not", e);
        }
    }

    private void load(Path file) throws IOException, ScriptRefusedException {
        SavedCalls.requireNone(file);
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
            String why = refusals.values().stream().limit(10).collect(java.util.stream.Collectors.joining("\n"));
            throw new ScriptRefusedException(
                    why.isEmpty()
                            ? "a script holds 1 to " + MAX_FUNCTIONS + " functions, and this holds " + functions.size()
                            : why);
        }
    }

    private <P extends Pointer> P own(P pointer) {
        pointer.retainReference(); // prevents the scope from freeing it
        owned.add(pointer);
        return pointer;
    }

    List<ScriptFunction> functions() {
        return functions;
    }

    /** Returns why functions of a source are not served, by their name. */
    Map<String, String> refusals() {
        return refusals;
    }

    int ranking() {
        return ranking;
    }

    /** Begins a use; returns false if the script is closed. */
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

    /** Returns the number of scripts of this process that are compiled and not freed. */
    static int liveCount() {
        return LIVE.get();
    }
}
