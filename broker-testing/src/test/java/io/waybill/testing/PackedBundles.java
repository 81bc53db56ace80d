package io.waybill.testing;

import aQute.bnd.osgi.Builder;
import aQute.bnd.osgi.Jar;
import io.waybill.api.handler.MessageHandler;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import org.osgi.service.component.annotations.Component;

/** Makes bundles of classes of these tests; bnd writes the manifest and the description of the component. Stateless. */
final class PackedBundles {

    private PackedBundles() {}

    /** A bundle {@code org.acme.count} with the package of a handler. */
    static Path of(Class<?> handler, String version, Path directory) throws IOException {
        return of(handler, version, directory, "org.acme.count");
    }

    /** A bundle of another symbolic name. */
    static Path of(Class<?> handler, String version, Path directory, String name) throws IOException {
        Path file = directory.resolve(handler.getPackageName() + "-" + version + ".jar");
        try (Builder builder = new Builder()) {
            builder.setProperty("Bundle-SymbolicName", name);
            builder.setProperty("Bundle-Version", version);
            builder.setProperty("-privatepackage", handler.getPackageName());
            builder.addClasspath(at(handler));
            builder.addClasspath(at(MessageHandler.class));
            builder.addClasspath(at(Component.class));
            try (Jar jar = builder.build()) {
                if (!builder.getErrors().isEmpty()) {
                    throw new IllegalStateException("bnd: " + builder.getErrors());
                }
                jar.write(file.toFile());
            }
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("bnd failed", e);
        }
        return file;
    }

    private static File at(Class<?> type) {
        return new File(URI.create(
                type.getProtectionDomain().getCodeSource().getLocation().toString()));
    }
}
