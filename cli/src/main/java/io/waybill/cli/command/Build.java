package io.waybill.cli.command;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** Version information of the build. Stateless. */
public final class Build {

    private static final String FILE = "build.properties";

    private Build() {}

    public static String version() {
        Properties properties = new Properties();
        try (InputStream in = Build.class.getResourceAsStream(FILE)) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties.getProperty("version");
    }
}
