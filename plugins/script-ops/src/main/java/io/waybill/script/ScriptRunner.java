package io.waybill.script;

import io.waybill.api.Script;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.script.source.ScriptRefusedException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/**
 * Runner of the scripts that the node publishes: compiles each, and publishes a handler for its functions while the
 * script exists.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that publishes a script or withdraws it, which waits until
 * running calls have ended, up to the drain limit. A version is freed when the last of its calls has ended, however
 * late.
 */
@Component(
        service = {},
        immediate = true)
public final class ScriptRunner {

    private static final Logger LOG = System.getLogger(ScriptRunner.class.getName());

    private static final String FUNCTION_PREFIX = "function:";
    private static final String HANDLES = HandlesMessage.PREFIX_ + "handles.message";

    private final BundleContext context;
    private final ScriptEngine engine;
    private final Map<Script, Served> served = new ConcurrentHashMap<>();

    /** Served script. */
    private record Served(CompiledScript script, ServiceRegistration<MessageHandler> handler) {}

    @Activate
    public ScriptRunner(BundleContext context, @Reference ScriptEngine engine) {
        this.context = context;
        this.engine = engine;
    }

    /** Adds a script. On return it is served, or was rejected. */
    @Reference(name = "scripts", cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
    void add(Script script) {
        try {
            CompiledScript compiled = CompiledScript.of(script);
            served.put(script, new Served(compiled, publish(script, compiled)));
            engine.functions().add(compiled);
            Map<String, String> refusals = refusals(script, compiled);
            engine.functions().refuse(script, refusals);
            script.accepted(Stream.concat(
                            compiled.functions().stream()
                                    .map(function -> function.signature().toString()),
                            refusals.entrySet().stream()
                                    .map(refusal -> refusal.getKey() + " is not served: "
                                            + refusal.getValue()
                                                    .lines()
                                                    .findFirst()
                                                    .orElse("")))
                    .toList());
        } catch (ScriptRefusedException e) {
            engine.functions().refuse(script, Map.of(script.module() + ".", where(script, e.getMessage())));
            script.refused(e.getMessage());
        }
    }

    /** Logs the refused functions of a served script. */
    private static Map<String, String> refusals(Script script, CompiledScript compiled) {
        Map<String, String> refusals = new TreeMap<>();
        compiled.refusals().forEach((function, why) -> {
            String name = script.module() + "." + function;
            refusals.put(name, where(script, why));
            LOG.log(
                    Level.WARNING,
                    "The function " + name + " is not served, the others of its file are: " + where(script, why));
        });
        return refusals;
    }

    private static String where(Script script, String why) {
        return script.origin() + ", " + why;
    }

    private ServiceRegistration<MessageHandler> publish(Script script, CompiledScript compiled) {
        Dictionary<String, Object> properties = new Hashtable<>();
        properties.put(
                HANDLES,
                compiled.functions().stream()
                        .map(function -> FUNCTION_PREFIX + function.name())
                        .toArray(String[]::new));
        properties.put(Constants.SERVICE_RANKING, script.ranking());
        return context.registerService(MessageHandler.class, new FunctionCall(engine, compiled), properties);
    }

    /** Removes a script. On return its running calls have completed or exceeded the limit. */
    void remove(Script script) {
        engine.functions().forget(script);
        Served gone = served.remove(script);
        if (gone != null) {
            engine.functions().remove(gone.script);
            withdraw(gone.handler);
            gone.script.close();
        }
    }

    private static void withdraw(ServiceRegistration<MessageHandler> handler) {
        try {
            handler.unregister();
        } catch (IllegalStateException e) {
            // this bundle is stopping, and the framework has already removed it
        }
    }
}
