package io.waybill.osgi;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A bundle that runs scripts without libtorch: a function {@code <module>.f} responds with its script's text. A script with the word
 * {@code broken} is refused.
 */
final class ScriptRuntime {

    private ScriptRuntime() {}

    static Path build(BundleForge forge, String version) throws IOException {
        return forge.bundle("org.acme.runtime", version)
                .handler("Type", "\"SCRIPT_CALL\"", "outbox.respond(Value.of(\"type\"));")
                .source("Runner", RUNNER)
                .build();
    }

    private static final String RUNNER = """
            @Component(immediate = true)
            public final class Runner
                    implements org.osgi.util.tracker.ServiceTrackerCustomizer<Script, ServiceRegistration<MessageHandler>> {
                private final BundleContext context;
                private final org.osgi.util.tracker.ServiceTracker<Script, ServiceRegistration<MessageHandler>> tracker;

                @Activate
                public Runner(BundleContext context) {
                    this.context = context;
                    this.tracker = new org.osgi.util.tracker.ServiceTracker<>(context, Script.class, this);
                    tracker.open();
                }

                @Deactivate
                public void close() {
                    tracker.close();
                }

                @Override
                public ServiceRegistration<MessageHandler> addingService(ServiceReference<Script> reference) {
                    Script script = context.getService(reference);
                    String text;
                    try {
                        text = java.nio.file.Files.readString(script.file());
                    } catch (java.io.IOException e) {
                        throw new IllegalStateException(e);
                    }
                    if (text.contains("broken")) {
                        script.refused("line 1 is broken");
                        return null;
                    }
                    Dictionary<String, Object> properties = new Hashtable<>();
                    properties.put("waybill.handles.message", "function:" + script.module() + ".f");
                    properties.put("service.ranking", script.ranking());
                    MessageHandler handler = (message, outbox) -> outbox.respond(Value.of(text));
                    ServiceRegistration<MessageHandler> served =
                            context.registerService(MessageHandler.class, handler, properties);
                    script.accepted(List.of("f() -> str"));
                    return served;
                }

                @Override
                public void modifiedService(ServiceReference<Script> reference, ServiceRegistration<MessageHandler> served) {}

                @Override
                public void removedService(ServiceReference<Script> reference, ServiceRegistration<MessageHandler> served) {
                    served.unregister();
                    context.ungetService(reference);
                }
            }
            """;
}
