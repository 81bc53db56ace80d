package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.handler.FieldType;
import io.waybill.api.handler.OperationDescription;
import io.waybill.osgi.jar.BundleRefusedException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;

/** A bundle that is said to be installed serves: what keeps a service of it from being used refuses the bundle. */
@Timeout(120)
class UnusableServicesBundleTest {

    private TestNode node;
    private BundleForge forge;

    @BeforeEach
    void startNode(@TempDir Path directory) throws Exception {
        forge = new BundleForge(directory);
        node = new TestNode(directory);
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
    }

    @AfterEach
    void stopNode() {
        node.close();
    }

    /** Registers a service with a property whose value throws as soon as it is read as a text. */
    private Path registering(String kind, String body, String key, String unreadable) throws Exception {
        return forge.bundle("org.acme.count", "2.0.0")
                .source(
                        "Unreadable",
                        "public final class Unreadable {"
                                + " @Override public String toString() { throw new IllegalStateException(\"no text\"); } }")
                .source("Service", "public final class Service implements " + kind + " { " + body + " }")
                .source(
                        "Activator",
                        "public final class Activator implements BundleActivator {"
                                + " public void start(BundleContext c) {"
                                + " Hashtable<String, Object> properties = new Hashtable<>();"
                                + " properties.put(\"" + key + "\", \"text.count\");"
                                + " properties.put(\"" + unreadable + "\", new Unreadable());"
                                + " c.registerService(" + kind + ".class, new Service(), properties); }"
                                + " public void stop(BundleContext c) {} }")
                .header("Bundle-Activator", "acme.Activator")
                .build();
    }

    @ParameterizedTest
    @CsvSource({
        "waybill.handles.message, waybill.non.blocking",
        "waybill.handles.message, waybill.delivery",
        "waybill.intercepts.message, waybill.when.away"
    })
    void refuseTheirBundleWhenAPropertyCantBeRead(String key, String unreadable) throws Exception {
        boolean isHandler = key.contains("handles");
        Path jar = registering(
                isHandler ? "MessageHandler" : "HandlerInterceptor",
                isHandler
                        ? "public void handle(Message m, Outbox o) {}"
                        : "public void before(InterceptedMessage m, Outbox o) {}",
                key,
                unreadable);

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContainingAll("can't be used", "no text", "org.acme.count 1.0.0 still serves");
        assertThat(node.response()).as("of the version that served before").isEqualTo("one");
    }

    @Test
    void refuseTheirBundleWhenAConverterNamesNoDevice() throws Exception {
        Path jar =
                forge.bundle("org.acme.count", "2.0.0").source("Nowhere", """
                        @Component public final class Nowhere implements DeviceConverter {
                            public Optional<String> unavailable() { return Optional.empty(); }
                            public Optional<Storage> prepareForSending(
                                    Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
                                return Optional.empty();
                            }
                            public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
                                return arrived;
                            }
                        }
                        """).build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining("a converter says which device type it serves");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "name = \"text.cuont\", summary = \"Counts.\" | the description of operation text.cuont: expected a key of"
                        + " its handler, which takes [text.count]",
                "name = \"text.count\", summary = \"\" | the description of operation text.count: the summary has 1 to 200"
                        + " chars, and this one has 0",
                "name = \"text.count\", summary = \"Counts.\", argumentsOf = gone.Arguments.class | the descriptions of"
                        + " operations of acme.Count can't be read: java.lang.TypeNotPresentException",
                "name = \"text.count\", summary = \"Counts.\", argumentsOf = Count.Of.class | the descriptions of"
                        + " operations of acme.Count can't be read: java.lang.NoClassDefFoundError",
            })
    void refuseTheirBundleWhenADescriptionIsWrong(String description, String problem) throws Exception {
        Path jar = describing("2.0.0", description);

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining(problem);
        assertThat(node.response()).as("of the version that served before").isEqualTo("one");
    }

    @Test
    void keepTheirDescriptionWhenItIsRight() throws Exception {
        node.bundles().uninstall("org.acme.count");
        String record = ", argumentsOf = Count.Words.class";
        node.bundles().install(describing("1.0.0", "name = \"text.count\", summary = \"Counts.\"" + record));

        assertThat(node.entry("text.count").descriptions())
                .containsExactly(OperationDescription.of("text.count", "Counts.")
                        .argument("text", FieldType.TEXT, "what is counted"));
    }

    /** A handler of text.count with a description, and a package that it can't see. */
    private Path describing(String version, String description) throws Exception {
        return forge.bundle("org.acme.count", version)
                .library("gone", "Arguments", "public record Arguments(String text) {}")
                .source("Count", """
                        @Component @HandlesMessage("text.count") @DescribesOperation(DESCRIPTION)
                        public final class Count implements MessageHandler {
                            public record Words(@FieldText("what is counted") String text) {}
                            public record Of(gone.Arguments arguments) {}
                            @Override public void handle(Message message, Outbox outbox) { outbox.response(); }
                        }
                        """.replace("DESCRIPTION", description))
                .header("Import-Package", "!gone,*")
                .build();
    }

    @Test
    void areSatisfiedComponentsWithoutARegistration() {
        ComponentConfigurationDTO configuration = new ComponentConfigurationDTO();
        configuration.description = new ComponentDescriptionDTO();
        configuration.description.serviceInterfaces = new String[] {"io.waybill.api.handler.MessageHandler"};
        configuration.state = ComponentConfigurationDTO.SATISFIED;

        assertThat(ComponentCheck.isUnregistered(configuration))
                .as("a satisfied component whose service is not registered counts as incomplete")
                .isTrue();
        configuration.description.serviceInterfaces = new String[0];
        assertThat(ComponentCheck.isUnregistered(configuration))
                .as("one that is no service")
                .isFalse();
    }
}
