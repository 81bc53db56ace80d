package io.waybill.osgi.guard;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.osgi.watch.HandlerWatch;
import io.waybill.osgi.watch.UnrecordedInput;
import java.time.Instant;
import java.util.Date;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/** Rewritten classes of every version are verified, do what they did, and tell. */
@Timeout(60)
class UnrecordedInputCallsTest {

    private static final int FIRST_VERSION = 46; // 45 with a minor version of 3 is alike
    private static final int JAVA_5 = 49; // the first with references to classes as constants
    private static final int JAVA_7 = 51; // the first with references to methods
    private static final int JAVA_8 = 52; // the first with methods of interfaces
    private static final int JAVA_11 = 55; // the first with constants that are computed
    private static final int LINE = 17;

    static IntStream versions() {
        return IntStream.rangeClosed(FIRST_VERSION, 44 + Runtime.version().feature());
    }

    static IntStream versionsWithReferences() {
        return versions().filter(version -> version >= JAVA_7);
    }

    static IntStream versionsWithInterfaceMethods() {
        return versions().filter(version -> version >= JAVA_8);
    }

    /** Loads classes, all of which are verified. */
    private static final class Loader extends ClassLoader {
        Loader() {
            super(UnrecordedInputCallsTest.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** What writes the body of {@code call}. */
    private interface Body {
        void write(MethodVisitor code);
    }

    private static byte[] classOf(int version, Body body) {
        int frames = version >= Opcodes.V1_7 ? ClassWriter.COMPUTE_FRAMES : ClassWriter.COMPUTE_MAXS;
        ClassWriter writer = new ClassWriter(frames);
        writer.visit(
                version, Opcodes.ACC_PUBLIC | Opcodes.ACC_SUPER, "acme/Reader", null, "java/lang/Object", new String[] {
                    "java/util/concurrent/Callable"
                });
        writer.visitSource("Reader.java", null);
        MethodVisitor made = writer.visitMethod(Opcodes.ACC_PUBLIC, "<init>", "()V", null, null);
        made.visitCode();
        made.visitVarInsn(Opcodes.ALOAD, 0);
        made.visitMethodInsn(Opcodes.INVOKESPECIAL, "java/lang/Object", "<init>", "()V", false);
        made.visitInsn(Opcodes.RETURN);
        made.visitMaxs(0, 0);
        made.visitEnd();
        MethodVisitor code = writer.visitMethod(Opcodes.ACC_PUBLIC, "call", "()Ljava/lang/Object;", null, null);
        code.visitCode();
        Label line = new Label();
        code.visitLabel(line);
        code.visitLineNumber(LINE, line);
        body.write(code);
        code.visitInsn(Opcodes.ARETURN);
        code.visitMaxs(0, 0);
        code.visitEnd();
        writer.visitEnd();
        return writer.toByteArray();
    }

    /** Runs the class after it was rewritten. */
    private static Object run(byte[] classFile) throws Exception {
        byte[] rewritten = UnrecordedInputCalls.note(classFile).orElseThrow();
        Callable<?> reader = (Callable<?>)
                new Loader().define(rewritten).getDeclaredConstructor().newInstance();
        return reader.call();
    }

    private static Optional<UnrecordedInput> noted(byte[] classFile, Class<?> gives) throws Exception {
        HandlerWatch watch = HandlerWatch.begin();
        try {
            assertThat(run(classFile)).isInstanceOf(gives);
        } finally {
            watch.leave();
        }
        return watch.end();
    }

    private static Optional<UnrecordedInput> at(String what) {
        return Optional.of(new UnrecordedInput(what, "acme.Reader.call(Reader.java:17)"));
    }

    /** In a loop, in the midst of a computation, and with an object on the stack that is not yet made. */
    private static void readTimes(MethodVisitor code) {
        code.visitInsn(Opcodes.LCONST_0);
        code.visitVarInsn(Opcodes.LSTORE, 1);
        Label again = new Label();
        code.visitLabel(again);
        code.visitTypeInsn(Opcodes.NEW, "java/util/Date");
        code.visitInsn(Opcodes.DUP);
        code.visitVarInsn(Opcodes.LLOAD, 1);
        code.visitMethodInsn(Opcodes.INVOKESTATIC, "java/lang/System", "currentTimeMillis", "()J", false);
        code.visitInsn(Opcodes.LADD);
        code.visitMethodInsn(Opcodes.INVOKESPECIAL, "java/util/Date", "<init>", "(J)V", false);
        code.visitVarInsn(Opcodes.ASTORE, 3);
        code.visitVarInsn(Opcodes.LLOAD, 1);
        code.visitInsn(Opcodes.LCONST_1);
        code.visitInsn(Opcodes.LADD);
        code.visitInsn(Opcodes.DUP2);
        code.visitVarInsn(Opcodes.LSTORE, 1);
        code.visitLdcInsn(3L);
        code.visitInsn(Opcodes.LCMP);
        code.visitJumpInsn(Opcodes.IFLT, again);
        code.visitVarInsn(Opcodes.ALOAD, 3);
    }

    private static void makeDate(MethodVisitor code) {
        code.visitTypeInsn(Opcodes.NEW, "java/util/Date");
        code.visitInsn(Opcodes.DUP);
        code.visitMethodInsn(Opcodes.INVOKESPECIAL, "java/util/Date", "<init>", "()V", false);
    }

    @ParameterizedTest
    @MethodSource("versions")
    void reportACall(int version) throws Exception {
        assertThat(noted(classOf(version, UnrecordedInputCallsTest::readTimes), Date.class))
                .isEqualTo(at("System.currentTimeMillis()"));
    }

    @ParameterizedTest
    @MethodSource("versions")
    void reportAConstructor(int version) throws Exception {
        assertThat(noted(classOf(version, UnrecordedInputCallsTest::makeDate), Date.class))
                .isEqualTo(at("new Date()"));
    }

    private static Handle method(int tag, String owner, String name, String descriptor, boolean ofInterface) {
        return new Handle(tag, owner, name, descriptor, ofInterface);
    }

    /** Invokes a method handle that stands in the class as a constant. */
    private static void invoke(MethodVisitor code, Object handle, String descriptor) {
        code.visitLdcInsn(handle);
        code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, "java/lang/invoke/MethodHandle", "invokeExact", descriptor, false);
    }

    @ParameterizedTest
    @MethodSource("versionsWithReferences")
    void reportAReferenceToAMethod(int version) throws Exception {
        Handle now = method(Opcodes.H_INVOKESTATIC, "java/time/Instant", "now", "()Ljava/time/Instant;", false);
        assertThat(noted(classOf(version, code -> invoke(code, now, "()Ljava/time/Instant;")), Instant.class))
                .isEqualTo(at("Instant.now()"));
    }

    @ParameterizedTest
    @MethodSource("versionsWithReferences")
    void reportTheReferenceThatIsUsed(int version) throws Exception {
        Handle constructor = method(Opcodes.H_NEWINVOKESPECIAL, "java/util/Date", "<init>", "()V", false);
        Handle random = method(Opcodes.H_NEWINVOKESPECIAL, "java/util/Random", "<init>", "()V", false);
        byte[] both = classOf(version, code -> {
            code.visitLdcInsn(constructor);
            code.visitInsn(Opcodes.POP);
            code.visitLdcInsn(constructor);
            code.visitInsn(Opcodes.POP);
            invoke(code, random, "()Ljava/util/Random;");
        });
        assertThat(noted(both, Random.class)).isEqualTo(at("new Random()"));
    }

    @ParameterizedTest
    @MethodSource("versionsWithReferences")
    void reportAReferenceToAMethodOfAnObject(int version) throws Exception {
        Handle create = method(
                Opcodes.H_INVOKEVIRTUAL,
                "java/util/random/RandomGeneratorFactory",
                "create",
                "()Ljava/util/random/RandomGenerator;",
                false);
        byte[] created = classOf(version, code -> {
            code.visitLdcInsn(create);
            code.visitMethodInsn(
                    Opcodes.INVOKESTATIC,
                    "java/util/random/RandomGeneratorFactory",
                    "getDefault",
                    "()Ljava/util/random/RandomGeneratorFactory;",
                    false);
            code.visitMethodInsn(
                    Opcodes.INVOKEVIRTUAL,
                    "java/lang/invoke/MethodHandle",
                    "invokeExact",
                    "(Ljava/util/random/RandomGeneratorFactory;)Ljava/util/random/RandomGenerator;",
                    false);
        });
        assertThat(noted(created, RandomGenerator.class)).isEqualTo(at("RandomGeneratorFactory.create()"));
    }

    @ParameterizedTest
    @MethodSource("versionsWithInterfaceMethods")
    void reportAReferenceToAMethodOfAnInterface(int version) throws Exception {
        Handle of = method(
                Opcodes.H_INVOKESTATIC,
                "java/util/random/RandomGenerator",
                "of",
                "(Ljava/lang/String;)Ljava/util/random/RandomGenerator;",
                true);
        byte[] named = classOf(version, code -> {
            code.visitLdcInsn(of);
            code.visitLdcInsn("L64X128MixRandom");
            code.visitMethodInsn(
                    Opcodes.INVOKEVIRTUAL,
                    "java/lang/invoke/MethodHandle",
                    "invokeExact",
                    "(Ljava/lang/String;)Ljava/util/random/RandomGenerator;",
                    false);
        });
        assertThat(noted(named, RandomGenerator.class)).isEqualTo(at("RandomGenerator.of()"));
    }

    @Test
    void reportAConstantThatIsComputed() throws Exception {
        Handle bootstrap = method(
                Opcodes.H_INVOKESTATIC,
                "java/lang/invoke/ConstantBootstraps",
                "invoke",
                "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/Class;"
                        + "Ljava/lang/invoke/MethodHandle;[Ljava/lang/Object;)Ljava/lang/Object;",
                false);
        Handle uuid = method(Opcodes.H_INVOKESTATIC, "java/util/UUID", "randomUUID", "()Ljava/util/UUID;", false);
        byte[] classFile = classOf(
                JAVA_11, code -> code.visitLdcInsn(new ConstantDynamic("id", "Ljava/util/UUID;", bootstrap, uuid)));
        assertThat(noted(classFile, UUID.class)).isEqualTo(at("UUID.randomUUID()"));
    }

    @Test
    void stayAsTheyAreWhenTheyReadNothing() {
        byte[] classFile = classOf(JAVA_5, code -> code.visitLdcInsn(Type.getObjectType("java/util/Date")));
        assertThat(UnrecordedInputCalls.note(classFile)).isEmpty();
    }

    @Test
    void reportNothingOutsideOfAHandler() throws Exception {
        byte[] classFile = classOf(JAVA_5, UnrecordedInputCallsTest::makeDate);
        HandlerWatch left = HandlerWatch.begin();
        left.leave();
        run(classFile);
        assertThat(left.end()).isEmpty();
        HandlerWatch ended = HandlerWatch.begin();
        assertThat(ended.end()).isEmpty();
        run(classFile);
        ended.leave();
        assertThat(ended.end()).isEmpty();
    }
}
