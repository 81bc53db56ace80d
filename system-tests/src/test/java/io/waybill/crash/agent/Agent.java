package io.waybill.crash.agent;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/** Changes classes as they are loaded: {@code point:BEFORE_ROLL:3} or {@code mutant:RUN_TWICE}. Stateless. */
public final class Agent {

    private static final String POINT = "point";
    private static final String MUTANT = "mutant";

    private Agent() {}

    /** The JVM's option for a process that kills itself when it comes by a point for the n-th time. */
    public static String option(Path jar, Point point, int passings) {
        return "-javaagent:" + jar + "=" + POINT + ":" + point + ":" + passings;
    }

    /** The JVM's option for a process with a bug. */
    public static String option(Path jar, Mutant mutant) {
        return "-javaagent:" + jar + "=" + MUTANT + ":" + mutant;
    }

    /** Writes the jar that the option names: it says which class of the class path is the agent. */
    public static Path writeJar(Path directory) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(new Attributes.Name("Premain-Class"), Agent.class.getName());
        Path jar = directory.resolve("agent.jar");
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file, manifest)) {
            out.finish();
        }
        return jar;
    }

    /** The JVM's entry. */
    public static void premain(String argument, Instrumentation instrumentation) {
        String[] words = argument.split(":");
        if (words[0].equals(MUTANT)) {
            instrumentation.addTransformer(new Changing(Mutant.valueOf(words[1]).changes()));
        } else {
            Suicide.after(Long.parseLong(words[2]));
            instrumentation.addTransformer(new Changing(Point.valueOf(words[1]).changes()));
        }
    }

    private record Changing(List<Change> changes) implements ClassFileTransformer {

        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] original) {
            if (changes.stream().noneMatch(change -> name != null && change.isIn(name))) {
                return null;
            }
            try {
                return Rewriting.apply(original, name, changes);
            } catch (RuntimeException | LinkageError e) { // the JVM would go on without a word
                e.printStackTrace();
                Runtime.getRuntime().halt(4);
                throw e;
            }
        }
    }
}
