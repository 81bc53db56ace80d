package io.waybill.distribution;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.jar.Attributes;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.ZipEntry;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Makes bundles with one handler for tests of the distribution, with nothing but a JDK and the distribution's own jars: what bnd would
 * write is written by hand.
 */
final class BundleMaker {

    private static final String COMPONENT = """
            <?xml version="1.0" encoding="UTF-8"?>
            <scr:component xmlns:scr="http://www.osgi.org/xmlns/scr/v1.3.0" name="%1$s">
              <implementation class="%1$s"/>
              <service><provide interface="io.waybill.api.handler.MessageHandler"/></service>
              <property name="waybill.handles.message" type="String" value="%2$s"/>
              <property name="waybill.non.blocking" type="Boolean" value="%3$s"/>
              %4$s
            </scr:component>
            """;
    private static final String REFERENCE = "<reference name=\"%2$s\" interface=\"%1$s\" field=\"%2$s\"/>";

    private final Path directory;
    private final Path libraries;

    BundleMaker(Path directory, Path libraries) {
        this.directory = directory;
        this.libraries = libraries;
    }

    /** Copies a bundle under another version number. */
    static void writeOtherVersion(Path jar, String version, Path target) throws IOException {
        try (JarInputStream entries = new JarInputStream(Files.newInputStream(jar))) {
            Manifest manifest = entries.getManifest();
            manifest.getMainAttributes().putValue("Bundle-Version", version);
            try (JarOutputStream copy = new JarOutputStream(Files.newOutputStream(target), manifest)) {
                for (ZipEntry entry = entries.getNextEntry(); entry != null; entry = entries.getNextEntry()) {
                    put(copy, entry.getName(), entries.readAllBytes());
                }
            }
        }
    }

    /** A bundle to be described. */
    Draft bundle(String name, String operation) {
        return new Draft(name, operation);
    }

    /** What is known of a bundle before it is built. */
    final class Draft {
        private final String name;
        private final String operation;
        private final Manifest manifest = new Manifest();
        private String version = "1.0.0";
        private boolean nonBlocking;
        private String body = "outbox.respond(Value.of(\"on\"));";
        private String members = "";
        private String references = "";

        private Draft(String name, String operation) {
            this.name = name;
            this.operation = operation;
        }

        Draft version(String other) {
            version = other;
            return this;
        }

        Draft nonBlocking() {
            nonBlocking = true;
            return this;
        }

        /** What the handler does; it responds {@code on} otherwise. */
        Draft body(String statements) {
            body = statements;
            return this;
        }

        /** Also an activator, whose start does this. */
        Draft start(String statements) {
            members += "@Override public void start(org.osgi.framework.BundleContext c) {" + statements + "}\n"
                    + "@Override public void stop(org.osgi.framework.BundleContext c) {}\n";
            manifest.getMainAttributes().putValue("Bundle-Activator", "bad.Handler");
            return this;
        }

        /** A field with a service of this type, as {@code @Reference} declares it. */
        Draft reference(String type, String field) {
            references += REFERENCE.formatted(type, field);
            return members("private " + type + " " + field + ";\n");
        }

        /** Other members of the handler's class. */
        Draft members(String declarations) {
            members += declarations;
            return this;
        }

        Draft header(String key, String value) {
            manifest.getMainAttributes().putValue(key, value);
            return this;
        }

        Path build() throws IOException {
            Path work = Files.createDirectories(directory.resolve(name + "-" + version));
            Path source = Files.writeString(work.resolve("Handler.java"), source());
            compile(source, work);
            Path jar = directory.resolve(name + "-" + version + ".jar");
            headers();
            try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
                try (DirectoryStream<Path> classes = Files.newDirectoryStream(work.resolve("bad"), "*.class")) {
                    for (Path each : classes) {
                        put(out, "bad/" + each.getFileName(), Files.readAllBytes(each));
                    }
                }
                String component = COMPONENT.formatted("bad.Handler", operation, nonBlocking, references);
                put(out, "OSGI-INF/bad.Handler.xml", component.getBytes(StandardCharsets.UTF_8));
            }
            return jar;
        }

        private String source() {
            boolean activated = manifest.getMainAttributes().getValue("Bundle-Activator") != null;
            return "package bad;\nimport io.waybill.api.*;\nimport io.waybill.api.handler.*;\n"
                    + "public final class Handler implements MessageHandler"
                    + (activated ? ", org.osgi.framework.BundleActivator" : "") + " {\n" + members
                    + "@Override public void handle(Message message, Outbox outbox) throws RejectedMessageException {\n"
                    + body + "\n}}\n";
        }

        private void headers() {
            Attributes headers = manifest.getMainAttributes();
            headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
            headers.putValue("Bundle-ManifestVersion", "2");
            headers.putValue("Bundle-SymbolicName", name);
            headers.putValue("Bundle-Version", version);
            if (headers.getValue("Import-Package") == null) {
                headers.putValue("Import-Package", "io.waybill.api,io.waybill.api.handler,org.osgi.framework");
            }
            headers.putValue("Service-Component", "OSGI-INF/bad.Handler.xml");
            headers.putValue(
                    "Require-Capability",
                    "osgi.extender;filter:=\"(&(osgi.extender=osgi.component)(version>=1.3.0))\"");
        }
    }

    private static void put(JarOutputStream out, String name, byte[] bytes) throws IOException {
        out.putNextEntry(new ZipEntry(name));
        out.write(bytes);
        out.closeEntry();
    }

    private void compile(Path source, Path classes) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> classPath = new ArrayList<>();
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(libraries, "*.jar")) {
            jars.forEach(jar -> classPath.add(jar.toString()));
        }
        StringWriter messages = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, Locale.ROOT, null)) {
            List<String> options = List.of(
                    "-d",
                    classes.toString(),
                    "-classpath",
                    String.join(":", classPath),
                    "-proc:none",
                    "--release",
                    "17");
            if (!compiler.getTask(messages, files, null, options, null, files.getJavaFileObjects(source))
                    .call()) {
                throw new IllegalStateException(messages.toString());
            }
        }
    }
}
