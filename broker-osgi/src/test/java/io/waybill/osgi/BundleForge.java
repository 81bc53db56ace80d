package io.waybill.osgi;

import aQute.bnd.osgi.Builder;
import aQute.bnd.osgi.Jar;
import io.waybill.api.handler.Exclusive;
import io.waybill.api.handler.MessageHandler;
import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.osgi.service.component.annotations.Component;

/** Makes bundles for tests: compiles sources and lets bnd write the manifest and the component descriptions. */
public final class BundleForge {

    /** On one line, whatever is added: tests expect the lines of what follows. */
    private static final String API_IMPORTS = String.join(
            " ",
            "import io.waybill.api.*;",
            "import io.waybill.api.broker.*;",
            "import io.waybill.api.device.*;",
            "import io.waybill.api.handler.*;",
            "import io.waybill.api.intercept.*;",
            "import io.waybill.api.policy.*;",
            "import io.waybill.api.tensor.*;",
            "import io.waybill.api.tool.*;");

    private static final String IMPORTS = String.join(
            "\n",
            API_IMPORTS,
            "import java.util.concurrent.*;",
            "import java.util.*;",
            "import org.osgi.framework.*;",
            "import org.osgi.service.component.annotations.*;",
            "");

    private final Path directory;
    private final AtomicInteger count = new AtomicInteger();

    public BundleForge(Path directory) {
        this.directory = directory;
    }

    /** A bundle to be described. */
    public Draft bundle(String symbolicName, String version) {
        return new Draft(symbolicName, version);
    }

    /** A bundle with a handler of {@code text.count} that responds with {@code response}. */
    Path responding(String symbolicName, String version, String response) throws IOException {
        return bundle(symbolicName, version)
                .handler("Count", "\"text.count\"", "outbox.respond(Value.of(\"" + response + "\"));")
                .build();
    }

    /** What is known of a bundle before it is built. */
    public final class Draft {
        private final String symbolicName;
        private final Map<String, String> sources = new LinkedHashMap<>();
        private final Map<String, String> headers = new LinkedHashMap<>();

        Draft(String symbolicName, String version) {
            this.symbolicName = symbolicName;
            headers.put("Bundle-SymbolicName", symbolicName);
            headers.put("Bundle-Version", version);
            headers.put("-privatepackage", "acme");
        }

        /** A header of the manifest, or an instruction of bnd. */
        public Draft header(String key, String value) {
            headers.put(key, value);
            return this;
        }

        /** Lets its versions run one after the other. */
        Draft exclusive() {
            return header("Provide-Capability", Exclusive.NAMESPACE);
        }

        /** A class in package acme; imports of the API, of DS and of some of java.util come with it. */
        public Draft source(String className, String declaration) {
            sources.put("acme/" + className + ".java", "package acme;\n" + IMPORTS + declaration);
            return this;
        }

        /** A class in a package of its own. */
        public Draft library(String packageName, String className, String declaration) {
            sources.put(
                    packageName.replace('.', '/') + "/" + className + ".java",
                    "package " + packageName + ";\n" + declaration);
            return this;
        }

        /** A handler component with this body. */
        Draft handler(String className, String keys, String body) {
            return source(
                    className,
                    "@Component @HandlesMessage({" + keys + "}) public final class " + className
                            + " implements MessageHandler {\n"
                            + "@Override public void handle(Message message, Outbox outbox)"
                            + " throws RejectedMessageException {\n" + body + "\n}}");
        }

        public Path build() throws IOException {
            return build(directory.resolve(symbolicName + "-" + count.incrementAndGet() + ".jar"));
        }

        Path build(Path jarFile) throws IOException {
            Path classes = directory.resolve("classes-" + count.incrementAndGet());
            Files.createDirectories(classes);
            compile(sources, classes);
            try (Builder builder = new Builder()) {
                headers.forEach(builder::setProperty);
                builder.addClasspath(classes.toFile());
                builder.addClasspath(at(MessageHandler.class));
                builder.addClasspath(at(Component.class));
                builder.addClasspath(at(org.osgi.framework.Bundle.class));
                try (Jar jar = builder.build()) {
                    if (!builder.getErrors().isEmpty()) {
                        throw new IllegalStateException("bnd: " + builder.getErrors());
                    }
                    jar.write(jarFile.toFile());
                }
            } catch (IOException | RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("bnd failed", e);
            }
            return jarFile;
        }
    }

    private static File at(Class<?> type) {
        return new File(URI.create(
                type.getProtectionDomain().getCodeSource().getLocation().toString()));
    }

    private static void compile(Map<String, String> sources, Path classes) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<JavaFileObject> files = sources.entrySet().stream()
                .<JavaFileObject>map(source -> new Source(source.getKey(), source.getValue()))
                .toList();
        StringWriter messages = new StringWriter();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, Locale.ROOT, null)) {
            List<String> options = List.of(
                    "-d",
                    classes.toString(),
                    "-classpath",
                    System.getProperty("java.class.path"),
                    "-proc:none",
                    "--release",
                    "17");
            if (!compiler.getTask(messages, manager, null, options, null, files).call()) {
                throw new IllegalStateException(messages.toString());
            }
        }
    }

    /** A source that lies in memory. */
    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String path, String text) {
            super(URI.create("string:///" + path), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }
}
