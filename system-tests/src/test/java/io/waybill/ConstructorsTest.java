package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.dispatch.HandlerRegistry;
import io.waybill.replay.Replay;
import io.waybill.worker.Worker;
import io.waybill.worker.peer.Links;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * How many arguments a constructor has in the packages that run requests. Nothing checks the order of many, so parts that several objects
 * need together are in a context of the package: a record, which names each. {@code docs/adr/0149-contexts.md} says more.
 */
@Timeout(60)
class ConstructorsTest {

    private static final int MAX_PARAMETERS = 5;
    private static final List<String> PACKAGES = List.of(
            "io/waybill/worker",
            "io/waybill/exchange",
            "io/waybill/dispatch",
            "io/waybill/handling",
            "io/waybill/replay/run");

    private final Map<String, Integer> found = new TreeMap<>();
    private int classes;

    @Test
    void noneHasManyParameters() throws Exception {
        readAll(Worker.class);
        readAll(Links.class);
        readAll(HandlerRegistry.class);
        readAll(Replay.class);
        assertThat(classes).as("classes that were read").isGreaterThan(300);
        assertThat(found)
                .as(
                        "constructors with more than %s parameters; put what belongs together into a context",
                        MAX_PARAMETERS)
                .isEmpty();
    }

    /** Reads the classes of the module that this one is of: a directory or a jar. */
    private void readAll(Class<?> one) throws IOException, URISyntaxException {
        Path location =
                Path.of(one.getProtectionDomain().getCodeSource().getLocation().toURI());
        if (Files.isDirectory(location)) {
            readBelow(location);
            return;
        }
        try (FileSystem jar = FileSystems.newFileSystem(location)) {
            readBelow(jar.getPath("/"));
        }
    }

    private void readBelow(Path root) throws IOException {
        for (String each : PACKAGES) {
            if (Files.isDirectory(root.resolve(each))) {
                try (Stream<Path> files = Files.walk(root.resolve(each))) {
                    for (Path file : files.filter(path -> path.toString().endsWith(".class"))
                            .toList()) {
                        read(Files.readAllBytes(file));
                    }
                }
            }
        }
    }

    private void read(byte[] bytes) {
        classes++;
        new ClassReader(bytes)
                .accept(new Constructors(), ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    }

    /** Counts the declared parameters of one class: an inner one also takes its outer instance. Records are data, and local classes capture. */
    private final class Constructors extends ClassVisitor {

        private String name = "";
        private boolean isData;
        private boolean isInner;
        private int most;

        Constructors() {
            super(Opcodes.ASM9);
        }

        @Override
        public void visit(int version, int access, String named, String sign, String above, String[] interfaces) {
            name = named;
            isData = above.equals("java/lang/Record") || above.equals("java/lang/Enum");
        }

        @Override
        public void visitOuterClass(String owner, String method, String descriptor) {
            isData = true; // local or anonymous
        }

        @Override
        public void visitInnerClass(String inner, String outer, String simple, int access) {
            isInner |= inner.equals(name) && (access & Opcodes.ACC_STATIC) == 0;
        }

        @Override
        public MethodVisitor visitMethod(int access, String method, String descriptor, String sign, String[] thrown) {
            if (method.equals("<init>") && (access & Opcodes.ACC_SYNTHETIC) == 0) {
                most = Math.max(most, Type.getArgumentTypes(descriptor).length);
            }
            return null;
        }

        @Override
        public void visitEnd() {
            int parameters = isInner ? most - 1 : most;
            if (!isData && parameters > MAX_PARAMETERS) {
                found.put(name.replace('/', '.'), parameters);
            }
        }
    }
}
